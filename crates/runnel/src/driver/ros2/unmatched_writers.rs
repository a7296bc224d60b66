//! Writers of dual nodes that a reader has lost, and RTPS's position with each. A ROS 1 link that begins later may
//! deliver the same messages again.

use std::collections::VecDeque;
use std::sync::Arc;

use runnel_rtps::wire::EntityId;

use crate::data::{LinkInfo, PairPosition};

/// Maximum number of remembered writers.
const MAX_WRITERS: usize = 64;

/// See the module's documentation.
#[derive(Default)]
pub(in crate::driver) struct UnmatchedWriters(VecDeque<UnmatchedWriter>);

struct UnmatchedWriter {
    dual_node_id: u64,
    writer: EntityId,
    position: Arc<PairPosition>,
}

impl UnmatchedWriters {
    /// Remembers a lost writer. If it delivered nothing since its last match, the earlier position stays.
    pub(super) fn note(&mut self, writer: EntityId, from: &LinkInfo) {
        let Some(dual_node_id) = from.dual_node_id.filter(|_| from.position.next() > 0) else { return };
        self.0.retain(|unmatched| (unmatched.dual_node_id, unmatched.writer) != (dual_node_id, writer));
        if self.0.len() >= MAX_WRITERS {
            self.0.pop_front();
        }
        self.0.push_back(UnmatchedWriter { dual_node_id, writer, position: Arc::clone(&from.position) });
    }

    /// Lost writers of a dual node.
    pub(in crate::driver) fn of_node(
        &self,
        dual_node_id: u64,
    ) -> impl Iterator<Item = (EntityId, &PairPosition)> {
        let of_node = self.0.iter().filter(move |unmatched| unmatched.dual_node_id == dual_node_id);
        of_node.map(|unmatched| (unmatched.writer, &*unmatched.position))
    }
}
