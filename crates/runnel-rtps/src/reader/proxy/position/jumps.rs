//! Jumps of the position: their record, confirmation by a repeated GAP, and reversal.

use super::super::WriterProxy;
use super::super::jump::Jump;
use crate::evidence::QUIET;
use crate::wire::SequenceNumber;
use runnel_core::time::Instant;

impl WriterProxy {
    /// Records a jump from `from` to `end`. It must be confirmed, unless earlier samples have shown the writer's
    /// progress and none of the range has arrived.
    pub(in crate::reader::proxy) fn note_jump(
        &mut self,
        now: Instant,
        from: SequenceNumber,
        end: SequenceNumber,
    ) {
        let is_shown = end <= self.position.known_before(now).next();
        let has_begun = self.fragments.has_begun_before(end);
        if self.has_alternate_path || self.position.jump.is_some_and(|jump| !jump.is_first) {
            return;
        }
        let is_doubtful = !is_shown || has_begun;
        self.position.jump = Some(Jump::new(now, from, is_doubtful));
        if is_doubtful {
            self.position.probe_at = Some(now + QUIET);
        }
    }

    /// Records a jump because of a GAP: the writer can be asked whether the samples are irrelevant.
    pub(in crate::reader::proxy) fn note_gap_jump(
        &mut self,
        now: Instant,
        from: SequenceNumber,
        end: SequenceNumber,
    ) {
        self.note_jump(now, from, end);
        let is_user = !self.spec.guid.entity.is_builtin();
        let is_it = |jump: &&mut Jump| is_user && jump.from == from && !jump.is_first;
        if let Some(jump) = self.position.jump.as_mut().filter(is_it) {
            jump.gap_end = jump.gap_end.or(Some(end));
        }
    }

    /// Confirms the jump of a GAP that the writer has repeated in this datagram because it was asked: a copy of the
    /// first datagram would not have a new HEARTBEAT.
    pub(in crate::reader::proxy) fn confirm_repeated_gap(&mut self, now: Instant) {
        let is_repeated = |jump: &mut Jump| jump.is_doubtful && jump.repeated_at == Some(now);
        if let Some(jump) = self.position.jump.take_if(is_repeated) {
            self.position.lost += jump.lost;
            self.is_acknack_due = true;
        }
    }

    /// Reverts a jump when a skipped sample arrives, unless later ones have gone to the user. Returns whether it did.
    pub(in crate::reader::proxy) fn revert_jump(&mut self, now: Instant, number: SequenceNumber) -> bool {
        let jump = self.position.jump.take_if(|jump| number >= jump.from && !jump.delivered);
        let Some(jump) = jump else { return false };
        if jump.at + QUIET <= now {
            self.position.correct();
        }
        self.return_to(jump.from);
        true
    }
}
