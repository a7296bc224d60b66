//! Samples that come in fragments.

use super::budget::{Budget, Claim};
use crate::evidence::{Evidence, Verdict};
use crate::wire::{DataFrag, FragmentSet, SequenceNumber, Timestamp};
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;
use runnel_core::time::Instant;

/// How many samples of a writer may be incomplete at a time: the newest makes room for an older one, and the oldest for another
/// of a writer that sends each once.
const MOST_INCOMPLETE: usize = 4;

/// The incomplete samples of a writer.
#[derive(Debug, Default)]
pub(crate) struct Fragments {
    samples: BTreeMap<SequenceNumber, Incomplete>,
    /// Samples that had begun were forgotten, though they are wanted.
    forgotten: bool,
    /// A later sample came than one that lacks fragments, which are to be asked for.
    passed: bool,
    corrections: u32,
}

/// A sample of which some fragments have come.
#[derive(Debug)]
struct Incomplete {
    bytes: Vec<u8>,
    fragment_len: u16,
    /// Which fragments have come, the first one the lowest bit of the first word.
    have: Vec<u64>,
    missing: u32,
    /// The highest fragment that has come or is known to be there.
    highest: u32,
    /// All fragments before this one have come.
    first_missing: u32,
    /// A later sample has come, so all of this one was sent.
    passed: bool,
    /// Up to this fragment all that is missing has been asked for.
    asked: u32,
    /// When fragments of it came last.
    came: Instant,
    /// Against its sizes.
    sizes: Evidence,
    _claim: Claim,
    stamp: Option<Timestamp>,
    is_key: bool,
}

/// A sample whose fragments have all come.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Complete {
    pub bytes: Vec<u8>,
    pub stamp: Option<Timestamp>,
    pub is_key: bool,
}

impl Incomplete {
    /// `None` if there is no memory for a sample of that size.
    fn new(frag: &DataFrag<'_>, stamp: Option<Timestamp>, claim: Claim) -> Option<Self> {
        let count = frag.count();
        Some(Self {
            bytes: zeroed(frag.sample_len as usize)?,
            fragment_len: frag.fragment_len,
            have: vec![0; count.div_ceil(64) as usize],
            missing: count,
            highest: 0,
            first_missing: 1,
            passed: false,
            asked: 0,
            came: Instant(0),
            sizes: Evidence::default(),
            _claim: claim,
            stamp,
            is_key: frag.is_key,
        })
    }

    fn count(&self) -> u32 {
        (self.bytes.len() as u32).div_ceil(u32::from(self.fragment_len))
    }

    fn has(&self, fragment: u32) -> bool {
        let bit = fragment - 1;
        self.have.get((bit / 64) as usize).is_some_and(|word| word & (1 << (bit % 64)) != 0)
    }

    fn mark(&mut self, fragment: u32) {
        let bit = fragment - 1;
        if let Some(word) = self.have.get_mut((bit / 64) as usize)
            && *word & (1 << (bit % 64)) == 0
        {
            *word |= 1 << (bit % 64);
            self.missing -= 1;
        }
    }

    fn take(&mut self, frag: &DataFrag<'_>) {
        // By the length of those before it, which a last one of its own length does not tell.
        let begin = (frag.first_fragment as usize - 1) * usize::from(self.fragment_len);
        if let Some(place) = self.bytes.get_mut(begin..begin + frag.bytes.len()) {
            place.copy_from_slice(frag.bytes);
        }
        let last = frag.first_fragment + u32::from(frag.fragments) - 1;
        (frag.first_fragment..=last).for_each(|fragment| self.mark(fragment));
        self.highest = self.highest.max(last);
        while self.has(self.first_missing) {
            self.first_missing += 1;
        }
    }

    /// The first fragment from one on that is missing, of those that are known of.
    fn missing_from(&self, first: u32) -> Option<u32> {
        let mut fragment = first;
        while fragment <= self.highest {
            let (word, bit) = ((fragment - 1) / 64, (fragment - 1) % 64);
            let missing = !self.have.get(word as usize)? >> bit;
            if missing != 0 {
                return Some(fragment + missing.trailing_zeros()).filter(|found| *found <= self.highest);
            }
            fragment = (word + 1) * 64 + 1;
        }
        None
    }

    /// True for fragments that are cut as those before them, and for a last one which says of all fragments that they are as
    /// short as itself, as embeddedRTPS has it.
    fn is_like(&self, frag: &DataFrag<'_>) -> bool {
        let begin_of_last = (self.count() as usize - 1) * usize::from(self.fragment_len);
        let is_short_last = || {
            (frag.first_fragment, frag.fragments) == (self.count(), 1)
                && usize::from(frag.fragment_len) == self.bytes.len() - begin_of_last
        };
        self.bytes.len() == frag.sample_len as usize
            && (self.fragment_len == frag.fragment_len || is_short_last())
    }
}

/// Zeroed memory that is not touched before it is written; `None` if it cannot be had. Asked for first in a way that can
/// fail, since what gives zeroed memory cannot.
fn zeroed(len: usize) -> Option<Vec<u8>> {
    Vec::<u8>::new().try_reserve_exact(len).ok()?;
    Some(vec![0; len])
}

/// How long after a fragment the same one is another answer rather than a copy.
const COPIES: u64 = 50_000_000;

/// What tells a fragment from others, and from those that were asked for again.
fn mark_of(now: Instant, frag: &DataFrag<'_>) -> u64 {
    ((now.0 / COPIES) << 32) | u64::from(frag.first_fragment)
}

impl Fragments {
    /// Takes fragments in; gives the sample if these were the last. One that differs in size from those before it
    /// counts for nothing, and neither does the first of a sample for which the budget has no room. Whoever calls has
    /// checked that the sample is not too long.
    pub fn take(
        &mut self,
        now: Instant,
        frag: &DataFrag<'_>,
        stamp: Option<Timestamp>,
        budget: &Budget,
    ) -> Option<Complete> {
        if !self.samples.contains_key(&frag.number) {
            self.pass(frag.number);
            self.make_room(frag.number)?;
            let claim = self.claim(frag.number, frag.sample_len as usize, budget)?;
            self.samples.insert(frag.number, Incomplete::new(frag, stamp, claim)?);
        }
        let sample = self.samples.get_mut(&frag.number)?;
        if !sample.is_like(frag) {
            if sample.sizes.contradict(now, mark_of(now, frag)) != Verdict::Restart {
                return None;
            }
            self.replace(frag, stamp, budget)?;
        }
        let sample = self.samples.get_mut(&frag.number)?;
        sample.sizes = Evidence::default();
        sample.take(frag);
        sample.came = now;
        if sample.missing > 0 {
            return None;
        }
        let whole = self.samples.remove(&frag.number)?;
        Some(Complete { bytes: whole.bytes, stamp: whole.stamp, is_key: whole.is_key })
    }

    /// A sample has other sizes than it was believed to have: it begins anew.
    fn replace(&mut self, frag: &DataFrag<'_>, stamp: Option<Timestamp>, budget: &Budget) -> Option<()> {
        self.samples.remove(&frag.number);
        self.corrections += 1;
        let claim = self.claim(frag.number, frag.sample_len as usize, budget)?;
        self.samples.insert(frag.number, Incomplete::new(frag, stamp, claim)?);
        Some(())
    }

    /// How often a sample had other sizes than was believed, since this was last asked.
    pub fn take_corrections(&mut self) -> u32 {
        core::mem::take(&mut self.corrections)
    }

    /// Room for another sample: nothing if all that are there are older, and so are wanted first.
    fn make_room(&mut self, number: SequenceNumber) -> Option<()> {
        if self.samples.len() < MOST_INCOMPLETE { Some(()) } else { self.forget_newer(number) }
    }

    /// Bytes for a sample, of those newer than it if there are no others.
    fn claim(&mut self, number: SequenceNumber, len: usize, budget: &Budget) -> Option<Claim> {
        loop {
            match budget.claim(len) {
                Some(claim) => return Some(claim),
                None => self.forget_newer(number)?,
            }
        }
    }

    /// True if a sample of so many bytes has begun or may begin beside the others, which are not to take more than `most`
    /// together: newer ones make room for it. Else the one that all wait for might never find any.
    pub fn has_room(&mut self, number: SequenceNumber, len: usize, most: usize) -> bool {
        while !self.has_begun(number) && self.bytes() + len > most {
            if self.forget_newer(number).is_none() {
                return false;
            }
        }
        true
    }

    /// Lets go of the newest sample if it is newer than this one.
    fn forget_newer(&mut self, number: SequenceNumber) -> Option<()> {
        self.samples.last_entry().filter(|entry| *entry.key() > number)?.remove();
        self.forgotten = true;
        Some(())
    }

    /// Makes room for another sample of a writer that sends each once: the oldest go, until there
    /// is `room` beside the bytes that the others take.
    pub fn forget_oldest(&mut self, number: SequenceNumber, room: impl Fn(usize) -> bool) {
        let is_full = |of: &Self| of.samples.len() >= MOST_INCOMPLETE || !room(of.bytes());
        while !self.samples.is_empty() && !self.samples.contains_key(&number) && is_full(self) {
            self.samples.pop_first();
        }
    }

    /// Nothing before this number is wanted any more.
    pub fn forget_before(&mut self, number: SequenceNumber) {
        self.samples = self.samples.split_off(&number);
    }

    /// The writer has nothing behind this number.
    pub fn forget_behind(&mut self, number: SequenceNumber) {
        self.forgotten |= !self.samples.split_off(&number.next()).is_empty();
    }

    /// Begins anew.
    pub fn forget_all(&mut self) {
        self.samples.clear();
        self.forgotten = true;
    }

    /// True if samples that had begun were forgotten since this was last asked, though they are wanted.
    pub fn take_forgotten(&mut self) -> bool {
        core::mem::take(&mut self.forgotten)
    }

    /// A sample is not wanted any more.
    pub fn forget(&mut self, number: SequenceNumber) {
        self.samples.remove(&number);
    }

    /// When fragments of any incomplete sample came last.
    pub fn last_came(&self) -> Option<Instant> {
        self.samples.values().map(|sample| sample.came).max()
    }

    /// When fragments of a sample came last, some but not all of which have.
    pub fn came(&self, number: SequenceNumber) -> Option<Instant> {
        self.samples.get(&number).map(|sample| sample.came)
    }

    /// True if some but not all fragments of a sample have come.
    pub fn has_begun(&self, number: SequenceNumber) -> bool {
        self.samples.contains_key(&number)
    }

    /// True if some sample before this number has begun.
    pub fn has_begun_before(&self, number: SequenceNumber) -> bool {
        self.samples.range(..number).next().is_some()
    }

    /// Fragments up to this one are there to be asked for.
    pub fn know(&mut self, number: SequenceNumber, last: u32) {
        if let Some(sample) = self.samples.get_mut(&number) {
            sample.highest = sample.highest.max(last.min(sample.count()));
        }
    }

    /// All fragments of a sample are there to be asked for.
    pub fn know_all(&mut self, number: SequenceNumber) {
        self.know(number, u32::MAX);
    }

    /// Something of this sample has come: of those before it all was sent, and is there to be asked for.
    pub fn pass(&mut self, number: SequenceNumber) {
        for sample in
            self.samples.range_mut(..number).map(|(_, sample)| sample).filter(|sample| !sample.passed)
        {
            (sample.highest, sample.passed) = (sample.count(), true);
            self.passed = true;
        }
    }

    /// True if samples were passed that lack fragments, since this was last asked.
    pub fn take_passed(&mut self) -> bool {
        core::mem::take(&mut self.passed)
    }

    /// These fragments of a sample are asked for.
    pub fn note_asked(&mut self, number: SequenceNumber, missing: &FragmentSet) {
        if let Some(sample) = self.samples.get_mut(&number) {
            sample.asked = missing.iter().last().map_or(sample.asked, |last| last.max(sample.asked));
        }
    }

    /// The fragments of a sample that are missing and have not been asked for, or all that are missing if they are to be asked
    /// for `again`: up to the highest that is known of, as many as a set holds.
    pub fn missing(&self, number: SequenceNumber, again: bool) -> Option<FragmentSet> {
        let sample = self.samples.get(&number)?;
        let asked = if again { 0 } else { sample.asked };
        let mut next = sample.missing_from(sample.first_missing.max(asked.saturating_add(1)));
        let mut set = FragmentSet::new(next?);
        while let Some(fragment) = next.filter(|fragment| set.insert(*fragment)) {
            next = sample.missing_from(fragment.saturating_add(1));
        }
        Some(set)
    }

    /// How many bytes the incomplete samples take.
    pub fn bytes(&self) -> usize {
        self.samples.values().map(|sample| sample.bytes.len()).sum()
    }
}

#[cfg(test)]
mod tests;
