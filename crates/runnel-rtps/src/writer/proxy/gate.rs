//! Gate of a reader: whether it is sent samples, and with which numbers. Its participant may not have proved its
//! address.

use super::{FIRST_REMINDER, ReaderProxy, ReaderSpec};
use crate::datagram::Datagram;
use crate::history::History;
use crate::lend::Lend;
use crate::wire::{AckNack, EntityId, Heartbeat, NackFrag, SequenceNumber};
use runnel_core::time::Instant;

/// Whether a reader is sent samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gate {
    Open,
    /// Samples are held for it.
    Waiting,
    /// It is sent nothing, and nothing is held for it.
    Closed,
}

impl ReaderSpec {
    /// Returns the announced sequence number of a sample.
    pub(super) fn numbered(&self, own: SequenceNumber) -> SequenceNumber {
        SequenceNumber(own.0.saturating_add(self.number_offset))
    }
}

impl ReaderProxy {
    pub(super) fn numbered(&self, own: SequenceNumber) -> SequenceNumber {
        self.spec.numbered(own)
    }

    pub(in crate::writer) fn is_open(&self) -> bool {
        self.spec.gate == Gate::Open
    }

    /// Returns whether new samples are not held for it.
    pub(in crate::writer) fn is_passed_over(&self) -> bool {
        self.is_suspended() || self.spec.gate == Gate::Closed
    }

    /// Sets the gate. When it opens, held samples are sent.
    pub(in crate::writer) fn set_gate(&mut self, now: Instant, gate: Gate) {
        if self.spec.gate == gate {
            return;
        }
        self.spec.gate = gate;
        if gate == Gate::Open {
            self.heartbeat |= self.spec.reliable;
            (self.since, self.reminder_delay) = (now, FIRST_REMINDER);
        }
    }

    /// Schedules a request for an acknowledgement, whether or not it owes one.
    pub(in crate::writer) fn request_again(&mut self) {
        self.heartbeat |= self.spec.reliable;
    }

    /// Converts an acknowledgement to the writer's own numbers; `None` if it precedes the first one, as from a reader
    /// that does not know it: the heartbeat is sent again.
    pub(in crate::writer) fn own_acknowledgement(&mut self, ack: &AckNack) -> Option<AckNack> {
        if self.spec.number_offset == 0 {
            return Some(*ack);
        }
        let base = SequenceNumber(ack.missing.base.0.saturating_sub(self.spec.number_offset));
        if base < SequenceNumber::FIRST {
            self.heartbeat |= !ack.is_final;
            return None;
        }
        self.spec.needs_first_number = false;
        let mut own = *ack;
        own.missing.base = base;
        Some(own)
    }

    /// Returns the writer's own number of the sample of a NACK_FRAG.
    pub(super) fn own_number(&self, nack: &NackFrag) -> SequenceNumber {
        SequenceNumber(nack.number.0.saturating_sub(self.spec.number_offset))
    }

    /// Returns whether a sample is next for a reader that has acknowledged nothing and must know its first number.
    pub(super) fn is_first_number_due<B: Lend>(&self, history: &History<B>, out: &Datagram<B>) -> bool {
        let next = history.at_or_after(self.next).filter(|_| self.spec.needs_first_number);
        next.is_some_and(|change| self.is_short(change) && self.can_append(change, out) && !out.has_body())
    }

    /// Appends a heartbeat with the first number before the first sample, for a reader that has acknowledged nothing:
    /// some would treat it as a gap of millions that they scan.
    pub(super) fn fill_first_number<B: Lend>(
        &self,
        (reader, writer): (EntityId, EntityId),
        history: &History<B>,
        heartbeats: &mut u32,
        out: &mut Datagram<B>,
    ) {
        *heartbeats = heartbeats.wrapping_add(1);
        let first = self.numbered(self.first_announced(history));
        let (last, count) = (first.previous(), *heartbeats);
        let heartbeat = Heartbeat { reader, writer, first, last, count, is_final: true, liveliness: false };
        heartbeat.emit(out.out());
    }
}
