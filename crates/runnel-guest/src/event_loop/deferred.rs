//! Queue of events that wait for the program: while it waits for a response, or while their callback runs.
//!
//! It only uses the raw bindings, so the tests of this crate compile it for other targets too.

use std::collections::VecDeque;

use crate::abi::{Event, EventKind, Handle};

/// Limit of the bytes of all events.
const MAX_BYTES: usize = 4 << 20;

/// Events and their payloads, in the order of their arrival.
pub(super) struct Deferred {
    events: VecDeque<(Event, Vec<u8>)>,
    bytes: usize,
}

impl Deferred {
    pub(super) const fn new() -> Self {
        Self { events: VecDeque::new(), bytes: 0 }
    }

    /// Adds an event. Of the messages of a subscription, the newest `depth` stay. If there are too many bytes, the oldest
    /// messages go. False if there is no room for the event even so.
    pub(super) fn push(&mut self, event: Event, payload: Vec<u8>, depth: usize) -> bool {
        if is_idempotent(&event) && self.count(|other| is_same(other, &event) && other.id == event.id) > 0 {
            return true;
        }
        let is_message = event.kind == EventKind::MESSAGE;
        if is_message && self.events.len() >= depth && self.count(|other| is_same(other, &event)) >= depth {
            self.pop(|other| is_same(other, &event));
        }
        let size = size(&payload);
        while self.bytes + size > MAX_BYTES && self.pop(can_be_lost).is_some() {}
        // As at the host, a single event may be longer than the limit.
        let has_room = self.bytes + size <= MAX_BYTES || self.events.is_empty();
        if !has_room && is_unlimited(&event) {
            return false;
        }
        self.bytes += size;
        self.events.push_back((event, payload));
        true
    }

    /// Removes the oldest event that is `ready`.
    pub(super) fn pop(&mut self, ready: impl Fn(&Event) -> bool) -> Option<(Event, Vec<u8>)> {
        let oldest = self.events.iter().position(|(event, _)| ready(event))?;
        let removed = self.events.remove(oldest)?;
        self.bytes -= size(&removed.1);
        Some(removed)
    }

    /// Removes the tick of a timer, if there is one.
    pub(super) fn remove_tick(&mut self, timer: Handle) {
        self.pop(|event| event.kind == EventKind::TIMER && event.handle == timer);
    }

    fn count(&self, of: impl Fn(&Event) -> bool) -> usize {
        self.events.iter().filter(|(event, _)| of(event)).count()
    }
}

/// Bytes of an event in memory.
fn size(payload: &[u8]) -> usize {
    size_of::<(Event, Vec<u8>)>() + payload.len()
}

/// Whether two events are of the same kind and entity.
fn is_same(one: &Event, other: &Event) -> bool {
    (one.kind, one.handle) == (other.kind, other.handle)
}

/// Whether a second such event has no effect.
fn is_idempotent(event: &Event) -> bool {
    matches!(event.kind, EventKind::TIMER | EventKind::CANCEL_REQUEST)
}

/// Whether no peer waits for an answer to the event, nor the program for the event.
fn can_be_lost(event: &Event) -> bool {
    matches!(event.kind, EventKind::MESSAGE | EventKind::FEEDBACK | EventKind::PARAMETER)
}

/// Whether peers can cause any number of such events. The program itself limits the others.
fn is_unlimited(event: &Event) -> bool {
    can_be_lost(event) || matches!(event.kind, EventKind::REQUEST | EventKind::GOAL_REQUEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANY: usize = usize::MAX;

    fn event(kind: EventKind, handle: Handle, id: u64) -> Event {
        Event { kind, handle, id, ..Event::default() }
    }

    /// Adds a message of one subscription, with an id to recognize it.
    fn push_message(deferred: &mut Deferred, handle: Handle, id: u64, length: usize, depth: usize) -> bool {
        deferred.push(event(EventKind::MESSAGE, handle, id), vec![0; length], depth)
    }

    fn ids(mut deferred: Deferred) -> Vec<u64> {
        let ids = std::iter::from_fn(|| deferred.pop(|_| true)).map(|(event, _)| event.id).collect();
        assert_eq!(deferred.bytes, 0);
        ids
    }

    #[test]
    fn newest_messages_of_each_subscription_stay() {
        let mut deferred = Deferred::new();
        for id in 0..5 {
            assert!(push_message(&mut deferred, 1, id, 3, 2));
            assert!(push_message(&mut deferred, 2, 10 + id, 3, ANY));
        }
        assert_eq!(ids(deferred), [10, 11, 12, 3, 13, 4, 14]);
    }

    #[test]
    fn oldest_messages_make_room() {
        let mut deferred = Deferred::new();
        assert!(deferred.push(event(EventKind::REQUEST, 9, 1), vec![0; MAX_BYTES / 4], ANY));
        for id in 2..6 {
            assert!(push_message(&mut deferred, 1, id, MAX_BYTES / 4, ANY));
        }
        assert!(deferred.bytes <= MAX_BYTES);
        assert_eq!(ids(deferred), [1, 4, 5]);
    }

    #[test]
    fn single_event_may_be_longer_than_the_limit() {
        let mut deferred = Deferred::new();
        assert!(push_message(&mut deferred, 1, 1, MAX_BYTES, ANY));
        assert!(push_message(&mut deferred, 1, 2, 2 * MAX_BYTES, ANY));
        assert_eq!(ids(deferred), [2]);
    }

    #[test]
    fn request_without_room_is_given_back() {
        let mut deferred = Deferred::new();
        assert!(deferred.push(event(EventKind::REQUEST, 9, 1), vec![0; MAX_BYTES], ANY));
        assert!(!deferred.push(event(EventKind::REQUEST, 9, 2), vec![], ANY));
        assert!(!push_message(&mut deferred, 1, 3, 0, ANY));
        assert!(deferred.push(event(EventKind::RESPONSE, 8, 4), vec![0; MAX_BYTES], ANY));
        assert_eq!(ids(deferred), [1, 4]);
    }

    #[test]
    fn ticks_of_one_timer_are_one() {
        let mut deferred = Deferred::new();
        for timer in [1, 2, 1] {
            assert!(deferred.push(event(EventKind::TIMER, timer, 0), vec![], ANY));
        }
        for goal in [5, 6, 5] {
            assert!(deferred.push(event(EventKind::CANCEL_REQUEST, 3, goal), vec![], ANY));
        }
        assert_eq!(ids(deferred), [0, 0, 5, 6]);
    }

    #[test]
    fn tick_of_canceled_timer_is_removed() {
        let mut deferred = Deferred::new();
        assert!(push_message(&mut deferred, 1, 1, 0, ANY));
        assert!(deferred.push(event(EventKind::TIMER, 1, 2), vec![], ANY));
        assert!(deferred.push(event(EventKind::TIMER, 2, 3), vec![], ANY));
        deferred.remove_tick(1);
        assert_eq!(ids(deferred), [1, 3]);
    }

    #[test]
    fn event_that_is_not_ready_stays() {
        let mut deferred = Deferred::new();
        for id in 0..3 {
            assert!(push_message(&mut deferred, id as Handle, id, 0, ANY));
        }
        let ready = deferred.pop(|event| event.handle > 0);
        assert_eq!(ready.map(|(event, _)| event.id), Some(1));
        assert_eq!(ids(deferred), [0, 2]);
    }
}
