//! Heartbeats of a reader: when one is due, and its content.

use super::ReaderProxy;
use crate::datagram::Datagram;
use crate::history::History;
use crate::lend::Lend;
use crate::wire::{EntityId, Heartbeat};
use runnel_core::time::Instant;

impl ReaderProxy {
    /// Returns whether to append a heartbeat, also with samples in this datagram.
    pub(super) fn is_heartbeat_due<B>(
        &self,
        has_content: bool,
        writer: EntityId,
        history: &History<B>,
    ) -> bool {
        let is_due = self.spec.reliable
            && (has_content || self.heartbeat)
            && !self.has_more_discovery(writer, history)
            && !self.has_more_fragments_for_slow_reader(has_content);
        is_due || self.liveliness
    }

    /// Returns whether more discovery samples follow immediately: only the last datagram holds a heartbeat, so that the
    /// participant is complete when it has received that one, and not before.
    fn has_more_discovery<B>(&self, writer: EntityId, history: &History<B>) -> bool {
        let follows = self.next <= history.last() && !self.is_window_full();
        writer.is_builtin() && follows && !self.flight.is_probe_due()
    }

    /// Returns whether more fragments or repairs follow for a reader that asks slowly: an earlier heartbeat would make
    /// it request a part, and the rest only after its delay. Not for the first sample: Cyclone DDS begins after the
    /// first heartbeat that it receives, and the one before that sample may be lost.
    fn has_more_fragments_for_slow_reader(&self, has_content: bool) -> bool {
        let follows = self.fragment > 1 || !self.requested_fragments.is_empty();
        has_content && self.spec.requests_slowly && follows && self.next > self.start
    }

    /// Appends a heartbeat, and requests an acknowledgement if one is needed.
    pub(super) fn fill_heartbeat<B: Lend>(
        &mut self,
        now: Instant,
        (reader, writer): (EntityId, EntityId),
        history: &History<B>,
        heartbeats: &mut u32,
        out: &mut Datagram<B>,
    ) {
        // Fast DDS treats only a final heartbeat as a liveliness assertion: a request follows later.
        let has_begun = self.has_begun || !history.is_addressed();
        let is_asked = self.heartbeat || self.flight.is_probe_due() || !has_begun;
        let must_answer = !self.liveliness && is_asked;
        if must_answer {
            self.flight.ask(now, self.next.previous());
        }
        *heartbeats = heartbeats.wrapping_add(1);
        let heartbeat = Heartbeat {
            reader,
            writer,
            first: self.numbered(self.first_announced(history)),
            last: self.numbered(match has_begun {
                _ if writer.is_builtin() => history.last(),
                true => self.next.previous(),
                false => self.acked,
            }),
            count: *heartbeats,
            is_final: !must_answer,
            liveliness: self.liveliness,
        };
        heartbeat.emit(out.out());
        self.heartbeat &= self.liveliness;
        self.liveliness = false;
    }
}
