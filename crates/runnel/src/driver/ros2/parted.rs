//! Writers of nodes in both graphs that a reader has lost, and how far RTPS was with them: a link of ROS 1 that stands later may
//! bring the same again.

use std::collections::VecDeque;
use std::sync::Arc;

use runnel_rtps::wire::EntityId;

use crate::data::{LinkInfo, PairPosition};

/// Each writer that ends leaves one.
const MOST: usize = 64;

/// See the module's documentation.
#[derive(Default)]
pub(in crate::driver) struct PartedWriters(VecDeque<Parted>);

struct Parted {
    origin: u64,
    writer: EntityId,
    position: Arc<PairPosition>,
}

impl PartedWriters {
    /// A reader has lost a writer. If nothing has come since it was found, what is known from before stands.
    pub(super) fn note(&mut self, writer: EntityId, from: &LinkInfo) {
        let Some(origin) = from.origin.filter(|_| from.position.next() > 0) else { return };
        self.0.retain(|parted| (parted.origin, parted.writer) != (origin, writer));
        if self.0.len() >= MOST {
            self.0.pop_front();
        }
        self.0.push_back(Parted { origin, writer, position: Arc::clone(&from.position) });
    }

    /// Those of a node.
    pub(in crate::driver) fn of_node(&self, origin: u64) -> impl Iterator<Item = (EntityId, &PairPosition)> {
        let of_node = self.0.iter().filter(move |parted| parted.origin == origin);
        of_node.map(|parted| (parted.writer, &*parted.position))
    }
}
