//! RTPS readers that a writer has matched, and the count of subscribers. A dual node counts once per topic, whether
//! RTPS has matched it, a ROS 1 link serves it, or both.

use std::collections::BTreeMap;
use std::sync::Arc;

use runnel_rtps::wire::Guid;

use super::{RtpsWriter, State, WriterGroup};
use crate::sync::lock;

/// The readers that a writer has matched.
#[derive(Default)]
pub(super) struct MatchedReaders {
    /// Each with the id of its node, if that is a dual node.
    matched: BTreeMap<Guid, Option<u64>>,
}

impl MatchedReaders {
    /// Readers whose nodes are not among these dual nodes.
    fn of_others(&self, dual_node_ids: &[u64]) -> impl Iterator<Item = &Guid> {
        let is_other = |dual_node_id: &Option<u64>| {
            dual_node_id.is_none_or(|dual_node_id| !dual_node_ids.contains(&dual_node_id))
        };
        self.matched.iter().filter(move |(_, dual_node_id)| is_other(dual_node_id)).map(|(reader, _)| reader)
    }
}

impl WriterGroup {
    /// The writer has matched a reader. `dual_node_id` is the id of its node, if that is a dual node.
    pub(crate) fn on_reader_matched(&self, reader: Guid, dual_node_id: Option<u64>) {
        self.recounting(|readers| _ = readers.matched.insert(reader, dual_node_id));
        if let (Some(dual_node_id), Some(publication)) = (dual_node_id, self.publication()) {
            publication.serve_matched_reader(self, reader, dual_node_id);
        }
    }

    /// A matched reader has left.
    pub(crate) fn on_reader_left(&self, reader: Guid) {
        // Its link carries the messages again before RTPS stops to write to it.
        if let Some(publication) = self.publication() {
            publication.on_group_readers_lost(self);
        }
        self.recounting(|readers| _ = readers.matched.remove(&reader));
    }

    fn recounting(&self, change: impl FnOnce(&mut MatchedReaders)) {
        let Some(publication) = self.publication() else { return };
        let state = lock(&publication.state);
        let before = state.subscriber_count(self);
        {
            let mut readers = lock(&self.readers);
            change(&mut readers);
            self.set_matched(readers.matched.len());
        }
        self.notify_count(before, state.subscriber_count(self));
    }

    fn notify_count(&self, before: usize, now: usize) {
        if now != before {
            self.notify_publishers(|events| events.matched(now as i64 - before as i64));
        }
    }

    /// Matched readers, without those of these dual nodes.
    pub(super) fn matched_of_others(&self, dual_node_ids: &[u64]) -> usize {
        if dual_node_ids.is_empty() {
            return self.matched();
        }
        lock(&self.readers).of_others(dual_node_ids).count()
    }

    /// Matched readers that have confirmed the match, without those of these dual nodes.
    pub(super) fn known_of_others(&self, dual_node_ids: &[u64]) -> usize {
        let unknowing = self.writer().map_or_else(Vec::new, RtpsWriter::unconfirmed_matches);
        lock(&self.readers).of_others(dual_node_ids).filter(|reader| !unknowing.contains(reader)).count()
    }
}

impl State {
    /// The ids of the dual nodes that have a ROS 1 link.
    pub(super) fn linked_dual_nodes(&self) -> Vec<u64> {
        let links = self.links.iter().map(|link| link.dual_node_id);
        links.chain(self.datagram_links.iter().map(|link| link.dual_node_id)).flatten().collect()
    }

    /// The number of subscribers of each writer group.
    pub(super) fn counts(&self) -> Vec<(Arc<WriterGroup>, usize)> {
        self.groups.iter().map(|group| (Arc::clone(group), self.subscriber_count(group))).collect()
    }

    /// Notifies publishers of subscribers that have come or left since.
    pub(super) fn notify_count(&self, before: &[(Arc<WriterGroup>, usize)]) {
        before.iter().for_each(|(group, before)| group.notify_count(*before, self.subscriber_count(group)));
    }
}
