//! Position of a reader in its writer's samples, and what contradicts it.
//!
//! A writer's word moves the position: the first number of a HEARTBEAT, or a GAP. What that skips is a [`Jump`] until further
//! datagrams confirm it. Until then it is not acknowledged, so that the writer still has it, and a sample that was said not
//! to come takes the jump back. A run of HEARTBEATs that end before the position takes it back as well; a writer that has
//! begun anew under its old name is followed that way.

use super::WriterProxy;
use super::jump::Jump;
use super::recent::RecentSamples;
use crate::evidence::{Evidence, QUIET, Verdict};
use crate::wire::{Heartbeat, SequenceNumber};
use core::time::Duration;
use runnel_core::time::Instant;

/// How far a sample may be ahead of those before it to show by itself that the writer has come so far.
const WINDOW: u32 = 4096;

/// How often in a row a writer is asked where it stands: so often at once, and then at longer pauses, since it may be cut off.
const FAST_PROBES: u32 = 20;
const MOST_PROBES: u32 = 80;
const PATIENT_PAUSE: Duration = Duration::from_secs(1);

/// See the module's documentation.
#[derive(Debug, Default)]
pub(super) struct Position {
    /// Against the next number, and against the last one that the writer has.
    next: Evidence,
    last: Evidence,
    jump: Option<Jump>,
    /// The first number that the writer has named. One of discovery never names an earlier one, unless this was forged.
    first: SequenceNumber,
    /// The last number that samples have shown, and that those before `known_at` had.
    known: SequenceNumber,
    known_at: Instant,
    known_before: SequenceNumber,
    /// When a sample of discovery came that no HEARTBEAT has confirmed since.
    unproved: Option<Instant>,
    /// The lowest number of what contradicts the position.
    contested: Option<SequenceNumber>,
    /// The writer's counts have begun anew.
    counts_restarted: bool,
    /// The writer is to be asked for a HEARTBEAT, and when it is asked again.
    pub(super) wants_heartbeat: bool,
    pub(super) probe_at: Option<Instant>,
    probes: u32,
    pub(super) recent: RecentSamples,
    /// Where a writer goes on whose samples come once, as some that do not fit the position show, and when they came.
    pub(super) line: Option<(SequenceNumber, Instant)>,
    corrections: u32,
    /// What jumps that are confirmed now have lost.
    lost: u64,
    /// Everything that the writer has is being read again.
    rereads: bool,
}

impl Position {
    /// What was skipped, and is in doubt, when the writer is left: what came before the first position does not concern it then.
    pub(super) fn jump_to_resume(&self) -> Option<Jump> {
        self.jump.filter(|jump| !jump.is_first)
    }

    /// A writer is found again that was left after a jump.
    pub(super) fn resume(&mut self, jump: Option<Jump>) {
        self.jump = jump;
    }

    /// The last number that samples of earlier datagrams have shown.
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

    /// When samples came last.
    pub(super) fn latest(&self) -> Instant {
        self.known_at
    }

    /// True if the position is in question.
    pub(super) fn is_contested(&self) -> bool {
        self.contested.is_some()
    }

    /// A datagram agrees with the position.
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

    /// A sample of discovery shows that the writer has come so far; what it had said before may have been forged along with it.
    pub(super) fn rest_on_sample(&mut self, now: Instant) {
        self.unproved = Some(now);
        self.probe_at = Some(now + QUIET);
    }

    /// A HEARTBEAT agrees. If it came along with a sample of discovery, one that comes by itself must do so as well.
    fn confirm_by_heartbeat(&mut self, now: Instant) {
        self.confirm(now);
        match self.unproved {
            Some(at) if at == now => self.probe_at = Some(now + QUIET),
            _ => self.unproved = None,
        }
    }

    /// Samples are lost by what a HEARTBEAT says. More than a true writer is likely to have dropped count once the jump is
    /// confirmed. Gives those that count now.
    pub(super) fn hold_back_lost(&mut self, lost: u64) -> u64 {
        let is_unlikely = lost > u64::from(WINDOW);
        let Some(jump) = self.jump.as_mut().filter(|jump| jump.is_doubtful && is_unlikely) else {
            return lost;
        };
        jump.lost += lost;
        0
    }

    /// Samples that count as lost now.
    pub(super) fn take_lost(&mut self) -> u64 {
        core::mem::take(&mut self.lost)
    }

    /// How far a HEARTBEAT says that the writer is.
    pub(super) fn note_told(&mut self, now: Instant, last: SequenceNumber) {
        if last.distance_from(self.known) <= WINDOW {
            self.note_known(now, last);
        }
    }

    /// Samples go to the user.
    pub(super) fn note_delivered(&mut self) {
        self.jump.iter_mut().for_each(|jump| jump.delivered = true);
    }

    /// True if samples have come of which none did for a while.
    pub(super) fn is_quiet(&self, now: Instant) -> bool {
        self.next.is_quiet(now) && self.next.was_confirmed()
    }

    /// True if no sample has come since the writer was found again.
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
    /// How often forged or outdated state was corrected since this was last asked.
    pub fn take_corrections(&mut self) -> u32 {
        core::mem::take(&mut self.position.corrections) + self.fragments.take_corrections()
    }

    /// True once everything is being read again that the writer has.
    pub fn take_rereads(&mut self) -> bool {
        core::mem::take(&mut self.position.rereads)
    }

    /// Asks the writer where it stands.
    pub fn probe(&mut self, now: Instant) {
        if !self.spec.reliable {
            return;
        }
        (self.position.wants_heartbeat, self.owes_answer) = (true, true);
        let pause = if self.position.probes < FAST_PROBES { QUIET } else { PATIENT_PAUSE };
        self.position.probe_at = Some(now + pause);
        self.position.probes = self.position.probes.saturating_add(1);
    }

    pub(super) fn probe_later(&mut self, now: Instant) {
        self.position.probe_at = self.position.probe_at.or(Some(now + QUIET));
    }

    /// It is time to ask again, unless that was in vain often enough.
    pub(super) fn probe_if_due(&mut self, now: Instant) {
        if self.position.probe_at.is_none_or(|at| at > now) {
            return;
        }
        self.position.probe_at = None;
        if self.position.probes < MOST_PROBES {
            self.probe(now);
        }
    }

    /// True if too few datagrams have shown where the writer stands.
    pub fn is_in_doubt(&self) -> bool {
        self.position.jump.is_some()
    }

    /// What an acknowledgement may say has come: neither what a jump has skipped, nor what contradicts the position.
    pub(super) fn acknowledgeable(&self) -> SequenceNumber {
        let jump = self.position.jump.filter(|jump| jump.is_doubtful).map(|jump| jump.from);
        jump.into_iter().chain(self.position.contested).fold(self.next, SequenceNumber::min)
    }

    /// The writer's counts have begun anew: it may have, too.
    pub(super) fn note_counts_restarted(&mut self) {
        self.position.counts_restarted = true;
        self.position.correct();
    }

    /// The writer says where it begins, for the first time or since it was found again after `had`. That is believed whatever
    /// the number, and is a jump as any other: nothing but this one datagram has shown it.
    pub(super) fn begin_at(&mut self, now: Instant, first: SequenceNumber, had: Option<SequenceNumber>) {
        let before = self.next;
        self.greeted = true;
        // It was asked in vain for so long that what is missing would wait for that pause.
        self.retry.stop();
        self.advance_to(first.max(had.unwrap_or(before)));
        self.position.first = first;
        match had {
            Some(had) if self.next == had => {}
            Some(had) => self.note_jump(now, had, self.next),
            None => {
                self.position.jump = Some(Jump::of_first_position(now, before));
                self.position.known = self.position.known.max(self.next.previous());
            }
        }
    }

    /// What is between `from` and `end` is skipped on the writer's word. If no earlier sample has shown that it has come so far, or some of
    /// it is there already, that must be confirmed.
    pub(super) fn note_jump(&mut self, now: Instant, from: SequenceNumber, end: SequenceNumber) {
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

    /// A sample has come that a jump has skipped: takes the jump back, unless later ones have gone to the user. True if it did.
    pub(super) fn take_jump_back(&mut self, now: Instant, number: SequenceNumber) -> bool {
        let jump = self.position.jump.take_if(|jump| number >= jump.from && !jump.delivered);
        let Some(jump) = jump else { return false };
        if jump.at + QUIET <= now {
            self.position.correct();
        }
        self.return_to(jump.from);
        true
    }

    /// A sample from before the position has come. Others may have asked for it; if not, the writer has begun anew.
    pub(super) fn suspect(&mut self, now: Instant, number: SequenceNumber) {
        if self.may_go_back() && self.position.is_quiet(now) {
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

    /// One of ours does not come back under its name; of others that is not known.
    fn may_go_back(&self) -> bool {
        let is_builtin = self.spec.guid.entity.is_builtin();
        let begins_anew = !self.goes_on() || is_builtin;
        !self.has_alternate_path && (begins_anew || self.position.jump.is_some())
    }

    /// True if the writer is known not to have begun anew.
    pub(super) fn goes_on(&self) -> bool {
        self.is_named_once() && !self.position.counts_restarted
    }

    /// False if a HEARTBEAT ends before the position, or begins before what discovery was said to begin with: it counts against that.
    pub(super) fn agrees(&mut self, now: Instant, heartbeat: &Heartbeat) -> bool {
        let is_before_first = heartbeat.first < self.position.first && self.spec.guid.entity.is_builtin();
        if heartbeat.last.next() >= self.next && !is_before_first {
            self.position.confirm_by_heartbeat(now);
            return true;
        }
        if !self.may_go_back() {
            return true;
        }
        self.contest(heartbeat.first);
        match self.position.next.contradict(now, heartbeat.count.into()) {
            Verdict::Overtaken => self.probe_later(now),
            Verdict::Copy => {}
            Verdict::Contested => self.probe(now),
            Verdict::Restart => self.go_back(now, heartbeat),
        }
        false
    }

    /// Goes back to before a jump, or to what the writer has if it has begun anew. What discovery tells is read again as a whole.
    fn go_back(&mut self, now: Instant, heartbeat: &Heartbeat) {
        let is_builtin = self.spec.guid.entity.is_builtin();
        let jump = self.position.jump.take().filter(|jump| jump.from <= heartbeat.last.next());
        let begins_anew = !self.goes_on();
        match jump.map(|jump| jump.from).filter(|_| !is_builtin) {
            Some(from) if from >= heartbeat.first => self.return_to(from),
            None if !begins_anew && !is_builtin => return,
            _ => self.begin_anew(heartbeat.first),
        }
        self.last = heartbeat.last.max(self.next.previous());
        self.position.correct();
        self.position.confirm(now);
        self.note_missing();
        self.owes_answer = true;
    }

    fn begin_anew(&mut self, first: SequenceNumber) {
        self.held.clear();
        self.held_bytes = 0;
        self.fragments.forget_all();
        (self.had, self.position.counts_restarted) = (None, false);
        self.lost_before = SequenceNumber::ZERO;
        self.position.recent = RecentSamples::default();
        self.return_to(first);
        self.position.first = first;
        self.position.known = self.next.previous();
        self.position.rereads = true;
    }

    fn return_to(&mut self, next: SequenceNumber) {
        (self.next, self.whole, self.is_full) = (next, next.previous(), false);
        self.lost_before = self.lost_before.min(next);
        self.gaps.clear();
        self.position.contested = None;
        self.retry.return_to(next.previous());
        self.extend_whole();
    }

    /// A sample of discovery has come under a number by which another came: one of them was forged, and all is read again.
    pub(super) fn reread_if_other(&mut self, now: Instant, number: SequenceNumber, digest: u32) {
        if self.spec.guid.entity.is_builtin() && self.position.recent.has_other(number, digest) {
            self.read_again(now);
            self.position.correct();
        }
    }

    /// Reads all again that a writer of discovery has.
    pub fn read_again(&mut self, now: Instant) {
        self.begin_anew(SequenceNumber::FIRST);
        (self.greeted, self.last) = (false, SequenceNumber::ZERO);
        self.probe(now);
    }

    /// How far the writer is by its latest HEARTBEAT. Less than was believed may have been overtaken by samples, unless it is far
    /// less.
    pub(super) fn believe_last(&mut self, now: Instant, heartbeat: &Heartbeat) {
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
            self.let_go_behind(self.last);
            self.retry.looked = self.retry.looked.min(self.last);
            self.retry.up_to = self.retry.up_to.min(self.last);
            self.position.correct();
        }
    }
}
