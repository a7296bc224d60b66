//! Tests of the queue and of records.

use super::*;

fn event(handle: u32, payload: usize) -> Event {
    Event::new(EventKind::Response, handle, 7).payload(vec![1; payload])
}

#[test]
fn queue_is_limited_by_bytes() {
    let events = Events::new(2 * (RECORD + 100));
    assert!(events.push(event(1, 100)) && events.push(event(2, 100)));
    assert!(!events.push(event(3, 0)), "its record is beyond the limit");
    assert_eq!(events.pop().map(|event| event.handle), Some(1));
    assert!(events.push(event(4, 100)));
}

#[test]
fn single_event_may_be_longer_than_the_limit() {
    let events = Events::new(10);
    assert!(events.push(event(1, 1000)));
    assert!(!events.push(event(2, 1)));
    assert_eq!(events.pop().map(|event| event.payload.len()), Some(1000));
}

#[test]
fn returned_event_is_next_again() {
    let events = Events::new(1000);
    assert!(events.push(event(1, 5)) && events.push(event(2, 5)));
    let first = events.pop().unwrap();
    events.put_back(first);
    let order: Vec<u32> = std::iter::from_fn(|| events.pop()).map(|event| event.handle).collect();
    assert_eq!(order, [1, 2]);
}

#[test]
fn events_of_a_closed_entity_no_longer_count() {
    let events = Events::new(2 * (RECORD + 10));
    assert!(events.push(event(1, 10)) && events.push(event(2, 10)));
    events.forget(1);
    assert!(events.push(event(3, 10)));
    let order: Vec<u32> = std::iter::from_fn(|| events.pop()).map(|event| event.handle).collect();
    assert_eq!(order, [2, 3]);
}

#[test]
fn record_has_the_layout_of_the_interface() {
    let mut event = event(3, 2).status(-5);
    (event.source, event.received, event.sequence, event.publisher) = (-1, 2, 9, [4, 5]);
    let record = event.record();
    let word = |at: usize| u32::from_le_bytes(record[at..at + 4].try_into().unwrap());
    let long = |at: usize| u64::from_le_bytes(record[at..at + 8].try_into().unwrap());
    assert_eq!([word(0), word(4), word(56), word(60)], [4, 3, -5_i32 as u32, 2]);
    assert_eq!([long(8), long(16), long(24), long(32), long(40), long(48)], [7, u64::MAX, 2, 9, 4, 5]);
}
