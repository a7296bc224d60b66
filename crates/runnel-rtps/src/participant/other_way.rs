//! Pairs of a writer and a reader whose samples take another way than the network for a while, such as memory that both
//! processes share. Samples keep their numbers, so that nothing is lost, doubled or out of order when a pair goes over to
//! that way or comes back.
//!
//! The writer's side suspends the reader and sends by the other way what it writes from then on; what it wrote before still
//! goes by the network. When the other way ends it resumes the reader, with the samples that did not get there. The reader's
//! side gives each sample to [`Participant::take_in`], or to its user at once if it is [`Participant::due`], of which it then
//! tells by [`Participant::pass_over`] before samples come by the network again.

use super::watch::Watched;
use super::{Participant, Timer};
use crate::event::{Sample, SamplePayload};
use crate::reader::{Arrival, copied};
use crate::stored::{Lend, Stored};
use crate::wire::{EntityId, Guid, SequenceNumber, Timestamp};
use alloc::vec::Vec;
use runnel_core::qos::{History, Reliability};
use runnel_core::time::Instant;

impl<P: Lend> Participant<P> {
    /// The number of the sample that a writer wrote last.
    pub fn last_number(&self, writer: EntityId) -> Option<SequenceNumber> {
        Some(self.writers.get(&writer)?.history().last())
    }

    /// Samples that are written from now on reach a reader by another way, on which their lifespan is for the caller to see
    /// to: the first of them. `None` if the two have not met. A writer all of whose readers are suspended holds none of
    /// them, unless it is for those who come later.
    pub fn suspend(&mut self, writer: EntityId, reader: Guid) -> Option<SequenceNumber> {
        self.writers.get_mut(&writer)?.suspend(reader)
    }

    /// The other way has ended. What it did not bring goes by the network from now on: `samples`, in the order of their
    /// numbers and each with the time when it was written, and what is written from now on. The reader has had all before
    /// `from`, as far as is known.
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

    /// The sample of a writer that a reader of ours is to get next. `None` if that is not known yet, or they have not met.
    pub fn due(&mut self, reader: EntityId, writer: Guid) -> Option<SequenceNumber> {
        self.readers.get_mut(&reader)?.writer_mut(writer)?.due()
    }

    /// A sample has come by another way, where that of the number `expected` was to come: those between them were dropped. It
    /// is given by [`Participant::poll_sample`] once its turn has come.
    pub fn take_in(
        &mut self,
        now: Instant,
        (reader, writer): (EntityId, Guid),
        (expected, number): (SequenceNumber, SequenceNumber),
        bytes: &[u8],
    ) {
        if let Some(proxy) = self.readers.get_mut(&reader).and_then(|reader| reader.writer_mut(writer)) {
            proxy.leave_out(expected, number);
        }
        if !self.take_in_if_room(now, (reader, writer), number, bytes) {
            // No more can wait for what the network still owes.
            if let Some(proxy) = self.readers.get_mut(&reader).and_then(|reader| reader.writer_mut(writer)) {
                proxy.give_up_before(number);
            }
            self.after(now, reader, writer);
            if !self.take_in_if_room(now, (reader, writer), number, bytes)
                && let Some(proxy) =
                    self.readers.get_mut(&reader).and_then(|reader| reader.writer_mut(writer))
            {
                proxy.give_up(number);
            }
        }
        self.after(now, reader, writer);
    }

    /// False if the sample must wait for others and there is no room for it.
    fn take_in_if_room(
        &mut self,
        now: Instant,
        (reader, writer): (EntityId, Guid),
        number: SequenceNumber,
        bytes: &[u8],
    ) -> bool {
        let Some(of) = self.readers.get_mut(&reader) else { return true };
        let has_room = of.has_room();
        let Some(proxy) = of.writer_mut(writer) else { return true };
        match proxy.arrive_beside(now, number, has_room) {
            Arrival::Early => return proxy.hold_beside(now, number, copied(bytes, None, false)),
            Arrival::Deliver => {
                let payload = SamplePayload::Own(Vec::from(bytes));
                self.give(now, Sample { reader, writer, number, stamp: None, payload });
            }
            Arrival::Late => {}
        }
        true
    }

    /// The user has had all samples of a writer before `next`; which counts also if the two have parted meanwhile.
    pub fn pass_over(&mut self, now: Instant, (reader, writer): (EntityId, Guid), next: SequenceNumber) {
        let Some(of) = self.readers.get_mut(&reader) else { return };
        let Some(proxy) = of.writer_mut(writer) else { return of.pass_over_left(writer, next) };
        proxy.pass_over(next);
        self.after(now, reader, writer);
    }

    /// Whether somebody waits for signs of life of a writer, or for samples by a deadline: then each sample that the user
    /// gets by another way is to be told by [`Participant::sample_passed`].
    pub fn is_watched(&self, reader: EntityId, writer: Guid) -> bool {
        self.is_watched_for(reader, writer)
    }

    /// Whether a reader of ours is owed each sample.
    pub fn is_reliable(&self, reader: EntityId) -> bool {
        let qos = self.endpoints.get(&reader).map(|endpoint| endpoint.qos);
        qos.is_some_and(|qos| qos.reliability == Reliability::Reliable)
    }

    /// Whether a reader of ours keeps all, so that writers wait for its user.
    pub fn keeps_all(&self, reader: EntityId) -> bool {
        let qos = self.endpoints.get(&reader).map(|endpoint| endpoint.qos);
        qos.is_some_and(|qos| qos.history == History::KeepAll && qos.reliability == Reliability::Reliable)
    }

    /// The user has got a sample by another way.
    pub fn sample_passed(&mut self, now: Instant, reader: EntityId, writer: Guid) {
        self.happened(now, Watched::Deadline(reader));
        self.happened(now, Watched::Life(reader, writer));
    }
}
