//! A writer of the user's: what it holds, sends and waits for, apart from the participant.
//!
//! A participant makes it and then knows of it only which readers it has matched. What the participant finds out for the
//! writer it gives as updates, in order; whoever owns both hands them on. Nothing else goes between the two: a thread that
//! publishes needs the writer alone, whatever the participant is at.

use super::promises::Promises;
use super::update::{Change, WriterUpdate};
use super::{Composed, Full, Writer};
use crate::event::Event;
use crate::lend::Lend;
use crate::outgoing::Outgoing;
use crate::wire::{EntityId, Guid, GuidPrefix, SequenceNumber, Timestamp};
use alloc::vec::Vec;
use runnel_core::qos::QoS;
use runnel_core::time::Instant;

/// A writer of the user's, which [`Participant::create_writer`](crate::Participant::create_writer) gives.
///
/// Its methods are of four kinds: getters, mutators, `handle_*(now, ..)` and `poll_*`. After each of the others its owner takes
/// what [`UserWriter::take_transmit`] and [`UserWriter::poll_event`] give, and calls [`UserWriter::handle_timeout`] when
/// [`UserWriter::poll_timeout`] says so.
#[derive(Debug)]
pub struct UserWriter<P> {
    /// Its participant.
    participant: GuidPrefix,
    writer: Writer<P>,
    promises: Promises,
    /// Fragments wait until then.
    not_before: Option<Instant>,
    /// It may have something that may be sent now.
    in_line: bool,
    closed: bool,
}

/// Where a reader was suspended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Suspended {
    /// The first sample that is not known to have arrived by the network.
    pub first_unacknowledged: SequenceNumber,
    /// The first sample of the alternate path.
    pub next: SequenceNumber,
}

impl<P: Lend> UserWriter<P> {
    pub(crate) fn new(guid: Guid, qos: QoS, (samples, bytes): (usize, usize)) -> Self {
        Self {
            participant: guid.prefix,
            writer: Writer::new(guid.entity, qos, samples).within(bytes),
            promises: Promises::of(&qos),
            not_before: None,
            in_line: false,
            closed: false,
        }
    }

    /// Its name within its participant.
    pub fn id(&self) -> EntityId {
        self.writer.id
    }

    /// Writes a sample. Gives one back that made room for it, or this one if nobody is to get it.
    ///
    /// # Errors
    /// When the writer keeps all and a reader does not keep pace.
    pub fn write(&mut self, now: Instant, stamp: Timestamp, sample: P) -> Result<Option<P>, Full> {
        if self.closed {
            return Ok(Some(sample));
        }
        let displaced = self.writer.write(now, stamp, sample)?;
        self.writer.expire(now);
        self.promises.note_sample(now);
        self.wake();
        Ok(displaced)
    }

    /// The reader that stands in the way of another sample of a writer that keeps all.
    pub fn full(&self) -> Option<Full> {
        self.writer.full()
    }

    /// How many samples some reader has yet to acknowledge, or to be sent.
    pub fn unacknowledged(&self) -> u32 {
        self.writer.unacknowledged()
    }

    /// The readers that have yet to acknowledge samples, or to be sent them, and how many.
    pub fn owing(&self) -> Vec<(Guid, u32)> {
        self.writer.owing()
    }

    /// How many samples made room for others before every reader had acknowledged them.
    pub fn overwritten(&self) -> u64 {
        self.writer.overwritten()
    }

    /// How often readers have been matched or left.
    pub fn reader_changes(&self) -> u32 {
        self.writer.changes()
    }

    /// The number of the sample that was written last. `None` if the writer has ended.
    pub fn last_number(&self) -> Option<SequenceNumber> {
        (!self.closed).then(|| self.writer.history().last())
    }

    /// Whether a matched reader is reliable.
    pub fn is_reliable(&self, reader: Guid) -> bool {
        self.writer.readers().get(reader).is_some_and(|proxy| proxy.is_reliable())
    }

    /// Whether it holds samples for readers that come later.
    pub fn keeps_for_late_joiners(&self) -> bool {
        self.writer.is_latching()
    }

    /// The user says that the writer lives.
    pub fn assert_liveliness(&mut self, now: Instant) {
        self.writer.assert_liveliness();
        self.promises.note_alive(now);
        self.wake();
    }

    /// The samples that a matched reader is not known to have, as far as they are held and not for an alternate path.
    pub fn unacknowledged_of(&self, reader: Guid) -> impl Iterator<Item = (SequenceNumber, &P)> {
        self.writer.unacknowledged_of(reader)
    }

    /// A reader that was left does not go on where it was when it is matched again.
    pub fn forget_left(&mut self, reader: Guid) {
        self.writer.forget_left(reader);
    }

    /// A reader gets nothing, of what is unacknowledged neither, until [`UserWriter::resume`] says from where on it does.
    pub fn hold(&mut self, reader: Guid) {
        self.writer.hold(reader);
    }

    /// Samples that are written from now on reach a reader by an alternate path, whose owner sees to their lifespan. `None` if
    /// the two are not matched. A writer all of whose readers are suspended holds no new sample, unless it is for late joiners.
    pub fn suspend(&mut self, reader: Guid) -> Option<Suspended> {
        let (first_unacknowledged, next) = self.writer.suspend(reader)?;
        Some(Suspended { first_unacknowledged, next })
    }

    /// The alternate path has ended. What did not arrive by it goes by the network from now on: `samples`, in the order of their
    /// numbers and each with the time when it was written, and what is written from now on. All samples from the suspension
    /// to before `from` have arrived, as far as is known.
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

    /// The participant has found something out for this writer. How often it was corrected by that what was believed of the
    /// reader concerned, which the participant is to be told by
    /// [`Participant::reader_corrected`](crate::Participant::reader_corrected).
    pub fn handle_update(&mut self, now: Instant, update: WriterUpdate) -> u32 {
        if self.closed {
            return 0;
        }
        let wakes = match update.change {
            Change::Matched(spec) => {
                self.writer.join(spec);
                true
            }
            Change::Unmatched(reader) => {
                self.writer.leave(reader);
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

    /// It may have something to send.
    fn wake(&mut self) {
        self.in_line |= !self.writer.readers().is_empty();
    }

    /// True if it may have something that [`UserWriter::take_transmit`] has not given yet, though that may be sent at once.
    pub fn is_in_line(&self) -> bool {
        self.in_line
    }

    /// Puts together the next datagram to be sent. False if there is none that may be sent now: [`UserWriter::poll_timeout`]
    /// says when there is more.
    pub fn take_transmit(&mut self, now: Instant, into: &mut Outgoing<P>) -> bool {
        if !self.in_line {
            return false;
        }
        let composed = self.writer.compose(now, self.participant, &mut into.0);
        self.in_line = composed == Composed::Ready;
        self.not_before = match composed {
            Composed::NotBefore(at) => Some(at),
            Composed::Ready | Composed::Nothing => None,
        };
        self.in_line
    }

    /// When [`UserWriter::handle_timeout`] is to be called.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let all = [self.writer.timeout(), self.writer.expiry(), self.not_before, self.promises.due()];
        all.into_iter().flatten().min()
    }

    /// Does what is due.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.not_before.take_if(|at| *at <= now);
        self.writer.expire(now);
        self.writer.handle_timeout(now);
        self.promises.handle_timeout(now);
        self.wake();
    }

    /// The next event: a deadline that was missed, or that the user did not say in time that the writer lives.
    pub fn poll_event(&mut self) -> Option<Event> {
        let id = self.writer.id;
        if core::mem::take(&mut self.promises.deadline_missed) {
            return Some(Event::DeadlineMissed { local: id });
        }
        core::mem::take(&mut self.promises.liveliness_lost).then_some(Event::LivelinessLost { writer: id })
    }

    /// It has ended: it holds and sends nothing any more, and gives back what is written.
    pub fn close(&mut self) {
        self.closed = true;
        self.writer = Writer::new(self.writer.id, self.writer.qos, 1);
        self.promises = Promises::default();
        self.not_before = None;
        self.in_line = false;
    }
}
