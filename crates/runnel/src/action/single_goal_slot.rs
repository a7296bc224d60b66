//! Policy of a single-goal server: a newer goal replaces an older one.

use runnel_core::time::Time;

/// The current goal and the next one.
pub(super) struct SingleGoalSlot<H> {
    current: Option<H>,
    next: Option<H>,
    /// Stamp of the newest goal of a ROS 1 client.
    newest: Option<Time>,
    /// The current goal must end: it was canceled or superseded.
    preempted: bool,
    /// The next goal was canceled before its start.
    next_preempted: bool,
}

/// Not derived, because a handle may have no default.
impl<H> Default for SingleGoalSlot<H> {
    fn default() -> Self {
        Self { current: None, next: None, newest: None, preempted: false, next_preempted: false }
    }
}

impl<H> SingleGoalSlot<H> {
    /// Adds a received goal. Returns the goal that is dropped because of it, which may be the same one. `stamp` is that of
    /// a ROS 1 client's clock: an older goal does not replace a newer one. Goals of ROS 2 clients have none, and count in
    /// the order of reception. `busy`: the current goal is still active.
    pub(super) fn offer(&mut self, goal: H, stamp: Option<Time>, busy: bool) -> Option<H> {
        if stamp.is_some_and(|stamp| self.newest.is_some_and(|newest| stamp < newest)) {
            return Some(goal);
        }
        self.newest = stamp.or(self.newest);
        self.preempted |= busy;
        self.next_preempted = false;
        self.next.replace(goal)
    }

    /// Cancels the matching goals.
    pub(super) fn cancel(&mut self, fits: impl Fn(&H) -> bool) {
        self.preempted |= self.current.as_ref().is_some_and(&fits);
        self.next_preempted |= self.next.as_ref().is_some_and(&fits);
    }

    /// Makes the next goal the current one and returns it. There is no current goal before.
    pub(super) fn take(&mut self) -> Option<&H> {
        let next = self.next.take()?;
        self.preempted = std::mem::take(&mut self.next_preempted);
        Some(self.current.insert(next))
    }

    /// Removes and returns the current goal.
    pub(super) fn release(&mut self) -> Option<H> {
        self.current.take()
    }

    /// The current goal.
    pub(super) fn current(&self) -> Option<&H> {
        self.current.as_ref()
    }

    /// Whether the current goal must end: it was canceled, or a newer one has arrived.
    pub(super) fn is_preempted(&self) -> bool {
        self.preempted
    }

    /// Whether a next goal waits.
    pub(super) fn has_next(&self) -> bool {
        self.next.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer(slot: &mut SingleGoalSlot<i32>, goal: i32, busy: bool) -> Option<i32> {
        slot.offer(goal, Some(Time { sec: goal, nanosec: 0 }), busy)
    }

    #[test]
    fn newer_goal_preempts_current_and_replaces_next() {
        let mut slot = SingleGoalSlot::default();
        assert_eq!(offer(&mut slot, 1, false), None);
        assert_eq!(slot.take(), Some(&1));
        assert_eq!(slot.current(), Some(&1));
        assert!(!slot.is_preempted() && !slot.has_next());
        assert_eq!(offer(&mut slot, 2, true), None);
        assert!(slot.is_preempted() && slot.has_next());
        assert_eq!(offer(&mut slot, 3, true), Some(2), "it was never started");
        assert_eq!((slot.release(), slot.current()), (Some(1), None));
        assert_eq!(slot.take(), Some(&3));
        assert!(!slot.is_preempted(), "the new one is not preempted");
    }

    #[test]
    fn older_goal_is_not_started() {
        let mut slot = SingleGoalSlot::default();
        offer(&mut slot, 5, false);
        assert_eq!(offer(&mut slot, 4, false), Some(4));
        slot.take();
        slot.release();
        assert_eq!(offer(&mut slot, 4, false), Some(4), "also after the newer goal has ended");
        assert_eq!(offer(&mut slot, 5, false), None, "of two equal stamps the later goal counts");
        assert!(!slot.is_preempted());
    }

    #[test]
    fn stamps_of_ros1_goals_do_not_concern_ros2_goals() {
        let mut slot = SingleGoalSlot::default();
        assert_eq!(offer(&mut slot, 1000, false), None);
        slot.take();
        assert_eq!(slot.offer(1, None, true), None, "the ROS 1 client's clock is ahead");
        assert!(slot.is_preempted());
        assert_eq!(offer(&mut slot, 999, true), Some(999), "older than the first goal");
        slot.release();
        assert_eq!(slot.take(), Some(&1));
    }

    #[test]
    fn goal_canceled_while_waiting_starts_preempted() {
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
        assert!(!slot.is_preempted(), "the canceled goal was replaced");
        slot.cancel(|goal| *goal == 4);
        assert!(slot.is_preempted());
    }
}
