//! What nodes must be told, one call at a time for each.
//!
//! A queue holds what a node must hear of, not the news itself: the list of publishers or the value is looked up
//! when the call is made. So a node that is slow to answer hears the newest state once, however often it changed
//! meanwhile, and its queue costs little.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use crate::rpc::CallId;

use super::limits::MasterLimits;
use super::ordered::Ordered;

/// Of the calls that may be under way, one in this many may go to nodes that let one time out before.
const SLUGGISH_SHARE: usize = 4;

/// One thing that a node must hear of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum News {
    /// Who publishes a topic, for a subscriber.
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
    /// That another node took its name.
    Shutdown {
        /// The name.
        node: Arc<str>,
    },
}

/// The queues of all nodes, and the calls under way.
#[derive(Debug)]
pub(super) struct Notifier {
    limits: MasterLimits,
    /// What waits for each URI. A queue exists while something waits in it or a call of it is under way.
    queues: BTreeMap<Arc<str>, Ordered<News, ()>>,
    ready: VecDeque<Arc<str>>,
    ready_sluggish: VecDeque<Arc<str>>,
    /// Those that let a call time out and have not answered since, the last one last.
    sluggish: Ordered<Arc<str>, ()>,
    /// Those whose queues wait for [`Notifier::release`].
    held: BTreeSet<Arc<str>>,
    calls: BTreeMap<CallId, UnderWay>,
    sluggish_calls: usize,
    bytes: usize,
    lost: u64,
}

#[derive(Debug)]
struct UnderWay {
    api: Arc<str>,
    sluggish: bool,
    bytes: usize,
}

impl Notifier {
    /// Queues for nodes within these bounds.
    pub(super) fn new(limits: &MasterLimits) -> Self {
        Self {
            limits: limits.clone(),
            queues: BTreeMap::new(),
            ready: VecDeque::new(),
            ready_sluggish: VecDeque::new(),
            sluggish: Ordered::default(),
            held: BTreeSet::new(),
            calls: BTreeMap::new(),
            sluggish_calls: 0,
            bytes: 0,
            lost: 0,
        }
    }

    /// How many updates were given up because a queue was full.
    pub(super) fn lost(&self) -> u64 {
        self.lost
    }

    /// Whether the queue of a URI must be trimmed before these news are put in.
    pub(super) fn has_no_room(&self, api: &str, news: &News) -> bool {
        let queue = self.queues.get(api);
        queue.is_some_and(|queue| queue.len() >= self.limits.queued_updates && !queue.contains(news))
    }

    /// Puts news in the queue of a URI. What already waits there keeps its place. False if there are too many queues.
    pub(super) fn push(&mut self, api: &Arc<str>, news: News) -> bool {
        if let Some(queue) = self.queues.get_mut(api) {
            queue.entry(&news, || ());
            return true;
        }
        if self.queues.len() >= self.limits.nodes.saturating_mul(2) {
            self.lost += 1;
            return false;
        }
        self.queues.entry(api.clone()).or_default().entry(&news, || ());
        self.make_ready(api.clone());
        true
    }

    /// Keeps only the news that pass, and of those the newest, down to half of what may wait. Gives the others.
    pub(super) fn trim(&mut self, api: &str, mut keep: impl FnMut(&News) -> bool) -> Vec<News> {
        let mut dropped = Vec::new();
        let Some(queue) = self.queues.get_mut(api) else { return dropped };
        queue.retain(|news| {
            let kept = keep(news);
            if !kept {
                dropped.push(news.clone());
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

    /// The next news to be told and the URI to tell it to; [`Self::sent`], [`Self::skip`] or
    /// [`Self::hold`] must follow.
    pub(super) fn next(&mut self) -> Option<(Arc<str>, News)> {
        while let Some(api) = self.next_ready() {
            let news = self.queues.get_mut(&api).and_then(Ordered::pop_first);
            match news {
                Some((news, ())) => return Some((api, news)),
                None => self.settle(&api),
            }
        }
        None
    }

    /// Notes that the news went out, as a call of so many bytes.
    pub(super) fn sent(&mut self, api: Arc<str>, call: CallId, bytes: usize) {
        let sluggish = self.sluggish.contains(&api);
        self.sluggish_calls += usize::from(sluggish);
        self.bytes += bytes;
        self.calls.insert(call, UnderWay { api, sluggish, bytes });
    }

    /// Notes that the news was not worth a call any more.
    pub(super) fn skip(&mut self, api: &Arc<str>) {
        self.settle(api);
    }

    /// Puts the news back, and tells the URI nothing until [`Self::release`].
    pub(super) fn hold(&mut self, api: &Arc<str>, news: News) {
        self.queues.entry(api.clone()).or_default().entry(&news, || ());
        self.held.insert(api.clone());
    }

    /// What waits for a URI that is told nothing.
    pub(super) fn held(&self, api: &str) -> impl Iterator<Item = &News> {
        let queue = self.held.contains(api).then(|| self.queues.get(api)).flatten();
        queue.into_iter().flat_map(Ordered::keys)
    }

    /// Lets a URI be told again, if it is one that was not.
    pub(super) fn release(&mut self, api: &Arc<str>) {
        if self.held.remove(api) {
            self.settle(api);
        }
    }

    /// Drops what waits for a URI that is told nothing. Gives it.
    pub(super) fn abandon(&mut self, api: &str) -> Vec<News> {
        let dropped: Vec<News> = self.held(api).cloned().collect();
        if self.held.remove(api) {
            self.queues.remove(api);
        }
        self.lost += dropped.len() as u64;
        dropped
    }

    /// Notes the end of a call; the URI that it went to, if it was one of these calls.
    pub(super) fn ended(&mut self, call: CallId, timed_out: bool) -> Option<Arc<str>> {
        let api = self.end_call(call, timed_out)?;
        self.settle(&api);
        Some(api)
    }

    /// Notes the end of a call as [`Self::ended`] does, where [`Self::hold`] follows.
    pub(super) fn end_call(&mut self, call: CallId, timed_out: bool) -> Option<Arc<str>> {
        let UnderWay { api, sluggish, bytes } = self.calls.remove(&call)?;
        self.sluggish_calls -= usize::from(sluggish);
        self.bytes -= bytes;
        self.sluggish.remove(&api);
        if timed_out {
            self.sluggish.insert(&api, ());
            if self.sluggish.len() > self.limits.nodes {
                self.sluggish.pop_first();
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
        let for_sluggish = self.sluggish_calls < most.div_ceil(SLUGGISH_SHARE);
        self.ready.pop_front().or_else(|| for_sluggish.then(|| self.ready_sluggish.pop_front()).flatten())
    }

    /// Lets a URI be called again if something waits for it.
    fn settle(&mut self, api: &Arc<str>) {
        if self.waiting(api) > 0 {
            self.make_ready(api.clone());
        } else {
            self.queues.remove(api);
        }
    }

    fn make_ready(&mut self, api: Arc<str>) {
        let line = if self.sluggish.contains(&api) { &mut self.ready_sluggish } else { &mut self.ready };
        line.push_back(api);
    }

    fn waiting(&self, api: &str) -> usize {
        self.queues.get(api).map_or(0, Ordered::len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn publishers(topic: &str) -> News {
        News::Publishers { node: "/n".into(), topic: topic.into() }
    }

    fn notifier(limits: MasterLimits) -> Notifier {
        Notifier::new(&limits)
    }

    fn send_next(notifier: &mut Notifier, call: u64) -> Option<(String, News)> {
        let (api, news) = notifier.next()?;
        notifier.sent(api.clone(), CallId(call), 1);
        Some((api.to_string(), news))
    }

    #[test]
    fn a_node_is_told_one_thing_at_a_time_and_of_each_thing_once() {
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
    fn nodes_that_do_not_answer_share_a_quarter_of_the_calls() {
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
    fn there_are_no_more_queues_than_nodes_could_have() {
        let mut notifier = notifier(MasterLimits { nodes: 1, ..Default::default() });
        for api in ["http://a:1/", "http://b:1/", "http://c:1/", "http://a:1/"] {
            notifier.push(&api.into(), publishers("/t"));
        }
        assert_eq!((notifier.queues.len(), notifier.lost()), (2, 1));
    }

    #[test]
    fn a_full_queue_keeps_the_newest_and_counts_what_it_lost() {
        let mut notifier = notifier(MasterLimits { queued_updates: 4, ..Default::default() });
        let api: Arc<str> = "http://a:1/".into();
        for topic in ["/a", "/b", "/c", "/d"] {
            assert!(!notifier.has_no_room(&api, &publishers(topic)));
            notifier.push(&api, publishers(topic));
        }
        assert!(notifier.has_no_room(&api, &publishers("/e")));
        assert!(!notifier.has_no_room(&api, &publishers("/d")));
        notifier.trim(&api, |news| *news != publishers("/d"));
        assert_eq!(notifier.lost(), 1);
        assert_eq!(send_next(&mut notifier, 1), Some((api.to_string(), publishers("/b"))));
        notifier.ended(CallId(1), false);
        assert_eq!(send_next(&mut notifier, 2), Some((api.to_string(), publishers("/c"))));
    }

    #[test]
    fn nodes_that_stopped_to_answer_last_are_known_as_such_however_many_did_before() {
        let mut notifier = notifier(MasterLimits { nodes: 2, ..Default::default() });
        let hung = ["http://a:1/", "http://b:1/", "http://a:1/", "http://c:1/"];
        for (call, api) in (0..).zip(hung) {
            notifier.push(&api.into(), publishers("/t"));
            assert!(send_next(&mut notifier, call).is_some());
            notifier.ended(CallId(call), true);
        }
        let known = ["http://a:1/", "http://b:1/", "http://c:1/"].map(|api| notifier.sluggish.contains(api));
        assert_eq!(known, [true, false, true]);
    }

    #[test]
    fn large_updates_wait_until_those_under_way_are_through() {
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
