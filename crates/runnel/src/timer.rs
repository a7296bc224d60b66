//! Timers of a node.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::node::Node;
use crate::ready::When;
use crate::timers::{Follows, TimerEntry};

/// A callback that is called at a fixed period, made by [`Node::create_timer`] or [`Node::create_wall_timer`]. It ends when it
/// is dropped. However many calls were missed, one makes up for them.
#[must_use = "a timer ends when it is dropped: bind it to a name, `let _timer = ...`, not `let _ = ...`"]
pub struct Timer {
    node: Node,
    entry: Arc<TimerEntry>,
}

impl Timer {
    pub(crate) fn entry(&self) -> &Arc<TimerEntry> {
        &self.entry
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        self.entry.remove();
    }
}

impl fmt::Debug for Timer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Timer").field("node", &self.node.full_name()).finish_non_exhaustive()
    }
}

impl Node {
    /// Calls `callback` every `period` of ROS time, which `/clock` may tell, while the context spins.
    pub fn create_timer(&self, period: Duration, callback: impl FnMut() + Send + 'static) -> Timer {
        self.timer(period, Follows::Ros, self.inner.spun(), Box::new(callback))
    }

    /// As [`Node::create_timer`] by the clock on the wall, whatever `/clock` tells.
    pub fn create_wall_timer(&self, period: Duration, callback: impl FnMut() + Send + 'static) -> Timer {
        self.timer(period, Follows::Wall, self.inner.spun(), Box::new(callback))
    }

    pub(crate) fn timer(
        &self,
        period: Duration,
        follows: Follows,
        when: When,
        callback: Box<dyn FnMut() + Send>,
    ) -> Timer {
        let shared = &self.inner.context.shared;
        let entry = shared.timers.add((period, follows), when, callback);
        // A thread that waits already must learn of the earlier deadline.
        shared.ready.wake_all();
        Timer { node: self.clone(), entry: Arc::new(entry) }
    }
}
