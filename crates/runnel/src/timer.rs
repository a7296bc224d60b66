//! Timers.

use crate::node::Node;

/// A callback that is called again and again. It ends when it is dropped.
#[must_use = "a timer ends when it is dropped"]
pub struct Timer {
    node: Node,
    id: u64,
}

impl Timer {
    pub(crate) fn new(node: Node, id: u64) -> Self {
        Self { node, id }
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        let shared = &self.node.context().shared;
        shared.timers.remove(self.id, &shared.ready);
    }
}
