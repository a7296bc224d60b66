//! Updates that a node could not be told, to be told again later: a host that was out of reach comes back without
//! saying so. Those for an address that has never answered are not here: they wait until it has been asked (`credit.rs`).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use runnel_core::time::Instant;
use runnel_core::timers::Timers;

use super::notify::News;
use crate::rpc::CallId;

/// From a failure until the update is tried again; doubled each time.
const FIRST_PAUSE: Duration = Duration::from_secs(5);

/// How often an update is tried again: the last time some three hours after the first failure.
const TRIES: u32 = 11;

/// How many updates are kept to be tried again.
const KEPT: usize = 10_000;

/// One update to one node.
pub(super) type Key = (Arc<str>, News);

/// See the module's documentation.
#[derive(Debug, Default)]
pub(super) struct Retries {
    under_way: BTreeMap<CallId, Key>,
    /// How often an update has failed.
    failures: BTreeMap<Key, u32>,
    /// When each of `failures` is tried again, unless it is under way.
    due: Timers<Key>,
}

impl Retries {
    /// An update went out.
    pub(super) fn sent(&mut self, call: CallId, api: Arc<str>, news: News) {
        self.under_way.insert(call, (api, news));
    }

    /// The update that is told by this call.
    pub(super) fn under_way(&self, call: CallId) -> Option<&Key> {
        self.under_way.get(&call)
    }

    /// The call of an update ended: either it was told, or it is not worth another try.
    pub(super) fn settled(&mut self, call: CallId) {
        if let Some(key) = self.under_way.remove(&call) {
            self.forget(&key);
        }
    }

    /// The node was out of reach.
    pub(super) fn failed(&mut self, now: Instant, call: CallId) {
        let Some(key) = self.under_way.remove(&call) else { return };
        let count = self.forget(&key);
        let again = count < TRIES && self.failures.len() < KEPT && !matches!(key.1, News::Shutdown { .. });
        if again {
            self.due.schedule(key.clone(), now + FIRST_PAUSE * 2u32.pow(count));
            self.failures.insert(key, count + 1);
        }
    }

    /// How many updates have failed and are neither told nor given up.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.failures.len()
    }

    /// When the next update is due.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.due.next_deadline()
    }

    /// An update that is due.
    pub(super) fn take_due(&mut self, now: Instant) -> Option<Key> {
        self.due.pop_due(now).map(|(_, key)| key)
    }

    /// An update was dropped before it went out. One that is due later is tried then all the same.
    pub(super) fn dropped(&mut self, key: &Key) {
        if self.due.deadline(key).is_none() {
            self.failures.remove(key);
        }
    }

    /// An update is of no use any more. Returns how often it has failed.
    pub(super) fn forget(&mut self, key: &Key) -> u32 {
        self.due.cancel(key);
        self.failures.remove(key).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> Key {
        ("http://n:1/".into(), News::Publishers { node: "/n".into(), topic: "/t".into() })
    }

    fn seconds(number: u64) -> Instant {
        Instant(number * 1_000_000_000)
    }

    /// Fails at a time, and tells when the next try is due.
    fn fail(retries: &mut Retries, at: Instant) -> Option<Instant> {
        let (api, news) = key();
        retries.sent(CallId(1), api, news);
        retries.failed(at, CallId(1));
        retries.next_due()
    }

    #[test]
    fn a_failed_update_is_tried_again_ever_more_slowly_and_then_given_up() {
        let (mut retries, mut now, mut tries) = (Retries::default(), seconds(0), 0);
        while let Some(due) = fail(&mut retries, now) {
            assert_eq!(due.since(now), FIRST_PAUSE * 2u32.pow(tries));
            assert_eq!(retries.take_due(due), Some(key()));
            (now, tries) = (due, tries + 1);
        }
        assert_eq!((tries, retries.failures.len()), (TRIES, 0));
    }

    #[test]
    fn an_update_that_was_told_begins_anew_with_the_next_failure() {
        let mut retries = Retries::default();
        let due = fail(&mut retries, seconds(0)).unwrap();
        let (api, news) = retries.take_due(due).unwrap();
        retries.sent(CallId(2), api, news);
        retries.settled(CallId(2));
        assert_eq!(retries.next_due(), None);
        assert_eq!(fail(&mut retries, seconds(100)), Some(seconds(105)));
    }

    #[test]
    fn an_update_that_fails_again_before_it_is_due_waits_once() {
        let mut retries = Retries::default();
        let _ = [0, 1, 2, 3, 4].map(|at| fail(&mut retries, seconds(at)));
        assert_eq!((retries.due.len(), retries.next_due()), (1, Some(seconds(4 + 5 * 16))));
        retries.forget(&key());
        assert_eq!((retries.due.len(), retries.failures.len()), (0, 0));
    }

    #[test]
    fn an_update_that_is_dropped_is_tried_again_if_it_is_due_later_and_else_forgotten() {
        let mut retries = Retries::default();
        let due = fail(&mut retries, seconds(0)).unwrap();
        retries.dropped(&key());
        assert_eq!((retries.len(), retries.take_due(due)), (1, Some(key())));
        retries.dropped(&key());
        assert_eq!(retries.len(), 0);
    }

    #[test]
    fn a_node_is_not_told_twice_to_shut_down() {
        let mut retries = Retries::default();
        retries.sent(CallId(1), "http://n:1/".into(), News::Shutdown { node: "/n".into() });
        retries.failed(seconds(0), CallId(1));
        assert_eq!(retries.next_due(), None);
    }
}
