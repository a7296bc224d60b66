//! Pairs whose messages take an alternate path: memory that both processes share.

use runnel_core::time::Instant;
use runnel_delivery::PairId;
use runnel_rtps::Participant;
use runnel_rtps::wire::{EntityId, Guid, GuidPrefix, SequenceNumber};

use super::{ReceivedBatch, Rtps};
use crate::frame::Frame;
use crate::sync::lock;

/// A message that its reader has not received: its number, its write time if that matters, and its bytes.
pub(crate) type Returned = (u64, Option<Instant>, Frame);

/// The position at which a reader was suspended.
#[derive(Clone, Copy)]
pub(crate) struct Suspended {
    /// The first message that is not known to have arrived by RTPS.
    pub(crate) first_unacknowledged: u64,
    /// The first message of the alternate path.
    pub(crate) next: u64,
}

impl Rtps {
    /// The number of the next message that RTPS delivers to a reader of this process; `None` if unknown.
    pub(crate) fn next_due(&self, (reader, writer): (EntityId, Guid)) -> Option<u64> {
        lock(&self.core).participant.next_due(reader, writer).map(number)
    }

    /// The number before which RTPS delivers nothing more to a reader of this process, if known.
    pub(crate) fn passed_before(&self, (reader, writer): (EntityId, Guid)) -> Option<u64> {
        lock(&self.core).participant.passed_before(reader, writer).map(number)
    }

    /// The number of the last message that a writer has announced to a reader of this process; 0 if none.
    pub(crate) fn last_announced(&self, (reader, writer): (EntityId, Guid)) -> u64 {
        lock(&self.core).participant.last_announced(reader, writer).map_or(0, number)
    }

    /// Records that an alternate path has delivered the messages from `from` to before `to`.
    pub(crate) fn note_received(
        &self,
        pair: (EntityId, Guid),
        (from, to): (u64, u64),
        batch: &mut ReceivedBatch,
    ) {
        self.work(|participant, now| {
            participant.note_received(now, pair, sequence(from), sequence(to));
            batch.take(participant);
        });
    }

    /// A ROS 1 link carries a pair, or no longer does. While it does, RTPS keeps the pair's reliable samples and does not
    /// acknowledge them. Afterwards they are returned.
    pub(crate) fn set_paused(&self, pair: (EntityId, Guid), is_paused: bool) -> ReceivedBatch {
        self.work(|participant, now| {
            participant.set_paused(now, pair, is_paused);
            let mut batch = ReceivedBatch::default();
            batch.take(participant);
            batch
        })
    }

    /// Whether a reader of ours and its writer are both reliable.
    pub(crate) fn is_reliable_pair(&self, (reader, writer): (EntityId, Guid)) -> bool {
        lock(&self.core).participant.is_reliable_pair(reader, writer)
    }

    /// Whether the liveliness or the deadline of a writer is monitored.
    pub(crate) fn is_monitored(&self, (reader, writer): (EntityId, Guid)) -> bool {
        lock(&self.core).participant.is_monitored(reader, writer)
    }

    /// Whether a reader of this process keeps all, so that writers wait for its user.
    pub(crate) fn keeps_all(&self, reader: EntityId) -> bool {
        lock(&self.core).participant.keeps_all(reader)
    }

    /// Records that the user has got a message of a monitored writer over an alternate path.
    pub(crate) fn sample_passed(&self, (reader, writer): (EntityId, Guid)) {
        self.work(|participant, now| participant.sample_passed(now, reader, writer));
    }

    /// Sends a private message to one participant. It may be lost.
    pub(crate) fn send_vendor_message(&self, to: GuidPrefix, bytes: &[u8]) {
        self.work(|participant, _| participant.send_vendor_message(to, bytes));
    }
}

impl ReceivedBatch {
    /// Takes all samples and events of a participant.
    pub(super) fn take(&mut self, participant: &mut Participant) {
        self.samples.extend(std::iter::from_fn(|| participant.poll_sample()));
        self.events.extend(std::iter::from_fn(|| participant.poll_event()));
    }
}

/// The id of a pair in statements on shared links.
pub(crate) fn pair_id(writer: EntityId, reader: EntityId) -> PairId {
    PairId { writer: writer.number(), reader: reader.number() }
}

pub(crate) fn number(of: SequenceNumber) -> u64 {
    u64::try_from(of.0).unwrap_or_default()
}

pub(super) fn sequence(number: u64) -> SequenceNumber {
    SequenceNumber(i64::try_from(number).unwrap_or(i64::MAX))
}
