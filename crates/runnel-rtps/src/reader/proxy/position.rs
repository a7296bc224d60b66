//! Position of a reader in its writer's samples, and what contradicts it.
//!
//! A writer's word moves the position: the first number of a HEARTBEAT, or a GAP. What that skips is a [`Jump`] until further
//! datagrams confirm it. Until then it is not acknowledged, so that the writer still has it, and a sample that was said not
//! to come takes the jump back. A run of HEARTBEATs that end before the position takes it back as well; a writer that has
//! begun anew under its old name is followed that way.

use super::WriterProxy;
use crate::evidence::{Evidence, QUIET, Verdict};
use crate::wire::{Heartbeat, SequenceNumber};
use alloc::collections::VecDeque;
use core::time::Duration;
use runnel_core::time::Instant;

/// How far a sample may be ahead of those before it to show by itself that the writer has come so far.
const WINDOW: u32 = 4096;

/// How often in a row a writer is asked where it stands: so often at once, and then at longer pauses, since it may be cut off.
const FAST_PROBES: u32 = 20;
const MOST_PROBES: u32 = 80;
const PATIENT_PAUSE: Duration = Duration::from_secs(1);

/// How many datagrams confirm a jump.
const CONFIRMATIONS: u32 = 3;

/// How many samples are remembered to tell their copies from other samples of the same numbers.
const MOST_RECENT: usize = 16;

/// Samples that were skipped on the writer's word.
#[derive(Clone, Copy, Debug)]
pub(super) struct Jump {
    from: SequenceNumber,
    at: Instant,
    /// It is not acknowledged before further datagrams have confirmed it.
    is_doubtful: bool,
    /// Samples behind it have gone to the user: what it skipped would come late.
    delivered: bool,
    confirmations: u32,
    latest: Instant,
}

/// See the module's documentation.
#[derive(Debug, Default)]
pub(super) struct Position {
    /// Against the next number, and against the last one that the writer has.
    next: Evidence,
    last: Evidence,
    jump: Option<Jump>,
    /// The last number that samples have shown, and that those before `known_at` had.
    known: SequenceNumber,
    known_at: Instant,
    known_before: SequenceNumber,
    /// The lowest number of what contradicts the position.
    contested: Option<SequenceNumber>,
    /// The writer's counts have begun anew.
    counts_restarted: bool,
    /// The writer is to be asked for a HEARTBEAT, and when it is asked again.
    pub(super) wants_heartbeat: bool,
    pub(super) probe_at: Option<Instant>,
    probes: u32,
    /// Numbers and digests of the samples that came last.
    recent: VecDeque<(SequenceNumber, u32)>,
    /// Where a writer goes on whose samples come once, as some that do not fit the position show, and when they came.
    pub(super) line: Option<(SequenceNumber, Instant)>,
    corrections: u32,
    /// Everything that the writer has is being read again.
    rereads: bool,
}

impl Position {
    /// What was skipped, and is in doubt.
    pub(super) fn jump(&self) -> Option<Jump> {
        self.jump
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
        if now > jump.latest {
            (jump.confirmations, jump.latest) = (jump.confirmations + 1, now);
        }
        if jump.confirmations >= CONFIRMATIONS && jump.at + QUIET <= now {
            self.jump = None;
        } else if jump.is_doubtful {
            self.probe_at = Some(now + QUIET / 2);
        }
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

    /// True if a sample of this number came a while ago with these bytes.
    pub(super) fn is_copy(&self, number: SequenceNumber, digest: u32) -> bool {
        self.recent.contains(&(number, digest))
    }

    pub(super) fn is_other(&self, number: SequenceNumber, digest: u32) -> bool {
        self.recent.iter().any(|(of, other)| *of == number && *other != digest)
    }

    pub(super) fn note_sample(&mut self, number: SequenceNumber, digest: u32) {
        if self.recent.len() >= MOST_RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back((number, digest));
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
        self.next = Evidence::default();
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

    /// The first that the writer has said is believed.
    pub(super) fn begin_position(&mut self, now: Instant) {
        self.position.confirm(now);
        self.position.known = self.position.known.max(self.next.previous());
    }

    /// What is between `from` and `end` is skipped on the writer's word. If no earlier sample has shown that it has come so far, or some of
    /// it is there already, that must be confirmed.
    pub(super) fn note_jump(&mut self, now: Instant, from: SequenceNumber, end: SequenceNumber) {
        let is_shown = end <= self.position.known_before(now).next();
        let has_begun = self.fragments.has_begun_before(end);
        if self.position.jump.is_some() || self.beside {
            return;
        }
        let (is_doubtful, delivered) = (!is_shown || has_begun, false);
        self.position.jump =
            Some(Jump { from, at: now, is_doubtful, delivered, confirmations: 0, latest: now });
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
        !self.beside && (begins_anew || self.position.jump.is_some())
    }

    /// True if the writer is known not to have begun anew.
    pub(super) fn goes_on(&self) -> bool {
        self.is_named_once() && !self.position.counts_restarted
    }

    /// False if a HEARTBEAT ends before the position, which it then counts against.
    pub(super) fn agrees(&mut self, now: Instant, heartbeat: &Heartbeat) -> bool {
        if heartbeat.last.next() >= self.next {
            self.position.confirm(now);
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
        let is_there = |from: &SequenceNumber| *from >= heartbeat.first && *from <= heartbeat.last.next();
        let before = self.position.jump.take().map(|jump| jump.from).filter(is_there);
        let begins_anew = !self.goes_on();
        match before.filter(|_| !is_builtin) {
            Some(from) => self.return_to(from),
            None if begins_anew || is_builtin => self.begin_anew(heartbeat.first),
            None => return,
        }
        self.last = heartbeat.last.max(self.next.previous());
        self.position.correct();
        self.begin_position(now);
        self.note_missing();
        self.owes_answer = true;
    }

    fn begin_anew(&mut self, first: SequenceNumber) {
        self.held.clear();
        self.held_bytes = 0;
        self.fragments.forget_all();
        (self.had, self.position.counts_restarted) = (None, false);
        self.lost_before = SequenceNumber::ZERO;
        self.position.recent.clear();
        self.return_to(first);
        self.position.known = self.next.previous();
        self.position.rereads = true;
    }

    fn return_to(&mut self, next: SequenceNumber) {
        (self.next, self.whole, self.is_full) = (next, next.previous(), false);
        self.gaps.clear();
        self.position.contested = None;
        self.retry.return_to(next.previous());
        self.extend_whole();
    }

    /// A sample of discovery has come under a number by which another came: one of them was forged, and all is read again.
    pub(super) fn reread_if_other(&mut self, now: Instant, number: SequenceNumber, digest: u32) {
        if self.spec.guid.entity.is_builtin() && self.position.is_other(number, digest) && self.greeted {
            self.begin_anew(SequenceNumber::FIRST);
            (self.greeted, self.last) = (false, SequenceNumber::ZERO);
            self.position.correct();
            self.probe(now);
        }
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
