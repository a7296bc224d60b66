//! What a participant knows of its user's writers, and finds out for them. What they send, and hold for whom, is their own,
//! see [`UserWriter`](crate::UserWriter).

use super::Participant;
use crate::wire::{EntityId, Guid, GuidPrefix, SequenceNumber};
use crate::writer::{Change, WriterUpdate};
use alloc::collections::BTreeSet;

/// A writer of the user's, as far as discovery goes.
#[derive(Debug, Default)]
pub(super) struct UserWriterEntry {
    /// The number under which the announcement of it was written.
    pub told_at: SequenceNumber,
    /// The readers that it has matched.
    pub matched: BTreeSet<Guid>,
}

impl UserWriterEntry {
    /// The matched readers of a participant.
    pub fn of(&self, prefix: GuidPrefix) -> impl Iterator<Item = Guid> {
        self.matched.range(prefix.endpoints()).copied()
    }
}

impl Participant {
    /// The next of what has been found out for writers of the user's, in the order in which [`UserWriter::handle_update`] is to
    /// be called with it. What is for a writer that has ended is not given any more.
    ///
    /// [`UserWriter::handle_update`]: crate::UserWriter::handle_update
    pub fn poll_writer_update(&mut self) -> Option<WriterUpdate> {
        self.writer_updates.pop_front()
    }

    pub(super) fn update_writer(&mut self, writer: EntityId, change: Change) {
        self.writer_updates.push_back(WriterUpdate { writer, change });
    }

    /// The same for all that have matched readers of a participant.
    pub(super) fn update_writers_of(&mut self, prefix: GuidPrefix, change: impl Fn() -> Change) {
        let concerned = self.user_writers.iter().filter(|(_, writer)| writer.of(prefix).next().is_some());
        let updates = concerned.map(|(id, _)| WriterUpdate { writer: *id, change: change() });
        self.writer_updates.extend(updates);
    }

    /// The same of what a reader says, if the two are matched.
    pub(super) fn update_matched(&mut self, writer: EntityId, reader: Guid, change: Change) {
        if self.user_writers.get(&writer).is_some_and(|writer| writer.matched.contains(&reader)) {
            self.update_writer(writer, change);
        }
    }
}
