//! Registry of the goals that an action server knows.

use std::time::Duration;

use runnel_core::time::{Instant, Time};

use super::goal_requests::GoalRequests;
use crate::goal_status::{GoalId, GoalStatus, Step};

/// How long an ended goal stays listed, by the generation of its client.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeepTimes {
    pub(super) ros1: Duration,
    pub(super) ros2: Duration,
}

/// Identifies an entry. A client may reuse a goal id after its goal is forgotten, so the id is not enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key(u64);

/// One goal, or a ROS 1 request to cancel a goal that has not arrived.
pub(super) struct Entry<H, R> {
    pub(super) key: Key,
    pub(super) id: GoalId,
    /// When the client created the goal, or the time of reception if the client gives none, as in ROS 2.
    pub(super) stamp: Time,
    pub(super) status: GoalStatus,
    pub(super) text: String,
    /// The owner's handle; `None` for a request that waits for its goal.
    handle: Option<H>,
    /// When it ended.
    pub(super) ended: Option<Instant>,
    /// Its owner decides on a cancel request.
    decides_cancel: bool,
    /// What ROS 2 clients have requested.
    pub(super) requests: GoalRequests<R>,
}

/// What to do with a received goal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Arrival {
    /// The user decides on it.
    New,
    /// It was received before.
    Known,
    /// It was cancelled before it arrived.
    Recalled,
    /// Too many goals are active to keep it.
    Full,
}

/// Goals of both generations in the order of reception. `H` is the owner's handle, `R` answers a request of a ROS 2
/// client. [`ros2_goals`](super::ros2_goals) has the rules that only ROS 2 has.
pub(super) struct GoalRegistry<H, R> {
    entries: Vec<Entry<H, R>>,
    /// Key of the last entry.
    key: Key,
    limit: usize,
    keep: KeepTimes,
    /// ROS 1 goals with this stamp or an earlier one are cancelled, also those that arrive later.
    last_cancel: Time,
}

impl<H: Clone, R> GoalRegistry<H, R> {
    pub(super) fn new(limit: usize, keep: KeepTimes) -> Self {
        Self { entries: Vec::new(), key: Key(0), limit, keep, last_cancel: Time::default() }
    }

    pub(super) fn entries(&self) -> &[Entry<H, R>] {
        &self.entries
    }

    /// The goal with this id.
    pub(super) fn by_id(&self, id: &GoalId) -> Option<&Entry<H, R>> {
        self.entries.iter().find(|entry| entry.id == *id)
    }

    /// The goal with this key, unless it is forgotten.
    pub(super) fn get(&self, key: Key) -> Option<&Entry<H, R>> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    pub(super) fn get_mut(&mut self, key: Key) -> Option<&mut Entry<H, R>> {
        self.entries.iter_mut().find(|entry| entry.key == key)
    }

    /// Adds a received goal, with its `stamp` by the client's clock (the time of reception `came` if it is zero).
    /// `handle` creates the owner's handle.
    pub(super) fn arrive(
        &mut self,
        id: &GoalId,
        (stamp, came): (Time, Time),
        handle: impl FnOnce(Key) -> H,
        now: Instant,
    ) -> Arrival {
        if let Some(known) = self.entries.iter_mut().find(|entry| entry.id == *id) {
            return known.on_duplicate(now);
        }
        if !self.evict_if_full() {
            return Arrival::Full;
        }
        let (id, key) = (id.clone(), self.next_key());
        let recalled = !stamp.is_zero() && stamp <= self.last_cancel;
        let stamp = if stamp.is_zero() { came } else { stamp };
        let requests = GoalRequests::default();
        self.entries.push(match recalled {
            true => {
                let text = "all goals of its time and before were cancelled".to_owned();
                let (status, ended) = (GoalStatus::Recalled, Some(now));
                Entry { key, id, stamp, status, text, handle: None, ended, decides_cancel: false, requests }
            }
            false => {
                let (text, handle, status) = (String::new(), Some(handle(key)), GoalStatus::Pending);
                Entry { key, id, stamp, status, text, handle, ended: None, decides_cancel: false, requests }
            }
        });
        if recalled { Arrival::Recalled } else { Arrival::New }
    }

    /// Handles a ROS 1 request: cancels the goal with this id, those with this stamp or an earlier one, or (with
    /// neither) all. Returns newly cancelled goals. A request for an unknown id waits for its goal; false if the
    /// registry is full.
    pub(super) fn cancel(&mut self, id: &str, stamp: Time, now: Instant) -> (Vec<(Key, H)>, bool) {
        let all = id.is_empty() && stamp.is_zero();
        let concerned = self.request_cancel(|entry| {
            let named = !id.is_empty() && entry.id.text() == Some(id);
            all || named || !stamp.is_zero() && entry.stamp <= stamp
        });
        self.last_cancel = self.last_cancel.max(stamp);
        let waits = !id.is_empty() && self.by_id(&GoalId::from(id)).is_none();
        let is_kept = !waits || self.evict_if_full();
        if waits && is_kept {
            let (key, id, status) = (self.next_key(), GoalId::from(id), GoalStatus::Recalling);
            let (text, requests, ended) = (String::new(), GoalRequests::default(), Some(now));
            let decides_cancel = false;
            self.entries.push(Entry {
                key,
                id,
                stamp,
                status,
                text,
                handle: None,
                ended,
                decides_cancel,
                requests,
            });
        }
        (concerned, is_kept)
    }

    /// Requests to cancel the open goals that are meant. Returns those for which that is new. Their owners decide until
    /// [`GoalRegistry::conclude_cancel`].
    pub(super) fn request_cancel(&mut self, is_meant: impl Fn(&Entry<H, R>) -> bool) -> Vec<(Key, H)> {
        let mut concerned = Vec::new();
        for entry in self.entries.iter_mut().filter(|entry| entry.is_cancelable() && is_meant(entry)) {
            if let Some(next) = entry.status.after(Step::RequestCancel) {
                entry.status = next;
                entry.decides_cancel = true;
                concerned.extend(entry.handle.clone().map(|handle| (entry.key, handle)));
            }
        }
        concerned
    }

    /// The owner of a goal refuses to cancel it. False if no cancel request awaits the decision.
    pub(super) fn refuse_cancel(&mut self, key: Key) -> bool {
        let Some(entry) = self.get_mut(key) else { return false };
        let decides = entry.decides_cancel && entry.status.is_cancel_requested();
        if decides {
            entry.status = entry.status.after_refused_cancel();
        }
        decides
    }

    /// The owner of a goal has decided on a cancel request. False if it has refused.
    pub(super) fn conclude_cancel(&mut self, key: Key) -> bool {
        self.get_mut(key).is_none_or(|entry| {
            entry.decides_cancel = false;
            entry.status.is_cancel_requested() || entry.status.is_terminal()
        })
    }

    /// Sets the status of a goal.
    pub(super) fn set(&mut self, key: Key, status: GoalStatus, text: &str, now: Instant) {
        if let Some(entry) = self.get_mut(key) {
            entry.status = status;
            text.clone_into(&mut entry.text);
            entry.ended = status.is_terminal().then_some(now);
        }
    }

    /// Removes goals whose listing time has expired.
    pub(super) fn expire(&mut self, now: Instant) {
        let KeepTimes { ros1, ros2 } = self.keep;
        self.entries.retain(|entry| {
            let keep = if entry.id.uuid().is_some() { ros2 } else { ros1 };
            entry.ended.is_none_or(|ended| now.since(ended) <= keep)
        });
    }

    fn next_key(&mut self) -> Key {
        self.key = Key(self.key.0 + 1);
        self.key
    }

    /// Evicts the goal that ended first if the registry is full. False if none has ended.
    fn evict_if_full(&mut self) -> bool {
        if self.entries.len() < self.limit {
            return true;
        }
        let ended = self.entries.iter().enumerate().filter_map(|(place, entry)| Some((entry.ended?, place)));
        let Some((_, oldest)) = ended.min() else { return false };
        self.entries.remove(oldest);
        true
    }
}

impl<H, R> Entry<H, R> {
    /// Whether the goal can be cancelled: a ROS 2 client can cancel it once it is accepted.
    pub(super) fn is_cancelable(&self) -> bool {
        let is_known = self.id.uuid().is_none() || self.status.ros2_number().is_some();
        is_known && self.status.after(Step::RequestCancel).is_some()
    }

    /// Handles another ROS 1 goal with this id.
    fn on_duplicate(&mut self, now: Instant) -> Arrival {
        if self.ended.is_some() && self.id.uuid().is_none() {
            self.ended = Some(now);
        }
        if self.handle.is_none() && self.status == GoalStatus::Recalling {
            self.status = GoalStatus::Recalled;
            return Arrival::Recalled;
        }
        Arrival::Known
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEEP: KeepTimes = KeepTimes { ros1: Duration::from_secs(5), ros2: Duration::from_secs(10) };

    /// Time of reception, by the server's clock.
    const CAME: Time = Time { sec: 4, nanosec: 0 };

    fn at(seconds: u64) -> Instant {
        Instant(seconds * 1_000_000_000)
    }

    fn stamp(sec: i32) -> Time {
        Time { sec, nanosec: 0 }
    }

    fn arrive(registry: &mut GoalRegistry<i32, ()>, goal: i32, set: Time, now: Instant) -> Arrival {
        registry.arrive(&id(goal), (set, CAME), |_| goal, now)
    }

    fn key(registry: &GoalRegistry<i32, ()>, goal: i32) -> Key {
        registry.by_id(&id(goal)).unwrap().key
    }

    /// A registry of these goals, each with its number as stamp and handle.
    fn registry(limit: usize, goals: &[i32]) -> GoalRegistry<i32, ()> {
        let mut registry = GoalRegistry::new(limit, KEEP);
        for goal in goals {
            let arrived = arrive(&mut registry, *goal, stamp(*goal), at(0));
            assert_eq!(arrived, Arrival::New);
        }
        registry
    }

    fn statuses(registry: &GoalRegistry<i32, ()>) -> Vec<GoalStatus> {
        registry.entries().iter().map(|entry| entry.status).collect()
    }

    fn id(number: i32) -> GoalId {
        GoalId::from(&*number.to_string())
    }

    #[test]
    fn cancel_selects_by_id_stamp_or_all() {
        let none: &[i32] = &[];
        for (cancelled, at_time, expected) in [
            ("2", 0, [2].as_slice()),
            ("", 2, [1, 2].as_slice()),
            ("3", 1, [1, 3].as_slice()),
            ("", 0, [1, 2, 3].as_slice()),
            ("4", 0, none),
        ] {
            let mut registry = registry(10, &[1, 2, 3]);
            let (concerned, kept) = registry.cancel(cancelled, stamp(at_time), at(0));
            let concerned: Vec<i32> = concerned.into_iter().map(|(_, handle)| handle).collect();
            assert_eq!((concerned.as_slice(), kept), (expected, true), "{cancelled:?} {at_time}");
            let again = registry.cancel(cancelled, stamp(at_time), at(0)).0;
            assert!(again.is_empty(), "a repeated cancel notifies no owner");
        }
    }

    #[test]
    fn refused_cancel_restores_open_goal_only() {
        let mut registry = registry(10, &[1, 2]);
        registry.set(key(&registry, 1), GoalStatus::Active, "", at(0));
        let (concerned, _) = registry.cancel("", Time::default(), at(0));
        assert_eq!(statuses(&registry), [GoalStatus::Preempting, GoalStatus::Recalling]);
        registry.set(key(&registry, 2), GoalStatus::Recalled, "", at(0));
        let keys: Vec<Key> = concerned.into_iter().map(|(key, _)| key).collect();
        assert_eq!([keys[0], keys[1]].map(|key| registry.refuse_cancel(key)), [true, false]);
        assert_eq!(statuses(&registry), [GoalStatus::Active, GoalStatus::Recalled]);
        assert_eq!([keys[0], keys[1]].map(|key| registry.conclude_cancel(key)), [false, true]);
        registry.cancel("1", Time::default(), at(0));
        assert!(registry.conclude_cancel(keys[0]) && !registry.refuse_cancel(keys[0]), "it is decided");
    }

    #[test]
    fn goal_cancelled_before_arrival_is_recalled() {
        let mut registry = registry(10, &[]);
        assert_eq!(registry.cancel("7", Time::default(), at(0)), (vec![], true));
        assert_eq!(statuses(&registry), [GoalStatus::Recalling]);
        assert_eq!(arrive(&mut registry, 7, stamp(1), at(1)), Arrival::Recalled);
        assert_eq!(statuses(&registry), [GoalStatus::Recalled]);
        assert_eq!(arrive(&mut registry, 7, stamp(1), at(2)), Arrival::Known);
    }

    #[test]
    fn late_goal_before_cancel_stamp_is_recalled() {
        let mut registry = registry(10, &[]);
        registry.cancel("", stamp(5), at(0));
        assert_eq!(arrive(&mut registry, 1, stamp(5), at(0)), Arrival::Recalled);
        assert_eq!(arrive(&mut registry, 2, stamp(6), at(0)), Arrival::New);
        assert_eq!(arrive(&mut registry, 3, Time::default(), at(0)), Arrival::New);
        assert_eq!(registry.by_id(&id(3)).unwrap().stamp, CAME, "the reception time replaces a zero stamp");
    }

    #[test]
    fn reused_id_starts_a_new_goal() {
        let mut registry = registry(10, &[1]);
        let first = key(&registry, 1);
        registry.set(first, GoalStatus::Rejected, "", at(0));
        registry.expire(at(6));
        assert_eq!(arrive(&mut registry, 1, stamp(1), at(6)), Arrival::New);
        assert_ne!(key(&registry, 1), first);
        registry.set(first, GoalStatus::Aborted, "", at(6));
        assert!(registry.get(first).is_none());
        assert_eq!(statuses(&registry), [GoalStatus::Pending]);
    }

    #[test]
    fn duplicate_goal_is_not_started_twice() {
        let mut registry = registry(10, &[1]);
        registry.cancel("1", Time::default(), at(0));
        assert_eq!(arrive(&mut registry, 1, stamp(1), at(0)), Arrival::Known);
        assert_eq!(statuses(&registry), [GoalStatus::Recalling], "its owner continues");
    }

    #[test]
    fn ended_goal_stays_listed_for_a_while() {
        let mut registry = registry(10, &[1, 2]);
        let first = key(&registry, 1);
        registry.set(first, GoalStatus::Rejected, "no", at(10));
        registry.expire(at(15));
        assert_eq!(statuses(&registry), [GoalStatus::Rejected, GoalStatus::Pending]);
        arrive(&mut registry, 1, stamp(1), at(15));
        registry.expire(at(20));
        assert_eq!(registry.entries().len(), 2, "a duplicate extends the listing");
        registry.expire(at(21));
        assert_eq!(statuses(&registry), [GoalStatus::Pending]);
        assert!(registry.get(first).is_none());
    }

    #[test]
    fn full_registry_evicts_ended_goals_only() {
        let mut registry = registry(2, &[1, 2]);
        assert_eq!(arrive(&mut registry, 3, stamp(3), at(0)), Arrival::Full);
        assert!(!registry.cancel("9", Time::default(), at(0)).1);
        registry.set(key(&registry, 2), GoalStatus::Rejected, "", at(1));
        assert_eq!(arrive(&mut registry, 3, stamp(3), at(1)), Arrival::New);
        assert!(registry.by_id(&id(2)).is_none() && registry.by_id(&id(1)).is_some());
    }
}
