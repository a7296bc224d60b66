//! Position of a reader in its writer's samples, and evidence against it.
//!
//! The first number of a HEARTBEAT, or a GAP, moves the position. The skipped range is a [`Jump`] until further
//! datagrams confirm it. Until then it is not acknowledged, so that the writer still holds it, and a sample of that
//! range reverts the jump. A run of HEARTBEATs that end before the position also reverts it; a writer that has
//! restarted with the same GUID is followed in the same manner.

mod jumps;

use super::WriterProxy;
use super::jump::Jump;
use super::recent::RecentSamples;
use crate::evidence::{Evidence, QUIET, Verdict};
use crate::wire::{Gap, Heartbeat, SequenceNumber};
use core::ops::Range;
use core::time::Duration;
use runnel_core::time::Instant;

/// Maximum distance of a sample from earlier ones at which it proves the writer's progress by itself.
const WINDOW: u32 = 4096;

/// Maximum number of consecutive heartbeat requests: first at short intervals, then at longer ones, since the writer
/// may be unreachable.
const FAST_PROBES: u32 = 20;
const MAX_PROBES: u32 = 80;
const SLOW_PROBE_PAUSE: Duration = Duration::from_secs(1);

/// Position of a reader, and evidence against it.
#[derive(Debug, Default)]
pub(super) struct Position {
    /// Evidence against the next number, and against the writer's last one.
    next: Evidence,
    last: Evidence,
    jump: Option<Jump>,
    /// The first announced number. A discovery writer never announces an earlier one, unless this was forged.
    first: SequenceNumber,
    /// The last number that samples have shown, and the one before `known_at`.
    known: SequenceNumber,
    known_at: Instant,
    known_before: SequenceNumber,
    /// When a discovery sample arrived that no HEARTBEAT has confirmed since.
    unproved: Option<Instant>,
    /// The lowest number that contradicts the position.
    contested: Option<SequenceNumber>,
    /// The writer's counts have restarted.
    counts_restarted: bool,
    /// A HEARTBEAT is to be requested, and when it is requested again.
    pub(super) wants_heartbeat: bool,
    pub(super) probe_at: Option<Instant>,
    probes: u32,
    pub(super) recent: RecentSamples,
    /// The next number and time of best-effort samples that do not fit the position but follow each other.
    pub(super) line: Option<(SequenceNumber, Instant)>,
    corrections: u32,
    /// Losses of jumps that are now confirmed.
    lost: u64,
    /// All samples of the writer are being read again.
    rereads: bool,
}

impl Position {
    /// Returns the unconfirmed jump of a writer that is unmatched, except its first position.
    pub(super) fn jump_to_resume(&self) -> Option<Jump> {
        self.jump.filter(|jump| !jump.is_first).map(Jump::without_gap)
    }

    /// Records a GAP, which may confirm an earlier one.
    pub(super) fn note_gap(&mut self, now: Instant, gap: &Gap) {
        if let Some(jump) = &mut self.jump {
            jump.note_gap(now, gap);
        }
    }

    /// Returns the range of an unconfirmed GAP that the writer is to be asked for, if acknowledgements begin there, and
    /// records that it is asked.
    pub(super) fn ask_for_gap(&mut self, base: SequenceNumber) -> Option<Range<SequenceNumber>> {
        let jump = self.jump.as_mut().filter(|jump| jump.from == base)?;
        let range = jump.range_to_ask()?;
        jump.is_asked = true;
        Some(range)
    }

    /// Restores the jump of a writer that is matched again.
    pub(super) fn resume(&mut self, jump: Option<Jump>) {
        self.jump = jump;
    }

    /// Returns the last number that samples of earlier datagrams have shown.
    fn known_before(&self, now: Instant) -> SequenceNumber {
        if now > self.known_at { self.known } else { self.known_before }
    }

    pub(super) fn note_known(&mut self, now: Instant, number: SequenceNumber) {
        if self.known != SequenceNumber::ZERO && number.distance_from(self.known) > WINDOW {
            return;
        }
        if now > self.known_at {
            (self.known_before, self.known_at) = (self.known, now);
        }
        self.known = self.known.max(number);
    }

    /// Returns when the last sample arrived.
    pub(super) fn latest(&self) -> Instant {
        self.known_at
    }

    /// Returns whether the position is contradicted.
    pub(super) fn is_contested(&self) -> bool {
        self.contested.is_some()
    }

    /// Records a datagram that agrees with the position.
    pub(super) fn confirm(&mut self, now: Instant) {
        self.next.confirm(now);
        (self.probe_at, self.probes, self.contested) = (None, 0, None);
        let Some(jump) = &mut self.jump else { return };
        if jump.confirm(now) {
            self.lost += jump.lost;
            self.jump = None;
        } else if jump.is_doubtful {
            self.probe_at = Some(now + QUIET / 2);
        }
    }

    /// Records a discovery sample as proof of the writer's progress; an earlier HEARTBEAT may have been forged together
    /// with it.
    pub(super) fn note_discovery_sample(&mut self, now: Instant) {
        self.unproved = Some(now);
        self.probe_at = Some(now + QUIET);
    }

    /// Records a HEARTBEAT that agrees. If it came with a discovery sample, a separate one must confirm it.
    fn confirm_by_heartbeat(&mut self, now: Instant) {
        self.confirm(now);
        match self.unproved {
            Some(at) if at == now => self.probe_at = Some(now + QUIET),
            _ => self.unproved = None,
        }
    }

    /// Defers losses announced by a HEARTBEAT: an implausible number counts only when the jump is confirmed. Returns
    /// those that count now.
    pub(super) fn defer_lost(&mut self, lost: u64) -> u64 {
        let is_unlikely = lost > u64::from(WINDOW);
        let Some(jump) = self.jump.as_mut().filter(|jump| jump.is_doubtful && is_unlikely) else {
            return lost;
        };
        jump.lost += lost;
        0
    }

    /// Returns and clears the losses that count now.
    pub(super) fn take_lost(&mut self) -> u64 {
        core::mem::take(&mut self.lost)
    }

    /// Records the last number of a HEARTBEAT.
    pub(super) fn note_announced(&mut self, now: Instant, last: SequenceNumber) {
        if last.distance_from(self.known) <= WINDOW {
            self.note_known(now, last);
        }
    }

    /// Records that samples go to the user.
    pub(super) fn note_delivered(&mut self) {
        self.jump.iter_mut().for_each(|jump| jump.delivered = true);
    }

    /// Returns whether samples have arrived, but none for a while.
    pub(super) fn is_quiet(&self, now: Instant) -> bool {
        self.next.is_quiet(now) && self.next.was_confirmed()
    }

    /// Returns whether no sample has arrived since the writer was matched again.
    pub(super) fn is_unconfirmed(&self) -> bool {
        !self.next.was_confirmed()
    }

    pub(super) fn contradict(&mut self, now: Instant, number: SequenceNumber) -> Verdict {
        self.next.contradict(now, number.0.cast_unsigned())
    }

    pub(super) fn begin_run(&mut self) {
        self.next.begin_run();
    }

    pub(super) fn correct(&mut self) {
        self.corrections += 1;
    }
}

impl WriterProxy {
    /// Returns and clears the number of corrections of forged or outdated state.
    pub fn take_corrections(&mut self) -> u32 {
        core::mem::take(&mut self.position.corrections) + self.fragments.take_corrections()
    }

    /// Returns and clears whether a complete re-read has begun.
    pub fn take_rereads(&mut self) -> bool {
        core::mem::take(&mut self.position.rereads)
    }

    /// Requests a HEARTBEAT.
    pub fn probe(&mut self, now: Instant) {
        if !self.spec.reliable {
            return;
        }
        (self.position.wants_heartbeat, self.is_acknack_due) = (true, true);
        let pause = if self.position.probes < FAST_PROBES { QUIET } else { SLOW_PROBE_PAUSE };
        self.position.probe_at = Some(now + pause);
        self.position.probes = self.position.probes.saturating_add(1);
    }

    pub(super) fn probe_later(&mut self, now: Instant) {
        self.position.probe_at = self.position.probe_at.or(Some(now + QUIET));
    }

    /// Requests a HEARTBEAT again if due, up to a limit.
    pub(super) fn probe_if_due(&mut self, now: Instant) {
        if self.position.probe_at.is_none_or(|at| at > now) {
            return;
        }
        self.position.probe_at = None;
        if self.position.probes < MAX_PROBES {
            self.probe(now);
        }
    }

    /// Returns whether too few datagrams have confirmed the position. A first position at number 1 skips nothing.
    pub fn is_in_doubt(&self) -> bool {
        self.position.jump.is_some_and(|jump| !jump.is_first || self.position.first > jump.from)
    }

    /// Returns the base of acknowledgements: neither beyond an unconfirmed jump, nor beyond a contradiction.
    pub(super) fn acknowledgeable(&self) -> SequenceNumber {
        let jump = self.position.jump.filter(|jump| jump.is_doubtful).map(|jump| jump.from);
        jump.into_iter().chain(self.position.contested).fold(self.next, SequenceNumber::min)
    }

    /// Records that the writer's counts have restarted: it may have restarted itself.
    pub(super) fn note_counts_restarted(&mut self) {
        self.position.counts_restarted = true;
        self.position.correct();
    }

    /// Sets the first position, or the first since the writer was matched again after `resume_at`. It is accepted for any
    /// number, and is a jump like any other: only this datagram has shown it.
    pub(super) fn begin_at(
        &mut self,
        now: Instant,
        first: SequenceNumber,
        resume_at: Option<SequenceNumber>,
    ) {
        let before = self.next;
        self.has_first_heartbeat = true;
        // After many unanswered requests, the retry interval would be long.
        self.retry.stop();
        self.advance_to(first.max(resume_at.unwrap_or(before)));
        self.position.first = first;
        match resume_at {
            Some(resume_at) if self.next == resume_at => {}
            Some(resume_at) => self.note_jump(now, resume_at, self.next),
            None => {
                self.position.jump = Some(Jump::of_first_position(now, before));
                self.position.known = self.position.known.max(self.next.previous());
            }
        }
    }

    /// Handles a sample from before the position: either another reader requested it, or the writer has restarted.
    pub(super) fn suspect(&mut self, now: Instant, number: SequenceNumber) {
        if self.can_revert() && self.position.is_quiet(now) {
            self.contest(number);
            if self.position.probe_at.is_none() {
                self.probe(now);
            }
        } else if self.position.jump.is_some() {
            self.probe_later(now);
        }
    }

    fn contest(&mut self, number: SequenceNumber) {
        let contested = self.position.contested.map_or(number, |other| other.min(number));
        self.position.contested = Some(contested);
    }

    /// Returns whether the position may move back. A Runnel writer never restarts with the same GUID; others may.
    fn can_revert(&self) -> bool {
        let is_builtin = self.spec.guid.entity.is_builtin();
        let may_have_restarted = !self.has_not_restarted() || is_builtin;
        !self.has_alternate_path && (may_have_restarted || self.position.jump.is_some())
    }

    /// Returns whether the writer is known not to have restarted.
    pub(super) fn has_not_restarted(&self) -> bool {
        self.has_unique_guid() && !self.position.counts_restarted
    }

    /// Returns false if a HEARTBEAT ends before the position, or begins before the first number of discovery; it then
    /// counts as evidence.
    pub(super) fn check_heartbeat(&mut self, now: Instant, heartbeat: &Heartbeat) -> bool {
        let is_before_first = heartbeat.first < self.position.first && self.spec.guid.entity.is_builtin();
        if heartbeat.last.next() >= self.next && !is_before_first {
            self.position.confirm_by_heartbeat(now);
            return true;
        }
        if !self.can_revert() {
            return true;
        }
        self.contest(heartbeat.first);
        match self.position.next.contradict(now, heartbeat.count.into()) {
            Verdict::Overtaken => self.probe_later(now),
            Verdict::Copy => {}
            Verdict::Contested => self.probe(now),
            Verdict::Restart => self.revert(now, heartbeat),
        }
        false
    }

    /// Moves back to before a jump, or to the writer's samples if it has restarted. Discovery is read again completely.
    fn revert(&mut self, now: Instant, heartbeat: &Heartbeat) {
        let is_builtin = self.spec.guid.entity.is_builtin();
        let jump = self.position.jump.take().filter(|jump| jump.from <= heartbeat.last.next());
        let may_have_restarted = !self.has_not_restarted();
        // A restarted writer must still send what its predecessor has; no writer was sent acknowledgements of samples
        // that it does not have.
        let most = if self.position.counts_restarted { SequenceNumber::ZERO } else { heartbeat.last.next() };
        self.acknowledged_before = self.acknowledged_before.min(most);
        match jump.map(|jump| jump.from).filter(|_| !is_builtin) {
            Some(from) if from >= heartbeat.first => self.return_to(from),
            None if !may_have_restarted && !is_builtin => return,
            _ => self.restart(heartbeat.first),
        }
        self.last = heartbeat.last.max(self.next.previous());
        self.position.correct();
        self.position.confirm(now);
        self.note_missing();
        self.is_acknack_due = true;
    }

    fn restart(&mut self, first: SequenceNumber) {
        self.held.clear();
        self.fragments.forget_all();
        (self.resume_at, self.position.counts_restarted) = (None, false);
        (self.lost_before, self.skipped_before) = (SequenceNumber::ZERO, None);
        self.position.recent = RecentSamples::default();
        self.return_to(first);
        self.position.first = first;
        self.position.known = self.next.previous();
        self.position.rereads = true;
    }

    fn return_to(&mut self, next: SequenceNumber) {
        (self.next, self.complete_up_to, self.is_full) = (next, next.previous(), false);
        self.lost_before = self.lost_before.min(next);
        self.gaps.clear();
        self.position.contested = None;
        self.retry.return_to(next.previous());
        self.extend_whole();
    }

    /// Restarts discovery if another sample with the same number arrived: one of them was forged.
    pub(super) fn reread_if_other(&mut self, now: Instant, number: SequenceNumber, digest: u32) {
        if self.spec.guid.entity.is_builtin() && self.position.recent.has_other(number, digest) {
            self.read_again(now);
            self.position.correct();
        }
    }

    /// Reads all samples of a discovery writer again.
    pub fn read_again(&mut self, now: Instant) {
        self.restart(SequenceNumber::FIRST);
        (self.has_first_heartbeat, self.last) = (false, SequenceNumber::ZERO);
        self.probe(now);
    }

    /// Sets the writer's last number from a HEARTBEAT. A lower one may have been overtaken by samples, unless it is far
    /// lower.
    pub(super) fn update_last(&mut self, now: Instant, heartbeat: &Heartbeat) {
        let ahead = self.last.distance_from(heartbeat.last);
        if ahead == 0 {
            self.position.last.confirm(now);
            self.last = heartbeat.last;
            return;
        }
        if self.is_receiving_sample_after(now, heartbeat.last) {
            return;
        }
        let verdict = self.position.last.contradict(now, heartbeat.count.into());
        if ahead > WINDOW || verdict == Verdict::Restart {
            self.last = heartbeat.last.max(self.next.previous());
            self.drop_after(self.last);
            self.retry.searched_up_to = self.retry.searched_up_to.min(self.last);
            self.retry.up_to = self.retry.up_to.min(self.last);
            self.position.correct();
        }
    }
}
