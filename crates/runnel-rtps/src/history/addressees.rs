//! Samples that are for one reader each, by reader: what concerns one reader costs nothing for the samples of others.

use crate::wire::{Guid, GuidPrefix, SequenceNumber};
use alloc::collections::{BTreeMap, VecDeque};
use core::ops::RangeInclusive;

/// Held samples of each reader.
#[derive(Debug, Default)]
pub(crate) struct Addressees {
    readers: BTreeMap<Guid, Addressee>,
    /// Samples of all readers of a participant.
    participants: BTreeMap<GuidPrefix, Amount>,
}

#[derive(Debug, Default)]
struct Addressee {
    numbers: VecDeque<SequenceNumber>,
}

/// Number of samples, and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Amount {
    pub samples: usize,
    pub bytes: usize,
}

impl Addressees {
    /// Returns the first number of these readers that is not before this one.
    pub fn next(&self, readers: &RangeInclusive<Guid>, number: SequenceNumber) -> Option<SequenceNumber> {
        let all = self.readers.range(readers.clone());
        all.filter_map(|(_, reader)| {
            count_step();
            reader.numbers.get(reader.index(number)).copied()
        })
        .min()
    }

    /// Returns the first number of these readers.
    pub fn first(&self, readers: &RangeInclusive<Guid>) -> Option<SequenceNumber> {
        let all = self.readers.range(readers.clone());
        all.filter_map(|(_, reader)| reader.numbers.front().copied()).min()
    }

    /// Returns the number of samples of a reader after this one.
    pub fn count_after(&self, reader: Guid, number: SequenceNumber) -> usize {
        let found = self.readers.get(&reader);
        found.map_or(0, |reader| reader.numbers.len() - reader.index(number.next()))
    }

    /// Returns the readers that have samples.
    pub fn readers(&self) -> impl Iterator<Item = Guid> {
        self.readers.keys().copied()
    }

    /// Returns the samples of a participant.
    pub fn amount_of(&self, participant: GuidPrefix) -> Amount {
        self.participants.get(&participant).copied().unwrap_or_default()
    }

    /// Returns the participants that have samples.
    pub fn participants(&self) -> impl Iterator<Item = (GuidPrefix, Amount)> {
        self.participants.iter().map(|(participant, amount)| (*participant, *amount))
    }

    pub(super) fn add(&mut self, reader: Guid, number: SequenceNumber, bytes: usize) {
        let numbers = &mut self.readers.entry(reader).or_default().numbers;
        numbers.insert(numbers.partition_point(|other| *other < number), number);
        let amount = self.participants.entry(reader.prefix).or_default();
        amount.samples += 1;
        amount.bytes += bytes;
    }

    pub(super) fn remove(&mut self, reader: Guid, number: SequenceNumber, bytes: usize) {
        let Some(entry) = self.readers.get_mut(&reader) else { return };
        let index = entry.index(number);
        if entry.numbers.get(index) != Some(&number) {
            return;
        }
        entry.numbers.remove(index);
        if entry.numbers.is_empty() {
            self.readers.remove(&reader);
        }
        if let Some(amount) = self.participants.get_mut(&reader.prefix) {
            amount.samples -= 1;
            amount.bytes -= bytes;
            if amount.samples == 0 {
                self.participants.remove(&reader.prefix);
            }
        }
    }
}

impl Addressee {
    /// Returns the index of the first number that is not before this one.
    fn index(&self, number: SequenceNumber) -> usize {
        self.numbers.partition_point(|other| *other < number)
    }
}

#[cfg(test)]
std::thread_local! {
    /// Number of lookups of a reader's samples.
    pub(crate) static STEPS: core::cell::Cell<usize> = const { core::cell::Cell::new(0) };
}

fn count_step() {
    #[cfg(test)]
    STEPS.with(|steps| steps.set(steps.get() + 1));
}
