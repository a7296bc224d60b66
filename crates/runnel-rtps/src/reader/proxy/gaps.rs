//! Irrelevant samples: ranges that will not arrive.

use super::WriterProxy;
use crate::wire::{Gap, SequenceNumber};
use runnel_core::time::Instant;

/// Maximum number of remembered ranges.
const MAX_GAPS: usize = 256;

impl WriterProxy {
    /// Handles a GAP.
    pub fn gap(&mut self, now: Instant, gap: &Gap) {
        if !self.spec.reliable || !self.is_addressed(now, gap.reader) {
            return;
        }
        let begins = !self.has_first_heartbeat && gap.start <= self.next && self.resume_at.is_none();
        // The base of an empty list is not irrelevant: such a GAP ends before it.
        let lists_next = gap.list.iter().next() == Some(self.next);
        let skips = gap.start <= self.next && gap.list.base > self.next || lists_next;
        if self.has_first_heartbeat && skips {
            self.note_gap_jump(now, self.next, gap.list.base.max(self.next.next()));
        }
        self.position.note_gap(now, gap);
        self.add_gap(gap.start, gap.list.base);
        gap.list.iter().for_each(|number| self.add_gap(number, number.next()));
        // The writer has written all of these.
        let range = (gap.start < gap.list.base).then(|| gap.list.base.previous());
        let last = gap.list.iter().last().or(range);
        self.last = last.map_or(self.last, |last| self.last.max(last));
        if begins {
            self.position.confirm(now);
            self.begin_at(now, self.next, None);
        } else if self.has_first_heartbeat {
            self.advance_to(self.next);
        }
    }

    /// Forgets the range of a sample that has arrived nevertheless; the rest of the range is unknown.
    pub(super) fn forget_gap(&mut self, number: SequenceNumber) {
        let start = self.gaps.range(..=number).next_back().map(|(start, _)| *start);
        if let Some(start) = start {
            self.gaps.remove(&start);
            self.complete_up_to = self.complete_up_to.min(start.previous());
            self.retry.searched_up_to = self.retry.searched_up_to.min(start.previous());
        }
    }

    /// Records that an alternate path has delivered the samples from `from` to before `to`: they are neither requested
    /// nor lost. Samples before `from` are still due, unless `from` is the first number.
    pub fn note_received(&mut self, from: SequenceNumber, to: SequenceNumber) {
        self.has_alternate_path = true;
        self.last = self.last.max(to.previous());
        if from <= SequenceNumber::FIRST {
            self.resume_without_heartbeat();
        }
        if self.has_first_heartbeat && from <= self.next {
            self.received_before = self.received_before.max(to);
            return self.advance_to(to);
        }
        self.add_gap(from, to);
        self.extend_whole();
    }

    /// Skips missing discovery samples that were acknowledged, if the writer sends but does not repeat them: it need not
    /// repeat acknowledged samples (Fast DDS does not), and also announces no GAP. A Runnel writer repeats them.
    pub(super) fn skip_unrepeated(&mut self) {
        if !self.spec.guid.entity.is_builtin() || self.has_unique_guid() || !self.is_unanswered() {
            return;
        }
        let end = self.acknowledged_before.min(self.last.next());
        if self.missing_from(self.next).next().is_some_and(|number| number < end) {
            self.add_gap(self.next, end);
            self.skipped_before = self.skipped_before.max(Some(end));
            self.advance_to(self.next);
            self.extend_whole();
        }
    }

    /// Returns and clears the end of skipped acknowledged samples, if any were.
    pub fn take_skipped_before(&mut self) -> Option<SequenceNumber> {
        self.skipped_before.take()
    }

    /// Continues at the former position without a HEARTBEAT.
    fn resume_without_heartbeat(&mut self) {
        if !core::mem::replace(&mut self.has_first_heartbeat, true) {
            self.next = self.next.max(self.resume_at.unwrap_or(self.next));
        }
    }

    /// Counts a received sample without capacity as lost.
    pub fn lose_sample(&mut self, number: SequenceNumber) {
        self.lost += 1;
        self.add_gap(number, number.next());
        if self.has_first_heartbeat {
            self.advance_to(self.next);
        }
    }

    /// Counts samples before `first` as lost, which the writer no longer has. Held ones remain deliverable.
    pub(super) fn lose_before(&mut self, first: SequenceNumber) {
        // In the range without missing samples nothing is lost, and thousands may be held.
        self.extend_whole();
        let mut number = self.next.max(self.complete_up_to.next()).max(self.lost_before);
        self.lost_before = self.lost_before.max(first);
        while let Some(held) = self.held.first_in(number.min(first)..first) {
            self.lost += u64::from(held.distance_from(number)) - self.gaps_within(number, held);
            self.add_gap(number, held);
            number = held.next();
        }
        self.lost += u64::from(first.distance_from(number)) - self.gaps_within(number, first);
        self.add_gap(self.next, first);
        self.advance_to(self.next);
    }

    /// Records the samples of a range that are not held as irrelevant.
    fn add_gap(&mut self, start: SequenceNumber, end: SequenceNumber) {
        let mut start = start.max(self.next);
        while let Some(held) = self.held.first_in(start.min(end)..end) {
            self.add_empty_gap(start, held);
            start = held.next();
        }
        self.add_empty_gap(start, end);
    }

    /// Records a range without held samples as irrelevant, merged with adjacent ranges. Beyond the limit a range is
    /// forgotten, and the writer announces it again on request; one at the position always counts.
    fn add_empty_gap(&mut self, start: SequenceNumber, end: SequenceNumber) {
        if end <= self.next || start >= end {
            return;
        }
        let touched = self.gaps.range(..=start).next_back().filter(|(_, other)| **other >= start);
        let known = touched.map(|(start, end)| (*start, *end));
        if known.is_none() && start > self.next && self.gaps.len() >= MAX_GAPS {
            return self.last = self.last.max(end.previous());
        }
        let (start, mut end) = known.map_or((start, end), |(first, last)| (first, last.max(end)));
        while let Some((other, last)) = self.gaps.range(start..=end).next_back().map(|(a, b)| (*a, *b)) {
            self.gaps.remove(&other);
            end = end.max(last);
        }
        self.gaps.insert(start, end);
    }

    pub(super) fn is_gap(&self, number: SequenceNumber) -> bool {
        self.end_of_gap(number).is_some()
    }

    /// Returns the end of the irrelevant range of this number, if any.
    pub(super) fn end_of_gap(&self, number: SequenceNumber) -> Option<SequenceNumber> {
        let (_, end) = self.gaps.range(..=number).next_back()?;
        (number < *end).then_some(*end)
    }

    /// Returns the number of samples of a range that are known to be irrelevant.
    fn gaps_within(&self, start: SequenceNumber, end: SequenceNumber) -> u64 {
        let overlap = |(from, to): (&SequenceNumber, &SequenceNumber)| {
            u64::from((*to).min(end).distance_from((*from).max(start)))
        };
        let known: u64 = self.gaps.iter().map(overlap).sum();
        known.min(u64::from(end.distance_from(start)))
    }
}
