//! Handling of acknowledgements and requests of remote readers.

use super::Participant;
use super::receive::Context;
use crate::wire::{AckNack, NackFrag};
use crate::writer::Change;

impl Participant {
    pub(super) fn handle_acknowledgement(&mut self, context: &mut Context<'_>, ack: &AckNack) {
        let known = self.peers.get(context.source).filter(|peer| peer.is_known_source(context.from.ip()));
        let known = known.filter(|peer| !peer.is_proved());
        let may_try = known.is_some_and(|peer| !context.tried || !peer.is_guessable());
        if may_try && ack.writer.is_builtin() {
            context.tried = true;
            self.acknowledged_unproved(context.now, context.from, context.source, ack);
        }
        if !self.is_from_peer(context) {
            return;
        }
        let reader = context.source.with(ack.reader);
        self.restore_endpoint(context.now, reader);
        if !ack.writer.is_builtin() {
            return self.update_matched(ack.writer, reader, Change::Acknowledged(reader, *ack));
        }
        let Some(writer) = self.writers.get_mut(&ack.writer) else { return };
        let wants = writer.acknowledge(context.now, reader, ack);
        let corrections = writer.take_corrections(reader);
        self.complete_move_check(context.now, context.source);
        if wants {
            self.wake_discovery(context.source);
        }
        self.arm_discovery(context.source);
        self.reader_corrected(ack.writer, reader, corrections);
    }

    pub(super) fn handle_nack_fragments(&mut self, context: &Context<'_>, nack: &NackFrag) {
        let reader = context.source.with(nack.reader);
        if !nack.writer.is_builtin() {
            return self.update_matched(nack.writer, reader, Change::MissesFragments(reader, *nack));
        }
        let Some(writer) = self.writers.get_mut(&nack.writer) else { return };
        if writer.nack_fragments(context.now, reader, nack) {
            self.wake_discovery(context.source);
        }
    }
}
