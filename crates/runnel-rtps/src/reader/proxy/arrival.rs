//! Arrival of samples, whole or in fragments, and their order.

use super::WriterProxy;
use super::held::HOLDING;
use crate::evidence::{QUIET, Verdict};
use crate::reader::fragments::Complete;
use crate::wire::{DataFrag, EntityId, SequenceNumber, Timestamp};
use alloc::vec::Vec;
use runnel_core::time::Instant;

/// Maximum distance of a best-effort sample from the last one: a working network loses fewer in a row.
const MAX_AHEAD: u32 = 256;

/// Number of bytes at either end of a sample in its digest.
const DIGESTED: usize = 64;

/// Verdict on a received sample.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// It is the next: deliver it, and then the samples of [`WriterProxy::take_held`].
    Deliver,
    /// An earlier sample is missing, or the reader's user has no capacity.
    Early,
    /// It is a duplicate or obsolete.
    Late,
}

impl WriterProxy {
    /// Handles a whole sample, given whether the reader's user has capacity. If not, or if the pair is paused, a reliable
    /// sample is held and not acknowledged.
    pub fn arrive(
        &mut self,
        now: Instant,
        (number, digest): (SequenceNumber, u32),
        has_capacity: bool,
    ) -> Arrival {
        if !self.spec.reliable {
            return self.arrive_once(now, number, digest);
        }
        self.last = self.last.max(number);
        if self.held.contains(number) || number < self.next && !self.revert_jump(now, number) {
            self.retry.timing.note_repeated_arrival(number);
            self.note_late(now, number, digest);
            return Arrival::Late;
        }
        self.forget_gap_of(number);
        self.position.note_known(now, number);
        if self.spec.guid.entity.is_builtin() {
            self.position.recent.note_of_discovery(number, digest, self.next);
        }
        self.fragments.forget(number);
        self.fragments.note_later_sample(number);
        self.skip_unrepeated();
        if !self.is_next_known() || number > self.next || !has_capacity || self.pause.is_paused() {
            return Arrival::Early;
        }
        self.note_repaired(now, number);
        self.position.confirm(now);
        if self.is_endpoint_writer() {
            self.position.note_discovery_sample(now);
        }
        self.deliver_up_to(now, number);
        Arrival::Deliver
    }

    /// Returns a digest that distinguishes samples with the same number, where needed: for discovery without the
    /// timestamp, since some writers (embeddedRTPS) stamp each repetition with its own time.
    pub fn digest(&self, bytes: &[u8], stamp: Option<Timestamp>) -> u32 {
        match self.spec.guid.entity.is_builtin() {
            true => digest(bytes, None),
            false if self.spec.reliable => 0,
            false => digest(bytes, stamp),
        }
    }

    /// Ignores a sample for now, which is requested again.
    pub fn postpone(&mut self, number: SequenceNumber) {
        self.last = self.last.max(number);
        self.note_missing();
    }

    /// Returns whether the next sample is known: the writer has sent a HEARTBEAT, or it is a discovery writer, which
    /// sends all samples from the first one on; some (embeddedRTPS) send HEARTBEATs only every 4 s.
    fn is_next_known(&self) -> bool {
        self.has_first_heartbeat || self.spec.guid.entity.is_builtin() && self.resume_at.is_none()
    }

    fn is_endpoint_writer(&self) -> bool {
        [EntityId::PUBLICATIONS_WRITER, EntityId::SUBSCRIPTIONS_WRITER].contains(&self.spec.guid.entity)
    }

    /// Records that a sample goes to the user, and skips irrelevant ones after it.
    fn deliver_up_to(&mut self, now: Instant, number: SequenceNumber) {
        self.position.note_delivered();
        let after = number.next();
        self.advance_to(after);
        if self.next > after {
            self.note_gap_jump(now, after, self.next);
        }
    }

    fn note_late(&mut self, now: Instant, number: SequenceNumber, digest: u32) {
        if number < self.next && self.is_next_known() {
            self.suspect(now, number);
        }
        // Also for a held one: a forged sample may have taken its place.
        self.reread_if_other(now, number, digest);
    }

    fn forget_gap_of(&mut self, number: SequenceNumber) {
        if self.is_gap(number) {
            self.forget_gap(number);
        }
    }

    /// Handles a best-effort sample: omitted ones are lost. A sample far ahead, or far behind after a quiet period,
    /// goes to the user, but the position follows only a run of them.
    fn arrive_once(&mut self, now: Instant, number: SequenceNumber, digest: u32) -> Arrival {
        if number < self.received_before {
            return Arrival::Late;
        }
        let is_first = self.last == SequenceNumber::ZERO && self.next == SequenceNumber::FIRST;
        let is_ahead = number >= self.next;
        if is_first || is_ahead && number.distance_from(self.next) < MAX_AHEAD {
            self.position.confirm(now);
            self.position.line = None;
            return self.continue_after(number, digest);
        }
        let is_far_behind = self.next.distance_from(number) > MAX_AHEAD && self.position.is_unconfirmed();
        if !is_ahead && !is_far_behind && self.position.is_unconfirmed() {
            // It may have been sent before the writer was unmatched. If more such samples follow, the writer has been
            // reset.
            self.position.confirm(now);
        }
        let is_late = !is_ahead && !self.position.is_quiet(now) && !is_far_behind;
        if is_late || self.position.recent.has_copy(number, digest) {
            return Arrival::Late;
        }
        self.follow_line(now, number, digest)
    }

    /// Handles a sample that does not fit the position, but may continue others that did not fit.
    fn follow_line(&mut self, now: Instant, number: SequenceNumber, digest: u32) -> Arrival {
        let line = self.position.line;
        let is_overtaken = |(line, at): (SequenceNumber, Instant)| {
            number < line && line.distance_from(number) < MAX_AHEAD && now < at + QUIET
        };
        if line.is_some_and(is_overtaken) {
            return Arrival::Late;
        }
        self.position.line = Some((number.next(), now));
        let is_on = line.is_some_and(|(line, _)| number >= line && number.distance_from(line) < MAX_AHEAD);
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
        self.continue_after(number, digest)
    }

    /// Continues after a best-effort sample.
    fn continue_after(&mut self, number: SequenceNumber, digest: u32) -> Arrival {
        if self.last != SequenceNumber::ZERO {
            self.lost += u64::from(number.distance_from(self.next));
        }
        self.position.recent.note(number, digest);
        self.last = number;
        self.next = number.next();
        self.fragments.forget_before(self.next);
        Arrival::Deliver
    }

    /// Holds an early sample, and requests the missing ones before it. Returns false without capacity: it will be
    /// requested again.
    pub fn hold(&mut self, now: Instant, number: SequenceNumber, sample: Complete) -> bool {
        let holds = self.try_hold(now, number, sample);
        if !holds {
            self.note_dropped(number);
            self.retry.at = self.retry.at.or(Some(now + self.retry.timing.pause()));
        }
        if number > self.complete_up_to {
            self.note_missing();
        }
        holds
    }

    fn try_hold(&mut self, now: Instant, number: SequenceNumber, sample: Complete) -> bool {
        if !self.held.has_capacity(sample.bytes.len(), self.spec.max_bytes) {
            return false;
        }
        let Some(claim) = self.spec.budgets.held.claim(HOLDING + sample.bytes.len()) else { return false };
        self.held.insert(number, sample, claim);
        self.extend_whole();
        self.note_repaired(now, number);
        true
    }

    /// Returns the bytes that the shared budget must have free to hold a sample, if only that prevents it.
    pub fn needed_budget(&self, bytes: usize) -> Option<usize> {
        let may = self.held.has_capacity(bytes, self.spec.max_bytes);
        (may && !self.spec.budgets.held.has(HOLDING + bytes)).then_some(HOLDING + bytes)
    }

    /// Returns the bytes of held samples that would be sent again if dropped.
    pub fn held_bytes(&self) -> usize {
        self.held.memory()
    }

    /// Drops the latest held samples, up to `most` bytes, which are requested again. Returns the dropped bytes.
    pub fn drop_held(&mut self, most: usize) -> usize {
        let mut bytes = 0;
        while bytes < most
            && let Some((number, len)) = self.held.remove_last()
        {
            bytes += HOLDING + len;
            self.complete_up_to = self.complete_up_to.min(number.previous());
            self.note_dropped(number);
        }
        bytes
    }

    /// Removes the held sample that is next.
    pub fn take_held(&mut self) -> Option<(SequenceNumber, Complete)> {
        if !self.is_next_known() || self.pause.is_paused() {
            return None;
        }
        let sample = self.held.remove(self.next)?;
        let number = self.next;
        self.deliver_up_to(self.position.latest(), number);
        Some((number, sample))
    }

    /// Handles fragments; returns the sample if it is complete.
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
        if len > self.spec.max_bytes {
            if !self.is_gap(number) {
                self.pass_too_long(number);
            }
            return None;
        }
        self.forget_gap_of(number);
        if self.spec.reliable {
            self.last = self.last.max(number);
        } else {
            // The next complete sample shows how many are lost.
            let most = self.spec.max_bytes;
            self.fragments.forget_oldest(number, |bytes| bytes + len <= most);
        }
        if !self.fragments.has_capacity(number, len, self.spec.max_bytes) {
            return None;
        }
        let complete = self.fragments.take(now, frag, stamp, &self.spec.budgets.incomplete);
        let is_refused = complete.is_none() && !self.fragments.has_begun(number);
        if !is_refused {
            self.retry.note_progress();
        }
        self.is_full |= is_refused && !self.spec.budgets.incomplete.has(len);
        if self.spec.reliable && complete.is_none() {
            self.note_missing();
            self.retry.at = self.retry.at.or(Some(now + self.retry.timing.pause_of_fragments()));
        }
        complete
    }

    /// Returns whether fragments of a sample are useless.
    fn is_known(&mut self, now: Instant, number: SequenceNumber) -> bool {
        if number >= self.next {
            return self.held.contains(number);
        }
        if !self.spec.reliable {
            return number < self.received_before || !self.position.is_quiet(now);
        }
        let is_late = !self.revert_jump(now, number);
        if is_late && self.has_first_heartbeat {
            self.suspect(now, number);
        }
        is_late
    }

    /// Returns whether fragments are arriving of the only sample after `last`: a writer may announce a sample only
    /// after all of its fragments. A single fragment without further ones may be forged.
    pub(super) fn is_receiving_sample_after(&self, now: Instant, last: SequenceNumber) -> bool {
        let is_arriving = self.fragments.latest_arrival().is_some_and(|arrived| now < arrived + QUIET);
        is_arriving && last.next() == self.last && self.fragments.has_begun(self.last)
    }

    /// Drops held and incomplete samples after the last one of the writer. The next one may be arriving in fragments.
    pub(super) fn drop_after(&mut self, last: SequenceNumber) {
        self.fragments.drop_after(last.next());
        self.held.remove_after(last);
        self.complete_up_to = self.complete_up_to.min(last);
    }

    /// Counts an overlong sample as lost, so that later ones do not wait for it.
    fn pass_too_long(&mut self, number: SequenceNumber) {
        // For best effort the next sample shows it.
        if !self.spec.reliable {
            return;
        }
        self.last = self.last.max(number);
        self.lose_sample(number);
        self.is_acknack_due = true;
    }

    /// Moves the position to `number`, and over irrelevant samples after it.
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
        self.held.remove_before(self.next);
        self.note_capacity();
        if !self.is_missing_something() {
            self.retry.stop();
        }
    }
}

/// Returns a digest of a sample: its length, ends and timestamp.
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

/// Copies a sample out of a datagram.
pub(crate) fn copy_sample(bytes: &[u8], stamp: Option<Timestamp>, is_key: bool) -> Complete {
    Complete { bytes: Vec::from(bytes), stamp, is_key, related: None }
}
