//! Tests of the history.

use super::*;
use crate::wire::{EntityId, GuidPrefix};

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
    history.restore(
        (SequenceNumber(3), 3),
        Timestamp::INVALID,
        Instant(0),
        GuidPrefix::UNKNOWN.with(EntityId::UNKNOWN),
    );
    history.restore(
        (SequenceNumber(4), 4),
        Timestamp::INVALID,
        Instant(0),
        GuidPrefix::UNKNOWN.with(EntityId::UNKNOWN),
    );
    assert_eq!(history.bytes(), 2 + 3 + 4 + 6);
    history.retain(|change| change.payload == 3);
    assert_eq!((history.bytes(), history.len()), (3, 1));
}
