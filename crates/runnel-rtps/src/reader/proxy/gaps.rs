//! Samples that will not come.

use super::WriterProxy;
use crate::wire::{Gap, SequenceNumber};
use runnel_core::time::Instant;

/// How many ranges of samples that will not come are remembered ahead.
const MOST_GAPS: usize = 256;

impl WriterProxy {
    /// The writer tells that samples will not come.
    pub fn gap(&mut self, now: Instant, gap: &Gap) {
        if !self.spec.reliable {
            return;
        }
        let begins = !self.greeted && gap.start <= self.next && self.had.is_none();
        let skips = gap.start <= self.next && gap.list.base > self.next || gap.list.base == self.next;
        if self.greeted && skips {
            self.note_jump(now, self.next, gap.list.base.max(self.next.next()));
        }
        self.add_gap(gap.start, gap.list.base);
        gap.list.iter().for_each(|number| self.add_gap(number, number.next()));
        // The writer has written all of these.
        let range = (gap.start < gap.list.base).then(|| gap.list.base.previous());
        let last = gap.list.iter().last().or(range);
        self.last = last.map_or(self.last, |last| self.last.max(last));
        if begins {
            self.position.confirm(now);
            self.begin_at(now, self.next, None);
        } else if self.greeted {
            self.advance_to(self.next);
        }
    }

    /// A sample has come that was said not to come: nothing is known any more of those that were meant along with it.
    pub(super) fn forget_gap(&mut self, number: SequenceNumber) {
        let start = self.gaps.range(..=number).next_back().map(|(start, _)| *start);
        if let Some(start) = start {
            self.gaps.remove(&start);
            self.whole = self.whole.min(start.previous());
            self.retry.looked = self.retry.looked.min(start.previous());
        }
    }

    /// Samples from `from` to before `to` have come by an alternate path: they are neither asked for nor lost. What is before
    /// `from` is still to come, unless that is the first number of all.
    pub fn note_received(&mut self, from: SequenceNumber, to: SequenceNumber) {
        self.has_alternate_path = true;
        self.last = self.last.max(to.previous());
        if from <= SequenceNumber::FIRST {
            self.go_on_unasked();
        }
        if self.greeted && from <= self.next {
            return self.advance_to(to);
        }
        self.add_gap(from, to);
        self.extend_whole();
    }

    /// Goes on behind what it had, though the writer has not said what it has.
    fn go_on_unasked(&mut self) {
        if !core::mem::replace(&mut self.greeted, true) {
            self.next = self.next.max(self.had.unwrap_or(self.next));
        }
    }

    /// A sample that has come finds no room, and is lost.
    pub fn give_up(&mut self, number: SequenceNumber) {
        self.lost += 1;
        self.add_gap(number, number.next());
        if self.greeted {
            self.advance_to(self.next);
        }
    }

    /// The writer does not have what is before `first` any more. What is held of it stays deliverable.
    pub(super) fn lose_before(&mut self, first: SequenceNumber) {
        // Of what is whole nothing is lost, and thousands may be held.
        self.extend_whole();
        let mut number = self.next.max(self.whole.next()).max(self.lost_before);
        self.lost_before = self.lost_before.max(first);
        while let Some((held, _)) = self.held.range(number.min(first)..first).next() {
            let held = *held;
            self.lost += u64::from(held.distance_from(number)) - self.gaps_within(number, held);
            self.add_gap(number, held);
            number = held.next();
        }
        self.lost += u64::from(first.distance_from(number)) - self.gaps_within(number, first);
        self.add_gap(self.next, first);
        self.advance_to(self.next);
    }

    /// Those of a range that are not held will not come.
    fn add_gap(&mut self, start: SequenceNumber, end: SequenceNumber) {
        let mut start = start.max(self.next);
        while let Some(held) = self.held.range(start.min(end)..end).next().map(|(held, _)| *held) {
            self.add_empty_gap(start, held);
            start = held.next();
        }
        self.add_empty_gap(start, end);
    }

    /// Of a range nothing is held, and nothing will come. It becomes one with those that it touches. What would be one too many
    /// is asked for, and told of again; that what is waited for will not come always counts.
    fn add_empty_gap(&mut self, start: SequenceNumber, end: SequenceNumber) {
        if end <= self.next || start >= end {
            return;
        }
        let touched = self.gaps.range(..=start).next_back().filter(|(_, other)| **other >= start);
        let known = touched.map(|(start, end)| (*start, *end));
        if known.is_none() && start > self.next && self.gaps.len() >= MOST_GAPS {
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

    /// Where those end that will not come, if this is one of them.
    pub(super) fn end_of_gap(&self, number: SequenceNumber) -> Option<SequenceNumber> {
        let (_, end) = self.gaps.range(..=number).next_back()?;
        (number < *end).then_some(*end)
    }

    /// How many samples of a range will not come and are known not to.
    fn gaps_within(&self, start: SequenceNumber, end: SequenceNumber) -> u64 {
        let overlap = |(from, to): (&SequenceNumber, &SequenceNumber)| {
            u64::from((*to).min(end).distance_from((*from).max(start)))
        };
        let known: u64 = self.gaps.iter().map(overlap).sum();
        known.min(u64::from(end.distance_from(start)))
    }
}
