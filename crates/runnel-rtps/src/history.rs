//! History of a writer: the samples that it holds.

use crate::lend::Lend;
use crate::wire::{Guid, SequenceNumber, Timestamp};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
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
    /// Returns whether the sample is for a reader.
    pub fn is_for(&self, reader: Guid) -> bool {
        self.addressed.as_ref().is_none_or(|addressed| addressed.reader == reader)
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
    /// Samples are for one reader each.
    is_addressed: bool,
}

impl<P> History<P> {
    pub fn new() -> Self {
        Self { changes: VecDeque::new(), last: SequenceNumber::ZERO, bytes: 0, is_addressed: false }
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

    /// Returns all samples, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Change<P>> {
        self.changes.iter()
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

    /// Returns the first sample for a reader with this number or a later one.
    pub fn next_for(&self, reader: Guid, number: SequenceNumber) -> Option<&Change<P>> {
        self.changes.range(self.index(number)..).find(|change| change.is_for(reader))
    }

    /// Returns a sample, if it is for a reader.
    pub fn get_for(&self, reader: Guid, number: SequenceNumber) -> Option<&Change<P>> {
        self.get(number).filter(|change| change.is_for(reader))
    }

    /// Addresses a sample to a reader, without inline QoS.
    pub fn address(&mut self, number: SequenceNumber, reader: Guid) {
        let place = self.index(number);
        if let Some(change) = self.changes.get_mut(place).filter(|change| change.number == number) {
            change.addressed = Some(Box::new(Addressed { reader, inline_qos: Vec::new() }));
        }
    }

    /// Returns whether samples are for one reader each, so that a missing one was for another reader.
    pub fn is_addressed(&self) -> bool {
        self.is_addressed
    }

    /// Returns the number of samples for a reader after this one.
    pub fn count_for(&self, reader: Guid, after: SequenceNumber) -> usize {
        let of_reader = self.changes.range(self.index(after.next())..).filter(|change| change.is_for(reader));
        of_reader.count()
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
        self.is_addressed = true;
        let change = self.push(payload, stamp, now);
        change.addressed = Some(Box::new(addressed));
        change.number
    }

    /// Inserts a sample that was written before, unless it is held or was never written.
    pub fn restore(&mut self, number: SequenceNumber, payload: P, stamp: Timestamp, written: Instant) {
        let place = self.changes.partition_point(|change| change.number < number);
        let is_held = self.changes.get(place).is_some_and(|change| change.number == number);
        if number <= self.last && !is_held {
            self.bytes += payload.bytes().len();
            let change =
                Change { number, stamp, written, payload, key: None, disposed: false, addressed: None };
            self.changes.insert(place, change);
        }
    }

    /// Removes the oldest sample.
    pub fn pop(&mut self) -> Option<Change<P>> {
        self.take(0)
    }

    /// Removes the sample at an index.
    pub fn take(&mut self, place: usize) -> Option<Change<P>> {
        let change = self.changes.remove(place)?;
        self.bytes -= change.payload.bytes().len();
        Some(change)
    }

    /// Removes a sample, if it is held.
    pub fn remove(&mut self, number: SequenceNumber) {
        let place = self.index(number);
        if self.changes.get(place).is_some_and(|change| change.number == number) {
            self.take(place);
        }
    }

    /// Removes the samples for which `keep` is false.
    pub fn retain(&mut self, mut keep: impl FnMut(&Change<P>) -> bool) {
        let Self { changes, bytes, .. } = self;
        changes.retain(|change| {
            let kept = keep(change);
            *bytes -= if kept { 0 } else { change.payload.bytes().len() };
            kept
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Payload with as many bytes as its value.
    impl Lend for u32 {
        fn bytes(&self) -> &[u8] {
            &[0; 100][..*self as usize]
        }
    }

    fn history(len: u32) -> History<u32> {
        let mut history = History::new();
        for payload in 1..=len {
            history.push(payload, Timestamp::INVALID, Instant(0));
        }
        history
    }

    #[test]
    fn samples_are_found_by_their_numbers() {
        let mut history = history(5);
        assert_eq!((history.first().0, history.last().0, history.len()), (1, 5, 5));
        history.pop();
        assert_eq!(history.get(SequenceNumber(1)).map(|change| change.payload), None);
        assert_eq!(history.get(SequenceNumber(5)).map(|change| change.payload), Some(5));
        assert_eq!(history.get(SequenceNumber(6)).map(|change| change.payload), None);
        assert_eq!(history.at_or_after(SequenceNumber(-9)).map(|change| change.payload), Some(2));
    }

    #[test]
    fn lookup_skips_holes() {
        let mut history = history(6);
        history.retain(|change| ![1, 3, 4].contains(&change.payload));
        assert_eq!(history.first().0, 2);
        assert_eq!(history.at_or_after(SequenceNumber(3)).map(|change| change.payload), Some(5));
        assert_eq!(history.get(SequenceNumber(4)).map(|change| change.payload), None);
        assert_eq!(history.get(SequenceNumber(6)).map(|change| change.payload), Some(6));
    }

    #[test]
    fn empty_history_begins_with_next_number() {
        let mut history = history(1);
        history.pop();
        assert_eq!((history.first().0, history.last().0), (2, 1));
        assert_eq!((history.skip_number().0, history.first().0), (2, 3));
    }

    #[test]
    fn bytes_of_held_samples_are_counted() {
        let mut history = history(6);
        assert_eq!(history.bytes(), 21);
        history.pop();
        history.take(1);
        history.remove(SequenceNumber(5));
        assert_eq!(history.bytes(), 2 + 4 + 6);
        history.restore(SequenceNumber(3), 3, Timestamp::INVALID, Instant(0));
        history.restore(SequenceNumber(4), 4, Timestamp::INVALID, Instant(0));
        assert_eq!(history.bytes(), 2 + 3 + 4 + 6);
        history.retain(|change| change.payload == 3);
        assert_eq!((history.bytes(), history.len()), (3, 1));
    }
}
