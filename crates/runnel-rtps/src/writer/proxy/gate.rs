//! Whether a reader is sent samples, and by which numbers: its participant may have yet to prove its address.

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
    /// Samples wait for it.
    Waiting,
    /// It is sent nothing, and nothing is held for it.
    Closed,
}

impl ReaderSpec {
    /// The number by which the reader is told of a sample.
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

    /// True if what is written now is not for it.
    pub(in crate::writer) fn is_passed_over(&self) -> bool {
        self.is_suspended() || self.spec.gate == Gate::Closed
    }

    /// What was held back sets out if it is open now.
    pub(in crate::writer) fn set_gate(&mut self, now: Instant, gate: Gate) {
        if self.spec.gate == gate {
            return;
        }
        self.spec.gate = gate;
        if gate == Gate::Open {
            self.heartbeat |= self.spec.reliable;
            (self.since, self.patience) = (now, FIRST_REMINDER);
        }
    }

    /// It is to be asked what it has, whether or not it owes an acknowledgement.
    pub(in crate::writer) fn ask_again(&mut self) {
        self.heartbeat |= self.spec.reliable;
    }

    /// The acknowledgement in the writer's own numbers; `None` if it is of before the first, as from a reader that has not
    /// been told that: it is told again.
    pub(in crate::writer) fn in_own_numbers(&mut self, ack: &AckNack) -> Option<AckNack> {
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

    /// The number of the sample whose fragments are missing, as the writer has it.
    pub(super) fn own_number(&self, nack: &NackFrag) -> SequenceNumber {
        SequenceNumber(nack.number.0.saturating_sub(self.spec.number_offset))
    }

    /// True if a sample is about to be sent to a reader that has acknowledged nothing yet and must be told where it begins.
    pub(super) fn tells_first_number<B: Lend>(&self, history: &History<B>, out: &Datagram<B>) -> bool {
        let next = history.at_or_after(self.next).filter(|_| self.spec.needs_first_number);
        next.is_some_and(|change| self.is_short(change) && self.may_add(change, out) && !out.has_body())
    }

    /// Tells a reader that has not acknowledged anything where its numbers begin, before the first sample: some take it for a
    /// gap of millions that they look through.
    pub(super) fn fill_first_number<B: Lend>(
        &self,
        (reader, writer): (EntityId, EntityId),
        history: &History<B>,
        heartbeats: &mut u32,
        out: &mut Datagram<B>,
    ) {
        *heartbeats = heartbeats.wrapping_add(1);
        let first = self.numbered(self.first_told(history));
        let (last, count) = (first.previous(), *heartbeats);
        let heartbeat = Heartbeat { reader, writer, first, last, count, is_final: true, liveliness: false };
        heartbeat.emit(out.out());
    }
}
