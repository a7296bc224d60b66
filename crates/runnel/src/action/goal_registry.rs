//! The goals that an action server knows.

use std::time::Duration;

use runnel_core::time::{Instant, Time};

use crate::goal_status::{GoalId, GoalStatus, Step};

/// Tells entries apart of which one had the id before the other: a client may use it again once it is forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key(u64);

/// One goal, or a request to cancel one that has not come yet.
#[derive(Clone, Debug)]
pub(super) struct Entry<H> {
    pub(super) key: Key,
    pub(super) id: GoalId,
    /// When the client set the goal; when it came, if the client does not say.
    pub(super) stamp: Time,
    pub(super) status: GoalStatus,
    pub(super) text: String,
    /// Who works on it; `None` for a request that waits for its goal.
    handle: Option<H>,
    /// Since when nothing more becomes of it.
    ended: Option<Instant>,
}

/// What becomes of a goal that has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Arrival {
    /// It is to be worked on.
    New,
    /// It came before.
    Known,
    /// It had been cancelled before it came.
    Recalled,
    /// So many goals are being worked on that it cannot be kept.
    Full,
}

/// The goals in the order in which they came. `H` leads to whoever works on a goal.
pub(super) struct GoalRegistry<H> {
    entries: Vec<Entry<H>>,
    /// The last entry's.
    key: Key,
    limit: usize,
    /// How long a goal that has ended is still listed.
    keep: Duration,
    /// Goals set until then are cancelled, also those that are yet to come.
    last_cancel: Time,
}

impl<H: Clone> GoalRegistry<H> {
    pub(super) fn new(limit: usize, keep: Duration) -> Self {
        Self { entries: Vec::new(), key: Key(0), limit, keep, last_cancel: Time::default() }
    }

    pub(super) fn entries(&self) -> &[Entry<H>] {
        &self.entries
    }

    /// The goal of this id.
    pub(super) fn named(&self, id: &GoalId) -> Option<&Entry<H>> {
        self.entries.iter().find(|entry| entry.id == *id)
    }

    /// The goal of this key, unless it is forgotten.
    pub(super) fn get(&self, key: Key) -> Option<&Entry<H>> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    /// A goal has come, set at `stamp` by the client's clock if that says anything, otherwise at `came`; `handle` makes
    /// the one of whoever is to work on it.
    pub(super) fn arrive(
        &mut self,
        id: &GoalId,
        (stamp, came): (Time, Time),
        handle: impl FnOnce(Key) -> H,
        now: Instant,
    ) -> Arrival {
        if let Some(known) = self.entries.iter_mut().find(|entry| entry.id == *id) {
            return known.arrive_again(now);
        }
        if !self.evict_if_full() {
            return Arrival::Full;
        }
        let (id, key) = (id.clone(), self.next_key());
        let recalled = !stamp.is_zero() && stamp <= self.last_cancel;
        let stamp = if stamp.is_zero() { came } else { stamp };
        self.entries.push(match recalled {
            true => {
                let text = "all goals of its time and before were cancelled".to_owned();
                Entry { key, id, stamp, status: GoalStatus::Recalled, text, handle: None, ended: Some(now) }
            }
            false => {
                let (text, handle) = (String::new(), Some(handle(key)));
                Entry { key, id, stamp, status: GoalStatus::Pending, text, handle, ended: None }
            }
        });
        if recalled { Arrival::Recalled } else { Arrival::New }
    }

    /// A client cancels a goal, all goals of a time and before, or (with neither) all: gives the handles of those that
    /// are newly to be cancelled. An id that is not known waits for its goal; false if there is no room for it.
    pub(super) fn cancel(&mut self, id: &str, stamp: Time, now: Instant) -> (Vec<H>, bool) {
        let all = id.is_empty() && stamp.is_zero();
        let mut concerned = Vec::new();
        for entry in &mut self.entries {
            let named = !id.is_empty() && entry.id.text() == Some(id);
            let before = !stamp.is_zero() && entry.stamp <= stamp;
            if (all || named || before)
                && let Some(next) = entry.status.after(Step::RequestCancel)
            {
                entry.status = next;
                concerned.extend(entry.handle.clone());
            }
        }
        self.last_cancel = self.last_cancel.max(stamp);
        let waits = !id.is_empty() && self.named(&GoalId::from(id)).is_none();
        let is_kept = !waits || self.evict_if_full();
        if waits && is_kept {
            let (key, id, status) = (self.next_key(), GoalId::from(id), GoalStatus::Recalling);
            let text = String::new();
            self.entries.push(Entry { key, id, stamp, status, text, handle: None, ended: Some(now) });
        }
        (concerned, is_kept)
    }

    /// A goal has become this.
    pub(super) fn set(&mut self, key: Key, status: GoalStatus, text: &str, now: Instant) {
        if let Some(entry) = self.entries.iter_mut().find(|entry| entry.key == key) {
            entry.status = status;
            text.clone_into(&mut entry.text);
            entry.ended = status.is_terminal().then_some(now);
        }
    }

    /// Forgets the goals that ended long enough ago.
    pub(super) fn expire(&mut self, now: Instant) {
        let keep = self.keep;
        self.entries.retain(|entry| entry.ended.is_none_or(|ended| now.since(ended) <= keep));
    }

    fn next_key(&mut self) -> Key {
        self.key = Key(self.key.0 + 1);
        self.key
    }

    /// Makes room for an entry if there is none: the one that ended first goes. False if none has ended.
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

impl<H> Entry<H> {
    /// A goal of this id has come.
    fn arrive_again(&mut self, now: Instant) -> Arrival {
        if self.ended.is_some() {
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

    const KEEP: Duration = Duration::from_secs(5);

    /// When goals come, by the server's clock.
    const CAME: Time = Time { sec: 4, nanosec: 0 };

    fn at(seconds: u64) -> Instant {
        Instant(seconds * 1_000_000_000)
    }

    fn stamp(sec: i32) -> Time {
        Time { sec, nanosec: 0 }
    }

    fn arrive(registry: &mut GoalRegistry<i32>, goal: i32, set: Time, now: Instant) -> Arrival {
        registry.arrive(&id(goal), (set, CAME), |_| goal, now)
    }

    fn key(registry: &GoalRegistry<i32>, goal: i32) -> Key {
        registry.named(&id(goal)).unwrap().key
    }

    /// A ledger of these goals, each with its number for stamp and handle.
    fn registry(limit: usize, goals: &[i32]) -> GoalRegistry<i32> {
        let mut registry = GoalRegistry::new(limit, KEEP);
        for goal in goals {
            let arrived = arrive(&mut registry, *goal, stamp(*goal), at(0));
            assert_eq!(arrived, Arrival::New);
        }
        registry
    }

    fn statuses(registry: &GoalRegistry<i32>) -> Vec<GoalStatus> {
        registry.entries().iter().map(|entry| entry.status).collect()
    }

    fn id(number: i32) -> GoalId {
        GoalId::from(&*number.to_string())
    }

    #[test]
    fn a_cancel_concerns_the_goal_of_its_id_those_before_its_time_or_all() {
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
            assert_eq!((concerned.as_slice(), kept), (expected, true), "{cancelled:?} {at_time}");
            let again = registry.cancel(cancelled, stamp(at_time), at(0)).0;
            assert!(again.is_empty(), "nobody is told twice");
        }
    }

    #[test]
    fn a_goal_that_was_cancelled_before_it_came_is_recalled() {
        let mut registry = registry(10, &[]);
        assert_eq!(registry.cancel("7", Time::default(), at(0)), (vec![], true));
        assert_eq!(statuses(&registry), [GoalStatus::Recalling]);
        assert_eq!(arrive(&mut registry, 7, stamp(1), at(1)), Arrival::Recalled);
        assert_eq!(statuses(&registry), [GoalStatus::Recalled]);
        assert_eq!(arrive(&mut registry, 7, stamp(1), at(2)), Arrival::Known);
    }

    #[test]
    fn a_goal_set_before_the_time_of_a_cancel_is_recalled_when_it_comes() {
        let mut registry = registry(10, &[]);
        registry.cancel("", stamp(5), at(0));
        assert_eq!(arrive(&mut registry, 1, stamp(5), at(0)), Arrival::Recalled);
        assert_eq!(arrive(&mut registry, 2, stamp(6), at(0)), Arrival::New);
        assert_eq!(arrive(&mut registry, 3, Time::default(), at(0)), Arrival::New);
        assert_eq!(registry.named(&id(3)).unwrap().stamp, CAME, "for those who ask when it was set");
    }

    #[test]
    fn what_is_said_of_a_goal_does_not_concern_a_later_one_of_its_id() {
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
    fn a_goal_that_comes_twice_is_not_begun_twice_whatever_becomes_of_it() {
        let mut registry = registry(10, &[1]);
        registry.cancel("1", Time::default(), at(0));
        assert_eq!(arrive(&mut registry, 1, stamp(1), at(0)), Arrival::Known);
        assert_eq!(statuses(&registry), [GoalStatus::Recalling], "somebody works on it");
    }

    #[test]
    fn a_goal_is_listed_for_a_while_after_its_end() {
        let mut registry = registry(10, &[1, 2]);
        let first = key(&registry, 1);
        registry.set(first, GoalStatus::Rejected, "no", at(10));
        registry.expire(at(15));
        assert_eq!(statuses(&registry), [GoalStatus::Rejected, GoalStatus::Pending]);
        arrive(&mut registry, 1, stamp(1), at(15));
        registry.expire(at(20));
        assert_eq!(registry.entries().len(), 2, "asked for again");
        registry.expire(at(21));
        assert_eq!(statuses(&registry), [GoalStatus::Pending]);
        assert!(registry.get(first).is_none());
    }

    #[test]
    fn what_has_ended_makes_room_and_what_has_not_does_not() {
        let mut registry = registry(2, &[1, 2]);
        assert_eq!(arrive(&mut registry, 3, stamp(3), at(0)), Arrival::Full);
        assert!(!registry.cancel("9", Time::default(), at(0)).1);
        registry.set(key(&registry, 2), GoalStatus::Rejected, "", at(1));
        assert_eq!(arrive(&mut registry, 3, stamp(3), at(1)), Arrival::New);
        assert!(registry.named(&id(2)).is_none() && registry.named(&id(1)).is_some());
    }
}
