//! Notification queues of nodes, with one call at a time for each.
//!
//! A queue holds the subject of a notification, not its content: the publisher list or parameter value is looked up
//! when the call is made. A slow node therefore gets the newest state once, however often it changed, and its queue
//! stays small.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use crate::rpc::CallId;

use super::limits::MasterLimits;
use super::ordered::Ordered;

/// One in this many of the calls in progress may go to nodes that let a call time out before.
const SLOW_SHARE: usize = 4;

/// The subject of a notification.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Notification {
    /// The publishers of a topic, for a subscriber.
    Publishers {
        /// The subscriber.
        node: Arc<str>,
        /// The topic.
        topic: Arc<str>,
    },
    /// The value of a parameter, for a subscriber of it or of a namespace around it.
    Param {
        /// The subscriber.
        node: Arc<str>,
        /// The parameter.
        key: Arc<str>,
    },
    /// A request to shut down, since another node registered with its name.
    Shutdown {
        /// The name.
        node: Arc<str>,
    },
}

/// The queues of all nodes, and the calls in progress.
#[derive(Debug)]
pub(super) struct Notifier {
    limits: MasterLimits,
    /// Waiting notifications per URI. A queue exists while one waits or a call is in progress.
    queues: BTreeMap<Arc<str>, Ordered<Notification, ()>>,
    ready: VecDeque<Arc<str>>,
    ready_slow: VecDeque<Arc<str>>,
    /// URIs that let a call time out and have not answered since, the latest last.
    slow_uris: Ordered<Arc<str>, ()>,
    /// URIs whose queues wait for [`Notifier::release`].
    held: BTreeSet<Arc<str>>,
    calls: BTreeMap<CallId, InProgress>,
    slow_calls: usize,
    bytes: usize,
    lost: u64,
}

#[derive(Debug)]
struct InProgress {
    api: Arc<str>,
    is_slow: bool,
    bytes: usize,
}

impl Notifier {
    /// Queues with these limits.
    pub(super) fn new(limits: &MasterLimits) -> Self {
        Self {
            limits: limits.clone(),
            queues: BTreeMap::new(),
            ready: VecDeque::new(),
            ready_slow: VecDeque::new(),
            slow_uris: Ordered::default(),
            held: BTreeSet::new(),
            calls: BTreeMap::new(),
            slow_calls: 0,
            bytes: 0,
            lost: 0,
        }
    }

    /// Notifications dropped because a queue was full.
    pub(super) fn lost(&self) -> u64 {
        self.lost
    }

    /// Whether the queue of a URI must be trimmed before this notification is added.
    pub(super) fn is_queue_full(&self, api: &str, notification: &Notification) -> bool {
        let queue = self.queues.get(api);
        queue.is_some_and(|queue| queue.len() >= self.limits.queued_updates && !queue.contains(notification))
    }

    /// Adds a notification to the queue of a URI. A duplicate keeps its place. False if there are too many queues.
    pub(super) fn push(&mut self, api: &Arc<str>, notification: Notification) -> bool {
        if let Some(queue) = self.queues.get_mut(api) {
            queue.entry(&notification, || ());
            return true;
        }
        if self.queues.len() >= self.limits.nodes.saturating_mul(2) {
            self.lost += 1;
            return false;
        }
        self.queues.entry(api.clone()).or_default().entry(&notification, || ());
        self.make_ready(api.clone());
        true
    }

    /// Keeps only notifications that pass `keep`, and of those the newest, down to half of the limit. Returns the
    /// others.
    pub(super) fn trim(
        &mut self,
        api: &str,
        mut keep: impl FnMut(&Notification) -> bool,
    ) -> Vec<Notification> {
        let mut dropped = Vec::new();
        let Some(queue) = self.queues.get_mut(api) else { return dropped };
        queue.retain(|notification| {
            let kept = keep(notification);
            if !kept {
                dropped.push(notification.clone());
            }
            kept
        });
        while queue.len() > self.limits.queued_updates / 2
            && let Some((oldest, ())) = queue.pop_first()
        {
            self.lost += 1;
            dropped.push(oldest);
        }
        dropped
    }

    /// The next notification and its URI. The caller must then call [`Self::sent`], [`Self::skip`] or [`Self::hold`].
    pub(super) fn next(&mut self) -> Option<(Arc<str>, Notification)> {
        while let Some(api) = self.next_ready() {
            let notification = self.queues.get_mut(&api).and_then(Ordered::pop_first);
            match notification {
                Some((notification, ())) => return Some((api, notification)),
                None => self.settle(&api),
            }
        }
        None
    }

    /// The notification was sent, as a call of `bytes` bytes.
    pub(super) fn sent(&mut self, api: Arc<str>, call: CallId, bytes: usize) {
        let is_slow = self.slow_uris.contains(&api);
        self.slow_calls += usize::from(is_slow);
        self.bytes += bytes;
        self.calls.insert(call, InProgress { api, is_slow, bytes });
    }

    /// The notification is no longer needed.
    pub(super) fn skip(&mut self, api: &Arc<str>) {
        self.settle(api);
    }

    /// Puts the notification back, and holds the URI's queue until [`Self::release`].
    pub(super) fn hold(&mut self, api: &Arc<str>, notification: Notification) {
        self.queues.entry(api.clone()).or_default().entry(&notification, || ());
        self.held.insert(api.clone());
    }

    /// Notifications in a held queue.
    pub(super) fn held(&self, api: &str) -> impl Iterator<Item = &Notification> {
        let queue = self.held.contains(api).then(|| self.queues.get(api)).flatten();
        queue.into_iter().flat_map(Ordered::keys)
    }

    /// Releases the queue of a URI, if it is held.
    pub(super) fn release(&mut self, api: &Arc<str>) {
        if self.held.remove(api) {
            self.settle(api);
        }
    }

    /// Drops a held queue. Returns its notifications.
    pub(super) fn abandon(&mut self, api: &str) -> Vec<Notification> {
        let dropped: Vec<Notification> = self.held(api).cloned().collect();
        if self.held.remove(api) {
            self.queues.remove(api);
        }
        self.lost += dropped.len() as u64;
        dropped
    }

    /// A call has ended. Returns its URI, if it was a notification.
    pub(super) fn ended(&mut self, call: CallId, timed_out: bool) -> Option<Arc<str>> {
        let api = self.end_call(call, timed_out)?;
        self.settle(&api);
        Some(api)
    }

    /// A call has ended, as in [`Self::ended`], but [`Self::hold`] follows.
    pub(super) fn end_call(&mut self, call: CallId, timed_out: bool) -> Option<Arc<str>> {
        let InProgress { api, is_slow, bytes } = self.calls.remove(&call)?;
        self.slow_calls -= usize::from(is_slow);
        self.bytes -= bytes;
        self.slow_uris.remove(&api);
        if timed_out {
            self.slow_uris.insert(&api, ());
            if self.slow_uris.len() > self.limits.nodes {
                self.slow_uris.pop_first();
            }
        }
        Some(api)
    }

    /// The next URI that may be called.
    fn next_ready(&mut self) -> Option<Arc<str>> {
        let most = self.limits.outgoing_calls.max(1);
        if self.bytes >= self.limits.update_bytes || self.calls.len() >= most {
            return None;
        }
        let for_sluggish = self.slow_calls < most.div_ceil(SLOW_SHARE);
        self.ready.pop_front().or_else(|| for_sluggish.then(|| self.ready_slow.pop_front()).flatten())
    }

    /// Makes a URI ready again if its queue is not empty.
    fn settle(&mut self, api: &Arc<str>) {
        if self.waiting(api) > 0 {
            self.make_ready(api.clone());
        } else {
            self.queues.remove(api);
        }
    }

    fn make_ready(&mut self, api: Arc<str>) {
        let line = if self.slow_uris.contains(&api) { &mut self.ready_slow } else { &mut self.ready };
        line.push_back(api);
    }

    fn waiting(&self, api: &str) -> usize {
        self.queues.get(api).map_or(0, Ordered::len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn publishers(topic: &str) -> Notification {
        Notification::Publishers { node: "/n".into(), topic: topic.into() }
    }

    fn notifier(limits: MasterLimits) -> Notifier {
        Notifier::new(&limits)
    }

    fn send_next(notifier: &mut Notifier, call: u64) -> Option<(String, Notification)> {
        let (api, notification) = notifier.next()?;
        notifier.sent(api.clone(), CallId(call), 1);
        Some((api.to_string(), notification))
    }

    #[test]
    fn node_gets_each_notification_once_and_singly() {
        let mut notifier = notifier(MasterLimits::default());
        let api: Arc<str> = "http://a:1/".into();
        notifier.push(&api, publishers("/t"));
        assert_eq!(send_next(&mut notifier, 1), Some((api.to_string(), publishers("/t"))));
        for _ in 0..3 {
            notifier.push(&api, publishers("/t"));
            notifier.push(&api, publishers("/u"));
        }
        assert_eq!(send_next(&mut notifier, 2), None);
        notifier.ended(CallId(1), false);
        assert_eq!(send_next(&mut notifier, 2), Some((api.to_string(), publishers("/t"))));
        notifier.ended(CallId(2), false);
        assert_eq!(send_next(&mut notifier, 3), Some((api.to_string(), publishers("/u"))));
        notifier.ended(CallId(3), false);
        assert_eq!(send_next(&mut notifier, 4), None);
        assert!(notifier.queues.is_empty());
    }

    #[test]
    fn silent_nodes_share_quarter_of_calls() {
        let mut notifier = notifier(MasterLimits { outgoing_calls: 4, ..Default::default() });
        let hung: Vec<Arc<str>> = (0..4).map(|port| format!("http://hung:{port}/").into()).collect();
        for (call, api) in (0..).zip(&hung) {
            notifier.push(api, publishers("/t"));
            notifier.push(api, publishers("/u"));
            assert!(send_next(&mut notifier, call).is_some());
        }
        let well: Arc<str> = "http://well:1/".into();
        notifier.push(&well, publishers("/t"));
        assert_eq!(send_next(&mut notifier, 9), None);
        (0..4).for_each(|call| assert!(notifier.ended(CallId(call), true).is_some()));
        assert_eq!(send_next(&mut notifier, 10).map(|(api, _)| api), Some(well.to_string()));
        assert_eq!(send_next(&mut notifier, 11).map(|(api, _)| api), Some("http://hung:0/".to_owned()));
        assert_eq!(send_next(&mut notifier, 12), None);
        notifier.ended(CallId(11), false);
        assert_eq!(send_next(&mut notifier, 13).map(|(api, _)| api), Some("http://hung:1/".to_owned()));
        assert_eq!(send_next(&mut notifier, 14), None);
        let recovered: Arc<str> = "http://hung:0/".into();
        notifier.push(&recovered, publishers("/t"));
        assert_eq!(send_next(&mut notifier, 14).map(|(api, _)| api), Some(recovered.to_string()));
    }

    #[test]
    fn number_of_queues_is_bounded() {
        let mut notifier = notifier(MasterLimits { nodes: 1, ..Default::default() });
        for api in ["http://a:1/", "http://b:1/", "http://c:1/", "http://a:1/"] {
            notifier.push(&api.into(), publishers("/t"));
        }
        assert_eq!((notifier.queues.len(), notifier.lost()), (2, 1));
    }

    #[test]
    fn full_queue_keeps_newest_and_counts_dropped() {
        let mut notifier = notifier(MasterLimits { queued_updates: 4, ..Default::default() });
        let api: Arc<str> = "http://a:1/".into();
        for topic in ["/a", "/b", "/c", "/d"] {
            assert!(!notifier.is_queue_full(&api, &publishers(topic)));
            notifier.push(&api, publishers(topic));
        }
        assert!(notifier.is_queue_full(&api, &publishers("/e")));
        assert!(!notifier.is_queue_full(&api, &publishers("/d")));
        notifier.trim(&api, |notification| *notification != publishers("/d"));
        assert_eq!(notifier.lost(), 1);
        assert_eq!(send_next(&mut notifier, 1), Some((api.to_string(), publishers("/b"))));
        notifier.ended(CallId(1), false);
        assert_eq!(send_next(&mut notifier, 2), Some((api.to_string(), publishers("/c"))));
    }

    #[test]
    fn latest_silent_nodes_are_remembered() {
        let mut notifier = notifier(MasterLimits { nodes: 2, ..Default::default() });
        let hung = ["http://a:1/", "http://b:1/", "http://a:1/", "http://c:1/"];
        for (call, api) in (0..).zip(hung) {
            notifier.push(&api.into(), publishers("/t"));
            assert!(send_next(&mut notifier, call).is_some());
            notifier.ended(CallId(call), true);
        }
        let known = ["http://a:1/", "http://b:1/", "http://c:1/"].map(|api| notifier.slow_uris.contains(api));
        assert_eq!(known, [true, false, true]);
    }

    #[test]
    fn large_updates_wait_for_those_in_progress() {
        let mut notifier = notifier(MasterLimits { update_bytes: 100, ..Default::default() });
        for api in ["http://a:1/", "http://b:1/"] {
            notifier.push(&api.into(), publishers("/t"));
        }
        let (api, _) = notifier.next().expect("a call");
        notifier.sent(api, CallId(1), 100);
        assert_eq!(notifier.next(), None);
        notifier.ended(CallId(1), false);
        assert!(notifier.next().is_some());
    }
}
