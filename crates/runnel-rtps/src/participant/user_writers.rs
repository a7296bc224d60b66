//! The participant's state of user writers, and their updates. History and datagrams belong to
//! [`UserWriter`](crate::UserWriter).

use super::Participant;
use crate::wire::{EntityId, Guid, GuidPrefix, SequenceNumber};
use crate::writer::{Change, WriterUpdate};
use alloc::collections::BTreeSet;

/// Discovery state of a user writer.
#[derive(Debug, Default)]
pub(super) struct UserWriterEntry {
    /// Sequence number of its announcement.
    pub announced_at: SequenceNumber,
    /// Matched readers.
    pub matched: BTreeSet<Guid>,
}

impl UserWriterEntry {
    /// Returns the matched readers of a participant.
    pub fn matched_of(&self, prefix: GuidPrefix) -> impl Iterator<Item = Guid> {
        self.matched.range(prefix.endpoints()).copied()
    }
}

impl Participant {
    /// Returns the next update for a user writer. Pass updates in this order to [`UserWriter::handle_update`]. Updates
    /// of a removed writer are discarded.
    ///
    /// [`UserWriter::handle_update`]: crate::UserWriter::handle_update
    pub fn poll_writer_update(&mut self) -> Option<WriterUpdate> {
        self.writer_updates.pop_front()
    }

    pub(super) fn update_writer(&mut self, writer: EntityId, change: Change) {
        self.writer_updates.push_back(WriterUpdate { writer, change });
    }

    /// Queues an update for all writers that have matched readers of a participant.
    pub(super) fn update_writers_of(&mut self, prefix: GuidPrefix, change: impl Fn() -> Change) {
        let concerned =
            self.user_writers.iter().filter(|(_, writer)| writer.matched_of(prefix).next().is_some());
        let updates = concerned.map(|(id, _)| WriterUpdate { writer: *id, change: change() });
        self.writer_updates.extend(updates);
    }

    /// Queues an update from a reader, if the two are matched.
    pub(super) fn update_matched(&mut self, writer: EntityId, reader: Guid, change: Change) {
        if self.user_writers.get(&writer).is_some_and(|writer| writer.matched.contains(&reader)) {
            self.update_writer(writer, change);
        }
    }
}
