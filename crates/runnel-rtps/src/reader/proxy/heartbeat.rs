//! HEARTBEATs and HEARTBEAT_FRAGs of a writer.

use super::WriterProxy;
use crate::count::CountVerdict;
use crate::wire::{EntityId, Heartbeat, HeartbeatFrag, SequenceNumber};
use runnel_core::time::Instant;

impl WriterProxy {
    /// Handles a HEARTBEAT.
    pub fn handle_heartbeat(&mut self, now: Instant, heartbeat: &Heartbeat) {
        if !self.spec.reliable
            || self.is_of_held_reader(heartbeat)
            || !self.is_addressed(now, heartbeat.reader)
            || !self.is_count_accepted(now, heartbeat)
        {
            return;
        }
        self.confirm_repeated_gap(now);
        if heartbeat.reader != EntityId::UNKNOWN {
            self.pause.note_own_heartbeat();
        }
        if !self.has_first_heartbeat {
            self.begin_by_heartbeat(now, heartbeat);
        } else if !self.check_heartbeat(now, heartbeat) {
            return;
        } else if heartbeat.first > self.next {
            self.note_jump(now, self.next, heartbeat.first);
            let before = self.lost;
            self.lose_before(heartbeat.first);
            self.lost = before + self.position.defer_lost(self.lost - before);
        }
        self.position.note_announced(now, heartbeat.last);
        self.update_last(now, heartbeat);
        self.skip_unrepeated();
        self.note_missing();
        self.is_acknack_due |= !heartbeat.is_final;
        if self.is_missing_something() && self.retry.at.is_none_or(|at| at <= now) {
            self.is_acknack_due = true;
        }
    }

    /// Returns whether a HEARTBEAT only asserts the liveliness of a writer that holds this reader.
    fn is_of_held_reader(&self, heartbeat: &Heartbeat) -> bool {
        heartbeat.liveliness && heartbeat.last == SequenceNumber::ZERO && self.has_unique_guid()
    }

    /// Handles the first HEARTBEAT of a writer, or the first since it was matched again.
    fn begin_by_heartbeat(&mut self, now: Instant, heartbeat: &Heartbeat) {
        let has_reached = |resume_at: &SequenceNumber| *resume_at <= heartbeat.last.next();
        // A writer with fewer samples than before is another one with the same GUID. Runnel's writers announce only the
        // samples that they have sent, so the HEARTBEAT may have been overtaken, or the former position was forged: it
        // is not confirmed, and the writer is asked.
        let resume_at = self.resume_at.filter(|resume_at| self.has_not_restarted() || has_reached(resume_at));
        match resume_at.as_ref().is_none_or(has_reached) {
            true => self.position.confirm(now),
            false => self.probe(now),
        }
        let first = self.first_position(heartbeat);
        self.begin_at(now, first, resume_at);
        if first < heartbeat.first {
            self.lose_before(heartbeat.first);
        }
    }

    /// Returns false if a HEARTBEAT was overtaken, or has an implausible count that must be confirmed.
    fn is_count_accepted(&mut self, now: Instant, heartbeat: &Heartbeat) -> bool {
        let verdict = self.heartbeats.check(now, heartbeat.count);
        match verdict {
            CountVerdict::Fresh => {}
            CountVerdict::Stale => {}
            CountVerdict::Overtaken => self.probe_later(now),
            CountVerdict::Contested => self.probe(now),
            CountVerdict::Restarted => self.note_counts_restarted(),
        }
        verdict.is_accepted()
    }

    /// Handles a HEARTBEAT_FRAG.
    pub fn handle_heartbeat_frag(&mut self, now: Instant, heartbeat: &HeartbeatFrag) {
        if !self.spec.reliable || !self.fragment_heartbeats.check(now, heartbeat.count).is_accepted() {
            return;
        }
        if heartbeat.number >= self.next {
            self.last = self.last.max(heartbeat.number);
            self.fragments.extend_known(heartbeat.number, heartbeat.last_fragment);
            self.note_missing();
        }
    }
}
