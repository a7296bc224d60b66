//! What the engine offers to pairs of a writer and a reader that have an alternate path, such as memory that both processes
//! share. Which path carries a sample, and the order of what several paths bring, is decided by the owner of the participant.
//! Samples keep their numbers on every path.
//!
//! The writer's side, [`UserWriter`](crate::UserWriter), suspends a reader, sends by the alternate path what it writes from then on, and resumes the reader with
//! the samples that did not arrive there. What was written before still goes by the network. The reader's side gives the
//! samples of the network in order as ever; it is told what came by the alternate path when that has ended.

use super::Participant;
use super::watch::Watched;
use crate::wire::{EntityId, Guid, SequenceNumber};
use runnel_core::qos::{History, Reliability};
use runnel_core::time::Instant;

impl Participant {
    /// The next sample of a writer that a reader of ours gives: all before it were given, or do not come by the network. `None`
    /// if that is not known yet, or the two are not matched.
    pub fn next_due(&self, reader: EntityId, writer: Guid) -> Option<SequenceNumber> {
        self.readers.get(&reader)?.writer(writer)?.due()
    }

    /// The number before which a reader of ours is given nothing more of a writer: unlike [`next_due`](Self::next_due), not on the
    /// word of one datagram that may have been forged.
    pub fn passed_before(&self, reader: EntityId, writer: Guid) -> Option<SequenceNumber> {
        self.readers.get(&reader)?.writer(writer)?.passed_before()
    }

    /// The last sample that a writer has announced to a reader of ours, or sent to it. `None` if the two are not matched.
    pub fn last_announced(&self, reader: EntityId, writer: Guid) -> Option<SequenceNumber> {
        Some(self.readers.get(&reader)?.writer(writer)?.last_announced())
    }

    /// Samples from `from` to before `to` have come by an alternate path: the network neither owes nor loses them. Where
    /// `from` is the first number of all, the user has had all before `to`. It counts also if the two are matched no longer.
    pub fn note_received(
        &mut self,
        now: Instant,
        (reader, writer): (EntityId, Guid),
        from: SequenceNumber,
        to: SequenceNumber,
    ) {
        let Some(of) = self.readers.get_mut(&reader) else { return };
        let Some(proxy) = of.writer_mut(writer) else { return of.note_received_of_left(writer, from, to) };
        proxy.note_received(from, to);
        self.after(now, reader, writer);
    }

    /// Whether a reader and a writer that are matched are both reliable.
    pub fn is_reliable_pair(&self, reader: EntityId, writer: Guid) -> bool {
        let proxy = self.readers.get(&reader).and_then(|reader| reader.writer(writer));
        proxy.is_some_and(|proxy| proxy.is_reliable())
    }

    /// Whether somebody waits for signs of life of a writer, or for samples by a deadline: then each sample that the user
    /// gets by an alternate path is to be told by [`Participant::sample_passed`].
    pub fn is_watched(&self, reader: EntityId, writer: Guid) -> bool {
        self.is_watched_for(reader, writer)
    }

    /// Whether a reader of ours keeps all, so that writers wait for its user.
    pub fn keeps_all(&self, reader: EntityId) -> bool {
        let qos = self.endpoints.get(&reader).map(|endpoint| endpoint.qos);
        qos.is_some_and(|qos| qos.history == History::KeepAll && qos.reliability == Reliability::Reliable)
    }

    /// The user has got a sample by an alternate path.
    pub fn sample_passed(&mut self, now: Instant, reader: EntityId, writer: Guid) {
        self.happened(now, Watched::Deadline(reader));
        self.happened(now, Watched::Life(reader, writer));
    }
}
