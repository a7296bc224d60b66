//! Samples that come, whole or in fragments, and wait for those before them.

use super::{Held, WriterProxy};
use crate::evidence::{QUIET, Verdict};
use crate::reader::fragments::Complete;
use crate::wire::{DataFrag, EntityId, SequenceNumber, Timestamp};
use alloc::vec::Vec;
use runnel_core::time::Instant;

/// How many samples are held that came before one that is missing.
pub(super) const MOST_HELD: usize = 4096;

/// What holding a sample takes beside its bytes, in bytes and roughly.
const HOLDING: usize = 128;

/// How far a sample that comes once may be ahead of the last one: no more than are lost in a row by a network that works.
const MOST_AHEAD: u32 = 256;

/// How many bytes at either end of a sample tell it from others.
const DIGESTED: usize = 64;

/// What came of a sample.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// It is the next: deliver it, and then what [`WriterProxy::take_held`] gives.
    Deliver,
    /// One before it is missing, or the reader's user has no room for it.
    Early,
    /// It came before, or will not be wanted any more.
    Late,
}

impl WriterProxy {
    /// A whole sample has come: what is to be done with it, given whether the reader's user has room for it. If not, it
    /// is held and not acknowledged, unless the writer sends each sample once.
    pub fn arrive(
        &mut self,
        now: Instant,
        (number, digest): (SequenceNumber, u32),
        has_room: bool,
    ) -> Arrival {
        if !self.spec.reliable {
            return self.arrive_once(now, number, digest);
        }
        self.last = self.last.max(number);
        if self.held.contains_key(&number) || number < self.next && !self.take_jump_back(now, number) {
            self.retry.timing.note_came_again(number);
            self.note_late(now, number, digest);
            return Arrival::Late;
        }
        self.forget_gap_of(number);
        self.position.note_known(now, number);
        if self.spec.guid.entity.is_builtin() {
            self.position.recent.note_of_discovery(number, digest, self.next);
        }
        self.fragments.forget(number);
        self.fragments.pass(number);
        if !self.knows_next() || number > self.next || !has_room {
            return Arrival::Early;
        }
        self.note_repaired(now, number);
        self.position.confirm(now);
        if self.tells_of_endpoints() {
            self.position.rest_on_sample(now);
        }
        self.deliver_up_to(now, number);
        Arrival::Deliver
    }

    /// What tells a sample from others that bear its number, where that is asked: of discovery without the time, since some
    /// writers (embeddedRTPS) stamp each repeat with the time at which it is sent.
    pub fn digest(&self, bytes: &[u8], stamp: Option<Timestamp>) -> u32 {
        match self.spec.guid.entity.is_builtin() {
            true => digest(bytes, None),
            false if self.spec.reliable => 0,
            false => digest(bytes, stamp),
        }
    }

    /// A sample that has come is left for later: it is asked for again.
    pub fn leave_for_later(&mut self, number: SequenceNumber) {
        self.last = self.last.max(number);
        self.note_missing();
    }

    /// True if the sample to be delivered next is known: the writer has said what it has, or it tells a discovery reader of
    /// all that it has from the first, and some writers (embeddedRTPS) send HEARTBEATs only every 4 s.
    fn knows_next(&self) -> bool {
        self.greeted || self.spec.guid.entity.is_builtin() && self.had.is_none()
    }

    fn tells_of_endpoints(&self) -> bool {
        [EntityId::PUBLICATIONS_WRITER, EntityId::SUBSCRIPTIONS_WRITER].contains(&self.spec.guid.entity)
    }

    /// A sample goes to the user. What follows it and was said not to come is skipped.
    fn deliver_up_to(&mut self, now: Instant, number: SequenceNumber) {
        self.position.note_delivered();
        let after = number.next();
        self.advance_to(after);
        if self.next > after {
            self.note_jump(now, after, self.next);
        }
    }

    fn note_late(&mut self, now: Instant, number: SequenceNumber, digest: u32) {
        if number < self.next && self.knows_next() {
            self.suspect(now, number);
        }
        // Also one that is held: another that was forged may wait in its place.
        self.reread_if_other(now, number, digest);
    }

    fn forget_gap_of(&mut self, number: SequenceNumber) {
        if self.is_gap(number) {
            self.forget_gap(number);
        }
    }

    /// Of a writer whose samples come once: what was left out is lost. One that is far ahead, or comes from before when the
    /// writer has been quiet, goes to the user, but the position follows only when a run of them shows that it must.
    fn arrive_once(&mut self, now: Instant, number: SequenceNumber, digest: u32) -> Arrival {
        let is_first = self.last == SequenceNumber::ZERO && self.next == SequenceNumber::FIRST;
        let is_ahead = number >= self.next;
        if is_first || is_ahead && number.distance_from(self.next) < MOST_AHEAD {
            self.position.confirm(now);
            self.position.line = None;
            return self.go_on_with(number, digest);
        }
        let is_far_behind = self.next.distance_from(number) > MOST_AHEAD && self.position.is_unconfirmed();
        if !is_ahead && !is_far_behind && self.position.is_unconfirmed() {
            // It may have been sent before the writer was left. If more such follow, the writer has gone back.
            self.position.confirm(now);
        }
        let is_late = !is_ahead && !self.position.is_quiet(now) && !is_far_behind;
        if is_late || self.position.recent.has_copy(number, digest) {
            return Arrival::Late;
        }
        self.follow_line(now, number, digest)
    }

    /// A sample does not fit the position, but may fit others that did not.
    fn follow_line(&mut self, now: Instant, number: SequenceNumber, digest: u32) -> Arrival {
        let line = self.position.line;
        let is_overtaken = |(line, at): (SequenceNumber, Instant)| {
            number < line && line.distance_from(number) < MOST_AHEAD && now < at + QUIET
        };
        if line.is_some_and(is_overtaken) {
            return Arrival::Late;
        }
        self.position.line = Some((number.next(), now));
        let is_on = line.is_some_and(|(line, _)| number >= line && number.distance_from(line) < MOST_AHEAD);
        if line.is_some() && !is_on && self.position.is_quiet(now) {
            self.position.begin_run();
        }
        if self.position.contradict(now, number) != Verdict::Restart {
            self.position.recent.note(number, digest);
            return Arrival::Deliver;
        }
        self.position.line = None;
        if number < self.next {
            self.position.correct();
            self.next = number;
        }
        self.go_on_with(number, digest)
    }

    /// Goes on behind a sample of a writer whose samples come once.
    fn go_on_with(&mut self, number: SequenceNumber, digest: u32) -> Arrival {
        if self.last != SequenceNumber::ZERO {
            self.lost += u64::from(number.distance_from(self.next));
        }
        self.position.recent.note(number, digest);
        self.last = number;
        self.next = number.next();
        self.fragments.forget_before(self.next);
        Arrival::Deliver
    }

    /// Holds a sample that came early, and asks for what is missing before it. False if there is no room for it: it will be
    /// asked for again.
    pub fn hold(&mut self, now: Instant, number: SequenceNumber, sample: Complete) -> bool {
        let holds = self.hold_if_room(now, number, sample);
        if !holds {
            self.note_dropped(number);
            self.retry.at = self.retry.at.or(Some(now + self.retry.timing.pause()));
        }
        if number > self.whole {
            self.note_missing();
        }
        holds
    }

    fn hold_if_room(&mut self, now: Instant, number: SequenceNumber, sample: Complete) -> bool {
        if self.held.len() >= MOST_HELD || self.held_bytes + sample.bytes.len() > self.spec.most_bytes {
            return false;
        }
        let Some(claim) = self.spec.budgets.held.claim(HOLDING + sample.bytes.len()) else { return false };
        self.held_bytes += sample.bytes.len();
        self.held.insert(number, Held { sample, _claim: claim });
        self.extend_whole();
        self.note_repaired(now, number);
        true
    }

    /// What would have to be free to hold a sample, if it is not and that is not for what this writer has itself.
    pub fn lacks_to_hold(&self, bytes: usize) -> Option<usize> {
        let may = self.held.len() < MOST_HELD && self.held_bytes + bytes <= self.spec.most_bytes;
        (may && !self.spec.budgets.held.has(HOLDING + bytes)).then_some(HOLDING + bytes)
    }

    /// How much is held that would be sent again if it was let go of, in bytes.
    pub fn held_bytes(&self) -> usize {
        self.held_bytes + self.held.len() * HOLDING
    }

    /// Lets go of the latest that is held, up to so many bytes: it is asked for again. Gives how many that was.
    pub fn let_go(&mut self, most: usize) -> usize {
        let mut bytes = 0;
        while bytes < most
            && let Some((number, held)) = self.held.pop_last()
        {
            self.held_bytes -= held.sample.bytes.len();
            bytes += HOLDING + held.sample.bytes.len();
            self.whole = self.whole.min(number.previous());
            self.note_dropped(number);
        }
        bytes
    }

    /// The sample that was held and is the next now.
    pub fn take_held(&mut self) -> Option<(SequenceNumber, Complete)> {
        if !self.knows_next() {
            return None;
        }
        let Held { sample, .. } = self.held.remove(&self.next)?;
        self.held_bytes -= sample.bytes.len();
        let number = self.next;
        self.deliver_up_to(self.position.latest(), number);
        Some((number, sample))
    }

    /// Fragments have come; gives the sample if these were the last.
    pub fn take_fragments(
        &mut self,
        now: Instant,
        frag: &DataFrag<'_>,
        stamp: Option<Timestamp>,
    ) -> Option<Complete> {
        let number = frag.number;
        let len = frag.sample_len as usize;
        if self.is_known(now, number) {
            return None;
        }
        if len > self.spec.most_bytes {
            if !self.is_gap(number) {
                self.pass_too_long(number);
            }
            return None;
        }
        self.forget_gap_of(number);
        if self.spec.reliable {
            self.last = self.last.max(number);
        } else {
            // The next that is whole tells how many are lost.
            let most = self.spec.most_bytes;
            self.fragments.forget_oldest(number, |bytes| bytes + len <= most);
        }
        if !self.fragments.has_room(number, len, self.spec.most_bytes) {
            return None;
        }
        let whole = self.fragments.take(now, frag, stamp, &self.spec.budgets.incomplete);
        let is_refused = whole.is_none() && !self.fragments.has_begun(number);
        if !is_refused {
            self.retry.note_progress();
        }
        self.is_full |= is_refused && !self.spec.budgets.incomplete.has(len);
        if self.spec.reliable && whole.is_none() {
            self.note_missing();
            self.retry.at = self.retry.at.or(Some(now + self.retry.timing.pause_of_fragments()));
        }
        whole
    }

    /// True if fragments of a sample are of no use any more.
    fn is_known(&mut self, now: Instant, number: SequenceNumber) -> bool {
        if number >= self.next {
            return self.held.contains_key(&number);
        }
        if !self.spec.reliable {
            return !self.position.is_quiet(now);
        }
        let is_late = !self.take_jump_back(now, number);
        if is_late && self.greeted {
            self.suspect(now, number);
        }
        is_late
    }

    /// True while fragments come, and the one sample that they show beyond `last` is incomplete. Its writer may count a sample
    /// only once it has sent all of its fragments. Where no fragments come, one that shows a further sample may be forged.
    pub(super) fn is_receiving_sample_after(&self, now: Instant, last: SequenceNumber) -> bool {
        let is_arriving = self.fragments.last_came().is_some_and(|came| now < came + QUIET);
        is_arriving && last.next() == self.last && self.fragments.has_begun(self.last)
    }

    /// Lets go of samples that are held, or have begun, behind the last one that their writer has. The next one may be on its
    /// way, in fragments.
    pub(super) fn let_go_behind(&mut self, last: SequenceNumber) {
        self.fragments.forget_behind(last.next());
        let behind = self.held.split_off(&last.next());
        self.held_bytes -= behind.values().map(|held| held.sample.bytes.len()).sum::<usize>();
        self.whole = self.whole.min(last);
    }

    /// A sample is longer than any that is taken: it is lost, and those behind it do not wait for it.
    fn pass_too_long(&mut self, number: SequenceNumber) {
        // Of one whose samples come once the next one shows it.
        if !self.spec.reliable {
            return;
        }
        self.last = self.last.max(number);
        self.give_up(number);
        self.owes_answer = true;
    }

    /// What is before `number` is done with, and what follows it and will not come.
    pub(super) fn advance_to(&mut self, number: SequenceNumber) {
        self.next = self.next.max(number);
        while let Some((start, end)) = self.gaps.first_key_value().map(|(start, end)| (*start, *end)) {
            if start > self.next {
                break;
            }
            self.gaps.pop_first();
            self.next = self.next.max(end);
        }
        self.fragments.forget_before(self.next);
        self.retry.timing.note_done(self.next);
        while let Some(entry) = self.held.first_entry().filter(|entry| *entry.key() < self.next) {
            self.held_bytes -= entry.remove().sample.bytes.len();
        }
        self.note_room();
        if !self.is_missing_something() {
            self.retry.stop();
        }
    }
}

/// A number by which samples are told apart that bear the same number: of their length, ends and time.
fn digest(bytes: &[u8], stamp: Option<Timestamp>) -> u32 {
    let (first, rest) = bytes.split_at(bytes.len().min(DIGESTED));
    let last = rest.get(rest.len().saturating_sub(DIGESTED)..).unwrap_or(&[]);
    let time = stamp
        .map_or([0; 8], |stamp| ((u64::from(stamp.seconds) << 32) | u64::from(stamp.fraction)).to_le_bytes());
    let len = bytes.len().to_le_bytes();
    let all = len.iter().chain(&time).chain(first).chain(last);
    // FNV-1a.
    all.fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

/// A sample that is held as it lies in a datagram.
pub(crate) fn copied(bytes: &[u8], stamp: Option<Timestamp>, is_key: bool) -> Complete {
    Complete { bytes: Vec::from(bytes), stamp, is_key }
}
