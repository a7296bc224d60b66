//! Reassembly of fragmented samples.

use super::budget::{Budget, Claim};
use crate::evidence::{Evidence, Verdict};
use crate::inline_qos;
use crate::wire::{DataFrag, FragmentSet, SampleIdentity, SequenceNumber, Timestamp};
use alloc::vec;
use alloc::vec::Vec;
use runnel_core::sorted::SortedMap;
use runnel_core::time::Instant;

/// Maximum number of incomplete samples of a writer: an older one displaces the newest, and with a best-effort writer a
/// newer one displaces the oldest.
const MAX_INCOMPLETE: usize = 4;

/// Incomplete samples of a writer.
#[derive(Debug, Default)]
pub(crate) struct Fragments {
    samples: SortedMap<SequenceNumber, Incomplete>,
    /// Incomplete samples were dropped that are still needed.
    forgotten: bool,
    /// A later sample arrived than one with missing fragments, which are to be requested.
    passed: bool,
    corrections: u32,
}

/// Sample of which some fragments have arrived.
#[derive(Debug)]
struct Incomplete {
    bytes: Vec<u8>,
    fragment_len: u16,
    /// Bitmap of received fragments; the first one is the lowest bit of the first word.
    have: Vec<u64>,
    missing: u32,
    /// The highest fragment that is received or known to exist.
    highest: u32,
    /// All fragments before this one are received.
    first_missing: u32,
    /// A later sample has arrived, so all fragments were sent.
    passed: bool,
    /// All missing fragments up to this one were requested.
    asked: u32,
    /// When its last fragment arrived.
    arrived: Instant,
    /// Evidence against its size.
    sizes: Evidence,
    _claim: Claim,
    stamp: Option<Timestamp>,
    is_key: bool,
    related: Option<SampleIdentity>,
}

/// Completely received sample.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Complete {
    pub bytes: Vec<u8>,
    pub stamp: Option<Timestamp>,
    pub is_key: bool,
    pub related: Option<SampleIdentity>,
}

impl Incomplete {
    /// Creates an empty sample; `None` if its memory cannot be allocated.
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
            arrived: Instant(0),
            sizes: Evidence::default(),
            _claim: claim,
            stamp,
            is_key: frag.is_key,
            related: inline_qos::related_of(frag.inline_qos),
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
        // A short last fragment may state its own length, so the offset is computed from the known fragment size.
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

    /// Returns the first missing fragment at or after `first`, among the known ones.
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

    /// Returns whether a fragment has the size of the known ones, or is a last one that states its own length as the
    /// fragment size, as in embeddedRTPS.
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

/// Allocates zeroed memory, lazily mapped; `None` if the allocation fails. The fallible reservation comes first, since
/// zeroed allocation cannot fail gracefully.
fn zeroed(len: usize) -> Option<Vec<u8>> {
    Vec::<u8>::new().try_reserve_exact(len).ok()?;
    Some(vec![0; len])
}

/// Time after which a repeated fragment is a new answer rather than a copy.
const COPIES: u64 = 50_000_000;

/// Returns a mark that distinguishes fragments, and repeated ones from copies.
fn mark_of(now: Instant, frag: &DataFrag<'_>) -> u64 {
    ((now.0 / COPIES) << 32) | u64::from(frag.first_fragment)
}

impl Fragments {
    /// Adds fragments; returns the sample if it is complete. A fragment with another size is ignored, and so is a first
    /// one without budget. The caller has checked the sample's length.
    pub fn take(
        &mut self,
        now: Instant,
        frag: &DataFrag<'_>,
        stamp: Option<Timestamp>,
        budget: &Budget,
    ) -> Option<Complete> {
        if !self.samples.contains_key(&frag.number) {
            self.note_later_sample(frag.number);
            self.displace_newer(frag.number)?;
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
        sample.arrived = now;
        if sample.missing > 0 {
            return None;
        }
        let whole = self.samples.remove(&frag.number)?;
        let Incomplete { bytes, stamp, is_key, related, .. } = whole;
        Some(Complete { bytes, stamp, is_key, related })
    }

    /// Restarts a sample with another size.
    fn replace(&mut self, frag: &DataFrag<'_>, stamp: Option<Timestamp>, budget: &Budget) -> Option<()> {
        self.samples.remove(&frag.number);
        self.corrections += 1;
        let claim = self.claim(frag.number, frag.sample_len as usize, budget)?;
        self.samples.insert(frag.number, Incomplete::new(frag, stamp, claim)?);
        Some(())
    }

    /// Returns and clears the number of corrected sizes.
    pub fn take_corrections(&mut self) -> u32 {
        core::mem::take(&mut self.corrections)
    }

    /// Makes capacity for another sample; `None` if all present ones are older, which take precedence.
    fn displace_newer(&mut self, number: SequenceNumber) -> Option<()> {
        if self.samples.len() < MAX_INCOMPLETE { Some(()) } else { self.forget_newer(number) }
    }

    /// Claims bytes for a sample, displacing newer ones if necessary.
    fn claim(&mut self, number: SequenceNumber, len: usize, budget: &Budget) -> Option<Claim> {
        loop {
            match budget.claim(len) {
                Some(claim) => return Some(claim),
                None => self.forget_newer(number)?,
            }
        }
    }

    /// Returns whether a sample has begun, or may begin within `most` bytes of all incomplete ones. Newer samples are
    /// displaced: otherwise the sample that blocks all later ones might never fit.
    pub fn has_capacity(&mut self, number: SequenceNumber, len: usize, most: usize) -> bool {
        while !self.has_begun(number) && self.bytes() + len > most {
            if self.forget_newer(number).is_none() {
                return false;
            }
        }
        true
    }

    /// Drops the newest sample if it is newer than this one.
    fn forget_newer(&mut self, number: SequenceNumber) -> Option<()> {
        self.samples.last_entry().filter(|entry| *entry.key() > number)?.remove();
        self.forgotten = true;
        Some(())
    }

    /// Makes capacity for another sample of a best-effort writer: drops the oldest ones until `capacity` is true for the
    /// bytes of the rest.
    pub fn forget_oldest(&mut self, number: SequenceNumber, capacity: impl Fn(usize) -> bool) {
        let is_full = |of: &Self| of.samples.len() >= MAX_INCOMPLETE || !capacity(of.bytes());
        while !self.samples.is_empty() && !self.samples.contains_key(&number) && is_full(self) {
            self.samples.pop_first();
        }
    }

    /// Drops samples before this number.
    pub fn forget_before(&mut self, number: SequenceNumber) {
        self.samples.drain(..number).for_each(drop);
    }

    /// Drops samples after this number, which the writer does not have.
    pub fn drop_after(&mut self, number: SequenceNumber) {
        self.forgotten |= self.samples.drain(number.next()..).next().is_some();
    }

    /// Drops all samples.
    pub fn forget_all(&mut self) {
        self.samples.clear();
        self.forgotten = true;
    }

    /// Returns and clears whether needed samples were dropped.
    pub fn take_forgotten(&mut self) -> bool {
        core::mem::take(&mut self.forgotten)
    }

    /// Drops a sample.
    pub fn forget(&mut self, number: SequenceNumber) {
        self.samples.remove(&number);
    }

    /// Returns when the last fragment of any incomplete sample arrived.
    pub fn latest_arrival(&self) -> Option<Instant> {
        self.samples.values().map(|sample| sample.arrived).max()
    }

    /// Returns when the last fragment of an incomplete sample arrived.
    pub fn last_arrival(&self, number: SequenceNumber) -> Option<Instant> {
        self.samples.get(&number).map(|sample| sample.arrived)
    }

    /// Returns whether a sample is incomplete: some but not all fragments have arrived.
    pub fn has_begun(&self, number: SequenceNumber) -> bool {
        self.samples.contains_key(&number)
    }

    /// Returns whether a sample before this number is incomplete.
    pub fn has_begun_before(&self, number: SequenceNumber) -> bool {
        self.samples.range(..number).next().is_some()
    }

    /// Records that fragments up to this one can be requested.
    pub fn extend_known(&mut self, number: SequenceNumber, last: u32) {
        if let Some(sample) = self.samples.get_mut(&number) {
            sample.highest = sample.highest.max(last.min(sample.count()));
        }
    }

    /// Records that all fragments of a sample can be requested.
    pub fn extend_known_to_all(&mut self, number: SequenceNumber) {
        self.extend_known(number, u32::MAX);
    }

    /// Records that this sample has begun to arrive: all fragments of earlier ones were sent and can be requested.
    pub fn note_later_sample(&mut self, number: SequenceNumber) {
        for sample in
            self.samples.range_mut(..number).map(|(_, sample)| sample).filter(|sample| !sample.passed)
        {
            (sample.highest, sample.passed) = (sample.count(), true);
            self.passed = true;
        }
    }

    /// Returns and clears whether samples with missing fragments were passed.
    pub fn take_passed(&mut self) -> bool {
        core::mem::take(&mut self.passed)
    }

    /// Records requested fragments.
    pub fn note_asked(&mut self, number: SequenceNumber, missing: &FragmentSet) {
        if let Some(sample) = self.samples.get_mut(&number) {
            sample.asked = missing.iter().last().map_or(sample.asked, |last| last.max(sample.asked));
        }
    }

    /// Returns the missing fragments of a sample that were not requested, or all missing ones if `again`: up to the
    /// highest known one, and as many as a set holds.
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

    /// Returns the bytes of the incomplete samples.
    pub fn bytes(&self) -> usize {
        self.samples.values().map(|sample| sample.bytes.len()).sum()
    }
}

#[cfg(test)]
mod tests;
