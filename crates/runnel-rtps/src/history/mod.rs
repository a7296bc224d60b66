//! History of a writer: the samples that it holds.

mod addressees;
#[cfg(test)]
mod tests;

use crate::lend::Lend;
use crate::wire::{Guid, SequenceNumber, Timestamp};
#[cfg(test)]
pub(crate) use addressees::STEPS;
pub(crate) use addressees::{Addressees, Amount};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::ops::RangeInclusive;
use runnel_core::time::Instant;

/// Sample of a writer.
#[derive(Clone, Debug)]
pub(crate) struct Change<P> {
    /// Sequence number.
    pub number: SequenceNumber,
    /// Source timestamp, by the writer's clock.
    pub stamp: Timestamp,
    /// Time of the write.
    pub written: Instant,
    /// The value, or the key of a disposed instance.
    pub payload: P,
    /// Key, if the writer has keys.
    pub key: Option<Guid>,
    /// The sample disposes of the instance.
    pub disposed: bool,
    /// It is for one reader only.
    pub addressed: Option<Box<Addressed>>,
}

/// Addressee of a sample that is for one reader only: a request or reply of a service.
#[derive(Clone, Debug)]
pub(crate) struct Addressed {
    /// The reader.
    pub reader: Guid,
    /// Inline QoS of the sample: a parameter list, or empty.
    pub inline_qos: Vec<u8>,
}

impl<P> Change<P> {
    /// Returns whether the sample is for one of these readers.
    fn is_for(&self, readers: &RangeInclusive<Guid>) -> bool {
        self.addressed.as_ref().is_none_or(|addressed| readers.contains(&addressed.reader))
    }

    /// Returns the inline QoS of the sample itself.
    pub fn inline_qos(&self) -> &[u8] {
        self.addressed.as_ref().map_or(&[], |addressed| &addressed.inline_qos)
    }
}

/// Samples of a writer in the order of their numbers, which may have holes.
#[derive(Debug)]
pub(crate) struct History<P> {
    changes: VecDeque<Change<P>>,
    last: SequenceNumber,
    bytes: usize,
    /// If samples are for one reader each: those of each reader.
    addressees: Option<Addressees>,
}

impl<P> History<P> {
    pub fn new() -> Self {
        Self { changes: VecDeque::new(), last: SequenceNumber::ZERO, bytes: 0, addressees: None }
    }

    /// Creates a history whose samples are for one reader each, so that a missing one was for another reader.
    pub fn addressed() -> Self {
        Self { addressees: Some(Addressees::default()), ..Self::new() }
    }

    /// Returns the bytes of all samples.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the number of samples.
    pub fn len(&self) -> usize {
        self.changes.len()
    }

    /// Returns the number of the last written sample, held or not.
    pub fn last(&self) -> SequenceNumber {
        self.last
    }

    /// Returns the number of the first held sample, or of the next one to be written.
    pub fn first(&self) -> SequenceNumber {
        self.changes.front().map_or(self.last.next(), |change| change.number)
    }

    /// Returns the number of the first of the last `most` held samples, or of the next one to be written.
    pub fn first_of_newest(&self, most: usize) -> SequenceNumber {
        let place = self.changes.len().saturating_sub(most);
        self.changes.get(place).map_or(self.last.next(), |change| change.number)
    }

    /// Counts a sample that is not held.
    pub fn skip_number(&mut self) -> SequenceNumber {
        self.last = self.last.next();
        self.last
    }

    /// Returns the oldest sample.
    pub fn front(&self) -> Option<&Change<P>> {
        self.changes.front()
    }

    /// Returns the index of the oldest sample that may be removed, except the last written one.
    pub fn find(&self, can_displace: impl Fn(SequenceNumber) -> bool) -> Option<usize> {
        self.changes.iter().position(|change| change.number < self.last && can_displace(change.number))
    }

    /// Returns a sample.
    pub fn get(&self, number: SequenceNumber) -> Option<&Change<P>> {
        self.at_or_after(number).filter(|change| change.number == number)
    }

    /// Returns the first sample with this number or a later one.
    pub fn at_or_after(&self, number: SequenceNumber) -> Option<&Change<P>> {
        self.changes.get(self.index(number))
    }

    /// Returns the first sample for one of these readers with this number or a later one.
    pub fn next_for(&self, readers: &RangeInclusive<Guid>, number: SequenceNumber) -> Option<&Change<P>> {
        match &self.addressees {
            Some(addressees) => self.get(addressees.next(readers, number)?),
            None => self.at_or_after(number),
        }
    }

    /// Returns a sample, if it is for one of these readers.
    pub fn get_for(&self, readers: &RangeInclusive<Guid>, number: SequenceNumber) -> Option<&Change<P>> {
        self.get(number).filter(|change| change.is_for(readers))
    }

    /// Returns the samples for each reader, if samples are for one reader each.
    pub fn addressees(&self) -> Option<&Addressees> {
        self.addressees.as_ref()
    }

    /// Returns whether samples are for one reader each.
    pub fn is_addressed(&self) -> bool {
        self.addressees.is_some()
    }

    /// Returns the index of a number, or its insertion index. Without holes it is the distance from the first.
    fn index(&self, number: SequenceNumber) -> usize {
        let guess = number.distance_from(self.first()) as usize;
        match self.changes.get(guess) {
            Some(change) if change.number == number => guess,
            _ => self.changes.partition_point(|change| change.number < number),
        }
    }
}

impl<P: Lend> History<P> {
    /// Appends a sample with the next number.
    pub fn push(&mut self, payload: P, stamp: Timestamp, now: Instant) -> &mut Change<P> {
        self.last = self.last.next();
        let (number, written) = (self.last, now);
        self.bytes += payload.bytes().len();
        let change = Change { number, stamp, written, payload, key: None, disposed: false, addressed: None };
        self.changes.push_back_mut(change)
    }

    /// Appends a sample for one reader.
    pub fn push_for(
        &mut self,
        payload: P,
        stamp: Timestamp,
        now: Instant,
        addressed: Addressed,
    ) -> SequenceNumber {
        let (reader, bytes) = (addressed.reader, payload.bytes().len());
        let change = self.push(payload, stamp, now);
        change.addressed = Some(Box::new(addressed));
        let number = change.number;
        if let Some(addressees) = &mut self.addressees {
            addressees.add(reader, number, bytes);
        }
        number
    }

    /// Inserts a sample that was written before, unless it is held or was never written. If samples are for one reader
    /// each, it is for `reader`, without inline QoS.
    pub fn restore(
        &mut self,
        (number, payload): (SequenceNumber, P),
        stamp: Timestamp,
        written: Instant,
        reader: Guid,
    ) {
        let place = self.changes.partition_point(|change| change.number < number);
        let is_held = self.changes.get(place).is_some_and(|change| change.number == number);
        if number > self.last || is_held {
            return;
        }
        let bytes = payload.bytes().len();
        self.bytes += bytes;
        let addressed = self.addressees.as_mut().map(|addressees| {
            addressees.add(reader, number, bytes);
            Box::new(Addressed { reader, inline_qos: Vec::new() })
        });
        let change = Change { number, stamp, written, payload, key: None, disposed: false, addressed };
        self.changes.insert(place, change);
    }

    /// Removes the oldest sample.
    pub fn pop(&mut self) -> Option<Change<P>> {
        self.take(0)
    }

    /// Removes the sample at an index.
    pub fn take(&mut self, place: usize) -> Option<Change<P>> {
        let change = self.changes.remove(place)?;
        self.bytes -= change.payload.bytes().len();
        forget_addressee(&mut self.addressees, &change);
        Some(change)
    }

    /// Removes a sample, if it is held.
    pub fn remove(&mut self, number: SequenceNumber) {
        let place = self.index(number);
        if self.changes.get(place).is_some_and(|change| change.number == number) {
            self.take(place);
        }
    }

    /// Removes the samples for these readers up to this number.
    pub fn remove_up_to(&mut self, readers: &RangeInclusive<Guid>, number: SequenceNumber) {
        let first = |history: &Self| history.addressees()?.first(readers).filter(|first| *first <= number);
        while let Some(first) = first(self) {
            self.remove(first);
        }
    }

    /// Removes the samples for which `keep` is false.
    pub fn retain(&mut self, mut keep: impl FnMut(&Change<P>) -> bool) {
        let Self { changes, bytes, addressees, .. } = self;
        changes.retain(|change| {
            let kept = keep(change);
            if !kept {
                *bytes -= change.payload.bytes().len();
                forget_addressee(addressees, change);
            }
            kept
        });
    }
}

fn forget_addressee<P: Lend>(addressees: &mut Option<Addressees>, change: &Change<P>) {
    if let (Some(addressees), Some(addressed)) = (addressees, &change.addressed) {
        addressees.remove(addressed.reader, change.number, change.payload.bytes().len());
    }
}
