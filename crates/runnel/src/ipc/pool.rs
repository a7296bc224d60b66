//! The segments of a process: memory for messages that others read where they lie.

use std::sync::{Arc, Mutex};

use runnel_io::segment::{Segment, SlotMut};

use crate::sync::lock;

/// The shortest message that gets a slot, in bytes: below it copying costs less than lending.
pub(crate) const SHORTEST: usize = 4096;

/// Bytes of a segment that has slots of less than a quarter of it.
const SEGMENT: usize = 4 << 20;

/// Slots of a segment at least.
const FEWEST: usize = 4;

/// See the module's documentation.
pub(crate) struct Pool {
    /// Bytes of all segments at most.
    limit: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// By the bytes of their slots.
    segments: Vec<Arc<Segment>>,
    /// Memory could not be had: so many more messages are to go without before it is asked for again.
    without: u32,
}

/// Messages that go without a slot after memory could not be had.
const PAUSE: u32 = 1000;

impl Pool {
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, state: Mutex::default() }
    }

    /// A slot for a message of so many bytes, whose contents are whatever they were; `None` if there is no memory for it.
    pub(crate) fn take(&self, bytes: usize) -> Option<SlotMut> {
        let slot_bytes = class(bytes).filter(|slot_bytes| slot_bytes.saturating_mul(FEWEST) <= self.limit)?;
        let mut state = lock(&self.state);
        let mut fitting = state.segments.iter().rev().filter(|segment| segment.slot_bytes() == slot_bytes);
        if let Some(slot) = fitting.find_map(Segment::take) {
            return Some(slot);
        }
        if state.without > 0 {
            state.without -= 1;
            return None;
        }
        match state.grow(slot_bytes, self.limit) {
            Some(segment) => segment.take(),
            None => {
                state.without = PAUSE;
                None
            }
        }
    }
}

impl State {
    /// Adds a segment. Those that serve nobody give way to it.
    fn grow(&mut self, slot_bytes: usize, limit: usize) -> Option<&Arc<Segment>> {
        let slots = (SEGMENT / slot_bytes).max(FEWEST);
        self.segments.retain(|segment| !segment.is_retired());
        if self.bytes() + slots * slot_bytes > limit {
            self.segments.retain(|segment| segment.in_use() > 0);
        }
        if self.bytes() + slots * slot_bytes > limit {
            return None;
        }
        self.segments.push(Segment::new(slot_bytes, slots).ok()?);
        self.segments.last()
    }

    fn bytes(&self) -> usize {
        self.segments.iter().map(|segment| segment.len()).sum()
    }
}

/// The bytes of a slot for so many: at most a quarter more, so that there are few kinds. `None` if no slot is so long.
fn class(bytes: usize) -> Option<usize> {
    let step = (bytes.max(SHORTEST).checked_next_power_of_two()? / 8).max(1);
    bytes.max(SHORTEST).checked_next_multiple_of(step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_little_longer_than_its_message() {
        for bytes in [1, 4096, 4097, 5000, 65_536, 65_537, 100_000, 2 << 20, (2 << 20) + 28] {
            let slot = class(bytes).unwrap();
            assert!(slot >= bytes && slot <= bytes.max(SHORTEST) * 5 / 4, "{bytes}: {slot}");
        }
        assert_eq!(class(usize::MAX), None);
    }

    #[test]
    fn memory_is_used_again() {
        let pool = Pool::new(64 << 20);
        let first = pool.take(5000).unwrap();
        let place = first.as_ptr();
        drop(first);
        assert_eq!(pool.take(5001).unwrap().as_ptr(), place);
    }

    #[test]
    fn a_message_for_which_there_never_is_memory_keeps_it_from_no_other() {
        let pool = Pool::new(10 << 20);
        assert!(pool.take(3 << 20).is_none());
        assert!(pool.take(1 << 20).is_some());
    }

    #[test]
    fn there_is_a_limit_and_what_serves_nobody_gives_way() {
        let pool = Pool::new(10 << 20);
        let held = pool.take(1 << 20).unwrap();
        drop(pool.take(SHORTEST).unwrap());
        assert!(pool.take(1 << 20).is_some(), "of the same segment");
        let next = pool.take(1500 << 10).unwrap();
        assert!(pool.take(SHORTEST).is_none(), "two segments are in use");
        drop((held, next));
    }
}
