//! The policy of a server that works on one goal at a time: a newer goal takes the place of an older one.

use runnel_core::time::Time;

/// The goal that is worked on and the one that comes next.
pub(super) struct SingleGoalSlot<H> {
    current: Option<H>,
    next: Option<H>,
    /// When the newest of all was set.
    newest: Option<Time>,
    /// The current goal is to make way.
    preempted: bool,
    /// The next goal was cancelled before its turn.
    next_preempted: bool,
}

/// Not derived: a handle need have no default.
impl<H> Default for SingleGoalSlot<H> {
    fn default() -> Self {
        Self { current: None, next: None, newest: None, preempted: false, next_preempted: false }
    }
}

impl<H> SingleGoalSlot<H> {
    /// A goal has come: gives the one that is not worked on because of that, which may be itself. `busy` says whether
    /// the current one is still being worked on.
    pub(super) fn offer(&mut self, goal: H, stamp: Time, busy: bool) -> Option<H> {
        if self.newest.is_some_and(|newest| stamp < newest) {
            return Some(goal);
        }
        self.newest = Some(stamp);
        self.preempted |= busy;
        self.next_preempted = false;
        self.next.replace(goal)
    }

    /// Goals that fit this are to be cancelled.
    pub(super) fn cancel(&mut self, fits: impl Fn(&H) -> bool) {
        self.preempted |= self.current.as_ref().is_some_and(&fits);
        self.next_preempted |= self.next.as_ref().is_some_and(&fits);
    }

    /// The next goal becomes the current one, of which there is none: gives it.
    pub(super) fn take(&mut self) -> Option<&H> {
        let next = self.next.take()?;
        self.preempted = std::mem::take(&mut self.next_preempted);
        Some(self.current.insert(next))
    }

    /// The current goal is not worked on any more: gives it.
    pub(super) fn release(&mut self) -> Option<H> {
        self.current.take()
    }

    /// The goal that is worked on.
    pub(super) fn current(&self) -> Option<&H> {
        self.current.as_ref()
    }

    /// Whether the current goal is to make way: it was cancelled, or a newer one has come.
    pub(super) fn is_preempted(&self) -> bool {
        self.preempted
    }

    /// Whether a goal waits for its turn.
    pub(super) fn has_next(&self) -> bool {
        self.next.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer(slot: &mut SingleGoalSlot<i32>, goal: i32, busy: bool) -> Option<i32> {
        slot.offer(goal, Time { sec: goal, nanosec: 0 }, busy)
    }

    #[test]
    fn a_newer_goal_preempts_the_current_one_and_pushes_out_the_next() {
        let mut slot = SingleGoalSlot::default();
        assert_eq!(offer(&mut slot, 1, false), None);
        assert_eq!(slot.take(), Some(&1));
        assert_eq!(slot.current(), Some(&1));
        assert!(!slot.is_preempted() && !slot.has_next());
        assert_eq!(offer(&mut slot, 2, true), None);
        assert!(slot.is_preempted() && slot.has_next());
        assert_eq!(offer(&mut slot, 3, true), Some(2), "it never had its turn");
        assert_eq!((slot.release(), slot.current()), (Some(1), None));
        assert_eq!(slot.take(), Some(&3));
        assert!(!slot.is_preempted(), "the new one is not preempted");
    }

    #[test]
    fn an_older_goal_does_not_get_a_turn() {
        let mut slot = SingleGoalSlot::default();
        offer(&mut slot, 5, false);
        assert_eq!(offer(&mut slot, 4, false), Some(4));
        slot.take();
        slot.release();
        assert_eq!(offer(&mut slot, 4, false), Some(4), "nor when the newer one has ended");
        assert_eq!(offer(&mut slot, 5, false), None, "of two set at once the later counts");
        assert!(!slot.is_preempted());
    }

    #[test]
    fn a_goal_cancelled_before_its_turn_is_preempted_from_the_start() {
        let mut slot = SingleGoalSlot::default();
        offer(&mut slot, 1, false);
        slot.take();
        offer(&mut slot, 2, false);
        slot.cancel(|goal| *goal == 2);
        assert!(!slot.is_preempted());
        slot.take();
        assert!(slot.is_preempted());
        offer(&mut slot, 3, false);
        slot.cancel(|goal| *goal == 3);
        offer(&mut slot, 4, false);
        slot.take();
        assert!(!slot.is_preempted(), "another was cancelled");
        slot.cancel(|goal| *goal == 4);
        assert!(slot.is_preempted());
    }
}
