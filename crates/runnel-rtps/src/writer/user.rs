//! User writer: its history, datagrams and timers, separate from the participant.
//!
//! A participant creates it and then knows only which readers it has matched. It returns updates for the writer, in
//! order, which the owner of both passes on. Nothing else connects the two: a thread that publishes needs only the
//! writer, whatever the participant is doing.

use super::promises::Promises;
use super::update::{Change, WriterUpdate};
use super::{Composed, Full, NotSent, Writer};
use crate::event::Event;
use crate::inline_qos;
use crate::lend::Lend;
use crate::outgoing::Outgoing;
use crate::wire::{EntityId, Guid, GuidPrefix, SampleIdentity, SequenceNumber, Timestamp};
use alloc::vec::Vec;
use runnel_core::qos::QoS;
use runnel_core::time::Instant;

/// User writer, created by [`Participant::create_writer`](crate::Participant::create_writer).
///
/// Its methods are of four kinds: getters, mutators, `handle_*(now, ..)` and `poll_*`. After each mutator or handler
/// its owner polls [`UserWriter::take_transmit`] and [`UserWriter::poll_event`], and calls
/// [`UserWriter::handle_timeout`] at the time of [`UserWriter::poll_timeout`].
#[derive(Debug)]
pub struct UserWriter<P> {
    /// Prefix of its participant.
    participant: GuidPrefix,
    writer: Writer<P>,
    promises: Promises,
    /// Fragments wait until this time.
    not_before: Option<Instant>,
    /// It may have a datagram to send now.
    has_pending: bool,
    closed: bool,
}

/// Position at which a reader was suspended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Suspended {
    /// The first sample that is not known to have arrived by RTPS.
    pub first_unacknowledged: SequenceNumber,
    /// The first sample of the alternate path.
    pub next: SequenceNumber,
}

impl<P: Lend> UserWriter<P> {
    pub(crate) fn new(guid: Guid, qos: QoS, (samples, bytes): (usize, usize)) -> Self {
        Self {
            participant: guid.prefix,
            writer: Writer::new(guid.entity, qos, samples).with_byte_limit(bytes),
            promises: Promises::from_qos(&qos),
            not_before: None,
            has_pending: false,
            closed: false,
        }
    }

    /// Makes it a writer whose samples are for one reader each ([`UserWriter::write_to`]).
    pub(crate) fn addressed(self) -> Self {
        Self { writer: self.writer.addressed(), ..self }
    }

    /// Returns its entity id.
    pub fn id(&self) -> EntityId {
        self.writer.id
    }

    /// Writes a sample for all readers. Returns a displaced one, or this one if no reader needs it.
    ///
    /// # Errors
    /// The writer keeps all samples, and a reader does not keep pace.
    pub fn write(&mut self, now: Instant, stamp: Timestamp, sample: P) -> Result<Option<P>, Full> {
        if self.closed {
            return Ok(Some(sample));
        }
        let displaced = self.writer.write(now, stamp, sample)?;
        self.note_written(now);
        Ok(displaced)
    }

    /// As [`UserWriter::write`], even if the writer is full: the caller has checked [`UserWriter::full`] before. An
    /// acknowledgement may have made it full since, if it holds more samples than its limit because an alternate path
    /// has returned some.
    pub fn write_admitted(&mut self, now: Instant, stamp: Timestamp, sample: P) -> Option<P> {
        if self.closed {
            return Some(sample);
        }
        let displaced = self.writer.write_admitted(now, stamp, sample);
        self.note_written(now);
        displaced
    }

    /// Keeps a sample for readers that match later. Those of now do not get it, unless they lack earlier samples. Returns a
    /// displaced sample, or this one if no reader will need it.
    pub fn write_for_late(&mut self, now: Instant, stamp: Timestamp, sample: P) -> Option<P> {
        if self.closed {
            return Some(sample);
        }
        let displaced = self.writer.write_for_late(now, stamp, sample);
        self.wake();
        displaced
    }

    fn note_written(&mut self, now: Instant) {
        self.writer.expire(now);
        self.promises.note_sample(now);
        self.wake();
    }

    /// Writes a sample for one matched reader; returns its number. `related` becomes its inline QoS. Only for a writer of
    /// [`Participant::create_addressed_writer`](crate::Participant::create_addressed_writer), which has no other samples.
    ///
    /// # Errors
    /// The reader is not matched, or the writer holds too many unacknowledged samples.
    pub fn write_to(
        &mut self,
        now: Instant,
        stamp: Timestamp,
        sample: P,
        (reader, related): (Guid, Option<SampleIdentity>),
    ) -> Result<SequenceNumber, NotSent> {
        if self.closed {
            return Err(NotSent::Unmatched);
        }
        let inline_qos = related.map(inline_qos::related).unwrap_or_default();
        let number = self.writer.write_to(now, stamp, sample, (reader, inline_qos))?;
        self.wake();
        Ok(number)
    }

    /// Returns and clears the next reader whose unacknowledged samples were evicted, so that samples to readers of other
    /// participants have capacity. Once for each participant while it is matched.
    pub fn take_evicted(&mut self) -> Option<Guid> {
        self.writer.take_evicted()
    }

    /// Returns whether a reader is matched.
    pub fn has_reader(&self, reader: Guid) -> bool {
        self.writer.readers().get(reader).is_some()
    }

    /// Returns the number of samples that were [written to](UserWriter::write_to) a reader and not acknowledged by it.
    pub fn unacknowledged_by(&self, reader: Guid) -> usize {
        self.writer.unacknowledged_by(reader)
    }

    /// Returns the number of samples that were [written to](UserWriter::write_to) matched readers and not acknowledged.
    pub fn unacknowledged_by_addressees(&self) -> usize {
        self.writer.unacknowledged_by_addressees()
    }

    /// Returns the slowest reader if a keep-all writer cannot accept another sample.
    pub fn full(&self) -> Option<Full> {
        self.writer.full()
    }

    /// Returns the greatest number of samples that a reader has not acknowledged or been sent.
    pub fn unacknowledged(&self) -> u32 {
        self.writer.unacknowledged()
    }

    /// Returns the readers with unacknowledged or unsent samples, and the number of those.
    pub fn unacknowledged_by_reader(&self) -> Vec<(Guid, u32)> {
        self.writer.unacknowledged_by_reader()
    }

    /// Returns the number of samples that were displaced before every reader had acknowledged them.
    pub fn overwritten(&self) -> u64 {
        self.writer.overwritten()
    }

    /// Returns the number of the last written sample; `None` if the writer has ended.
    pub fn last_number(&self) -> Option<SequenceNumber> {
        (!self.closed).then(|| self.writer.history().last())
    }

    /// Returns whether a matched reader is reliable.
    pub fn is_reliable(&self, reader: Guid) -> bool {
        self.writer.readers().get(reader).is_some_and(|proxy| proxy.is_reliable())
    }

    /// Asserts the liveliness of the writer.
    pub fn assert_liveliness(&mut self, now: Instant) {
        self.writer.assert_liveliness();
        self.promises.note_alive(now);
        self.wake();
    }

    /// Returns the held samples that a matched reader is due by RTPS and has not acknowledged.
    pub fn unacknowledged_of(&self, reader: Guid) -> impl Iterator<Item = (SequenceNumber, &P)> {
        self.writer.unacknowledged_of(reader)
    }

    /// Forgets the position of an unmatched reader, so that it does not continue there when it is matched again.
    pub fn forget_unmatched(&mut self, reader: Guid) {
        self.writer.forget_unmatched(reader);
    }

    /// Sends a reader nothing, neither unacknowledged samples nor announcements, until [`UserWriter::resume`]: another
    /// path may have yet to deliver what it lacks. Only liveliness is still asserted.
    pub fn hold(&mut self, reader: Guid) {
        self.writer.hold(reader);
    }

    /// Suspends a reader: an alternate path carries later samples, and its owner enforces their lifespan. Returns
    /// `None` if the two are not matched. A writer whose readers are all suspended holds new samples only for late
    /// joiners.
    pub fn suspend(&mut self, reader: Guid) -> Option<Suspended> {
        let (first_unacknowledged, next) = self.writer.suspend(reader)?;
        Some(Suspended { first_unacknowledged, next })
    }

    /// Resumes a reader after its alternate path has ended. RTPS sends `samples`, which did not arrive there, in the
    /// order of their numbers and with their times of writing, and all later samples. All samples from the suspension
    /// to before `from` are assumed to have arrived.
    pub fn resume(
        &mut self,
        now: Instant,
        stamp: Timestamp,
        reader: Guid,
        from: SequenceNumber,
        samples: impl IntoIterator<Item = (SequenceNumber, Instant, P)>,
    ) {
        self.writer.resume((now, stamp), reader, from, samples.into_iter());
        self.writer.expire(now);
        self.wake();
    }

    /// Applies an update of the participant. Returns the number of corrections of the reader's state; pass it to
    /// [`Participant::reader_corrected`](crate::Participant::reader_corrected).
    pub fn handle_update(&mut self, now: Instant, update: WriterUpdate) -> u32 {
        if self.closed {
            return 0;
        }
        let wakes = match update.change {
            Change::Matched(spec) => {
                self.writer.match_reader(spec);
                true
            }
            Change::Unmatched(readers) => {
                self.writer.unmatch_readers(readers);
                false
            }
            Change::Moved(reader, address) => {
                self.writer.move_reader(reader, address);
                true
            }
            Change::Gate(prefix, gate) => self.writer.set_gate(now, prefix, gate),
            Change::MissesFragments(reader, nack) => self.writer.nack_fragments(now, reader, &nack),
            Change::Acknowledged(reader, ack) => {
                if self.writer.acknowledge(now, reader, &ack) {
                    self.wake();
                }
                return self.writer.take_corrections(reader);
            }
        };
        if wakes {
            self.wake();
        }
        0
    }

    /// Records that there may be something to send.
    fn wake(&mut self) {
        self.has_pending |= !self.writer.readers().is_empty();
    }

    /// Returns whether [`UserWriter::take_transmit`] may return a datagram now.
    pub fn has_pending_datagrams(&self) -> bool {
        self.has_pending
    }

    /// Composes the next datagram. Returns false if none may be sent now; [`UserWriter::poll_timeout`] returns when to
    /// try again.
    pub fn take_transmit(&mut self, now: Instant, into: &mut Outgoing<P>) -> bool {
        if !self.has_pending {
            return false;
        }
        let composed = self.writer.compose(now, self.participant, &mut into.0);
        self.has_pending = composed == Composed::Ready;
        self.not_before = match composed {
            Composed::NotBefore(at) => Some(at),
            Composed::Ready | Composed::Nothing => None,
        };
        self.has_pending
    }

    /// Returns when [`UserWriter::handle_timeout`] is to be called.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let all = [self.writer.timeout(), self.writer.expiry(), self.not_before, self.promises.due()];
        all.into_iter().flatten().min()
    }

    /// Handles due timers.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.not_before.take_if(|at| *at <= now);
        self.writer.expire(now);
        self.writer.handle_timeout(now);
        self.promises.handle_timeout(now);
        self.wake();
    }

    /// Returns the next event: a missed deadline, or a lost manual liveliness.
    pub fn poll_event(&mut self) -> Option<Event> {
        let id = self.writer.id;
        if core::mem::take(&mut self.promises.deadline_missed) {
            return Some(Event::DeadlineMissed { local: id });
        }
        core::mem::take(&mut self.promises.liveliness_lost).then_some(Event::LivelinessLost { writer: id })
    }

    /// Ends the writer: it holds and sends nothing, and returns written samples.
    pub fn close(&mut self) {
        self.closed = true;
        self.writer = Writer::new(self.writer.id, self.writer.qos, 1);
        self.promises = Promises::default();
        self.not_before = None;
        self.has_pending = false;
    }
}
