//! What the engine offers to pairs of a writer and a reader that have an alternate path, such as memory that both processes
//! share. Which path carries a sample, and the order of what several paths bring, is decided by the owner of the participant.
//! Samples keep their numbers on every path.
//!
//! The writer's side suspends a reader, sends by the alternate path what it writes from then on, and resumes the reader with
//! the samples that did not arrive there. What was written before still goes by the network. The reader's side gives the
//! samples of the network in order as ever; it is told what came by the alternate path when that has ended.

use super::watch::Watched;
use super::{Participant, Timer};
use crate::stored::{Lend, Stored};
use crate::wire::{EntityId, Guid, SequenceNumber, Timestamp};
use runnel_core::qos::{History, Reliability};
use runnel_core::time::Instant;

/// Where a reader was suspended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Suspended {
    /// The first sample that is not known to have arrived by the network.
    pub first_unacknowledged: SequenceNumber,
    /// The first sample of the alternate path.
    pub next: SequenceNumber,
}

impl<P: Lend> Participant<P> {
    /// The number of the sample that a writer wrote last.
    pub fn last_number(&self, writer: EntityId) -> Option<SequenceNumber> {
        Some(self.writers.get(&writer)?.history().last())
    }

    /// Samples that are written from now on reach a reader by an alternate path, whose owner sees to their lifespan. `None` if
    /// the two are not matched. A writer all of whose readers are suspended holds no new sample, unless it is for late joiners.
    pub fn suspend(&mut self, writer: EntityId, reader: Guid) -> Option<Suspended> {
        let (first_unacknowledged, next) = self.writers.get_mut(&writer)?.suspend(reader)?;
        Some(Suspended { first_unacknowledged, next })
    }

    /// The alternate path has ended. What did not arrive by it goes by the network from now on: `samples`, in the order of their
    /// numbers and each with the time when it was written, and what is written from now on. All samples from the suspension
    /// to before `from` have arrived, as far as is known.
    pub fn resume(
        &mut self,
        now: Instant,
        stamp: Timestamp,
        (writer, reader): (EntityId, Guid),
        from: SequenceNumber,
        samples: impl IntoIterator<Item = (SequenceNumber, Instant, P)>,
    ) {
        let Some(of) = self.writers.get_mut(&writer) else { return };
        let samples = samples.into_iter().map(|(number, at, sample)| (number, at, Stored::User(sample)));
        of.resume((now, stamp), reader, from, samples);
        let expiry = of.expire(now);
        self.arm(Timer::Writer(writer), expiry);
        self.wake_writer(writer);
    }

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
