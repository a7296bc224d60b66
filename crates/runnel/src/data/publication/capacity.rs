//! Queue capacity for another message, and the subscriber whose queue is full.

use super::{Publication, State, WriterGroup};
use crate::sync::lock;

impl Publication {
    /// Whether one more message of `bytes` bytes drops none.
    pub(crate) fn has_capacity(&self, bytes: usize, group: &WriterGroup) -> bool {
        let mut state = lock(&self.state);
        self.slowest_full(&mut state, bytes).is_none() && state.full_for_any_length(group).is_none()
    }

    /// The slowest of the subscribers for which one more message of `bytes` bytes would drop another.
    pub(super) fn slowest_full(&self, state: &mut State, bytes: usize) -> Option<String> {
        state.links.iter_mut().for_each(|link| link.flush_if_waiting(&self.reactor));
        let full = state.links.iter().filter(|link| link.is_full(bytes));
        full.max_by_key(|link| link.waiting()).map(|link| link.subscriber.clone())
    }
}

impl State {
    /// A subscriber whose queue is full for a message of any length.
    pub(super) fn full_for_any_length(&mut self, group: &WriterGroup) -> Option<String> {
        self.full_local().or_else(|| self.full_in_ros2(group))
    }
}
