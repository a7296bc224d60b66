//! Retries of updates that could not be delivered: an unreachable host returns without notice. Updates for an address
//! that has never answered are not here; they wait for a probe (`credit.rs`).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use runnel_core::time::Instant;
use runnel_core::timers::Timers;

use super::notify::Notification;
use crate::rpc::CallId;

/// Pause after a failed update; it doubles each time.
const FIRST_PAUSE: Duration = Duration::from_secs(5);

/// Attempts to deliver an update; the last one is some three hours after the first failure.
const TRIES: u32 = 11;

/// Most updates that wait for a retry.
const KEPT: usize = 10_000;

/// One update for one node.
pub(super) type Key = (Arc<str>, Notification);

/// Updates that have failed and will be retried.
#[derive(Debug, Default)]
pub(super) struct Retries {
    in_progress: BTreeMap<CallId, Key>,
    /// Failures per update.
    failures: BTreeMap<Key, u32>,
    /// The time of each retry, except of updates in progress.
    due: Timers<Key>,
}

impl Retries {
    /// An update was sent.
    pub(super) fn sent(&mut self, call: CallId, api: Arc<str>, notification: Notification) {
        self.in_progress.insert(call, (api, notification));
    }

    /// The update that a call delivers.
    pub(super) fn in_progress(&self, call: CallId) -> Option<&Key> {
        self.in_progress.get(&call)
    }

    /// The call of an update has ended: it was delivered, or is not worth a retry.
    pub(super) fn settled(&mut self, call: CallId) {
        if let Some(key) = self.in_progress.remove(&call) {
            self.forget(&key);
        }
    }

    /// The node was unreachable.
    pub(super) fn failed(&mut self, now: Instant, call: CallId) {
        let Some(key) = self.in_progress.remove(&call) else { return };
        let count = self.forget(&key);
        let again =
            count < TRIES && self.failures.len() < KEPT && !matches!(key.1, Notification::Shutdown { .. });
        if again {
            self.due.schedule(key.clone(), now + FIRST_PAUSE * 2u32.pow(count));
            self.failures.insert(key, count + 1);
        }
    }

    /// Updates that have failed and are neither delivered nor given up.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.failures.len()
    }

    /// When the next retry is due.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.due.next_deadline()
    }

    /// An update whose retry is due.
    pub(super) fn take_due(&mut self, now: Instant) -> Option<Key> {
        self.due.pop_due(now).map(|(_, key)| key)
    }

    /// An update was dropped before it was sent. A later scheduled retry stays.
    pub(super) fn dropped(&mut self, key: &Key) {
        if self.due.deadline(key).is_none() {
            self.failures.remove(key);
        }
    }

    /// An update is no longer needed. Returns its number of failures.
    pub(super) fn forget(&mut self, key: &Key) -> u32 {
        self.due.cancel(key);
        self.failures.remove(key).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> Key {
        ("http://n:1/".into(), Notification::Publishers { node: "/n".into(), topic: "/t".into() })
    }

    fn seconds(number: u64) -> Instant {
        Instant(number * 1_000_000_000)
    }

    /// Fails at a time; returns when the next retry is due.
    fn fail(retries: &mut Retries, at: Instant) -> Option<Instant> {
        let (api, notification) = key();
        retries.sent(CallId(1), api, notification);
        retries.failed(at, CallId(1));
        retries.next_due()
    }

    #[test]
    fn failed_update_is_retried_with_growing_pauses() {
        let (mut retries, mut now, mut tries) = (Retries::default(), seconds(0), 0);
        while let Some(due) = fail(&mut retries, now) {
            assert_eq!(due.since(now), FIRST_PAUSE * 2u32.pow(tries));
            assert_eq!(retries.take_due(due), Some(key()));
            (now, tries) = (due, tries + 1);
        }
        assert_eq!((tries, retries.failures.len()), (TRIES, 0));
    }

    #[test]
    fn delivered_update_resets_its_pause() {
        let mut retries = Retries::default();
        let due = fail(&mut retries, seconds(0)).unwrap();
        let (api, notification) = retries.take_due(due).unwrap();
        retries.sent(CallId(2), api, notification);
        retries.settled(CallId(2));
        assert_eq!(retries.next_due(), None);
        assert_eq!(fail(&mut retries, seconds(100)), Some(seconds(105)));
    }

    #[test]
    fn early_second_failure_keeps_one_retry() {
        let mut retries = Retries::default();
        let _ = [0, 1, 2, 3, 4].map(|at| fail(&mut retries, seconds(at)));
        assert_eq!((retries.due.len(), retries.next_due()), (1, Some(seconds(4 + 5 * 16))));
        retries.forget(&key());
        assert_eq!((retries.due.len(), retries.failures.len()), (0, 0));
    }

    #[test]
    fn dropped_update_keeps_only_scheduled_retry() {
        let mut retries = Retries::default();
        let due = fail(&mut retries, seconds(0)).unwrap();
        retries.dropped(&key());
        assert_eq!((retries.len(), retries.take_due(due)), (1, Some(key())));
        retries.dropped(&key());
        assert_eq!(retries.len(), 0);
    }

    #[test]
    fn shutdown_is_not_retried() {
        let mut retries = Retries::default();
        retries.sent(CallId(1), "http://n:1/".into(), Notification::Shutdown { node: "/n".into() });
        retries.failed(seconds(0), CallId(1));
        assert_eq!(retries.next_due(), None);
    }
}
