//! Pool of shared memory segments of a process, whose slots hold messages that other processes read without
//! copying.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use runnel_io::memory::check_available;
use runnel_io::segment::{Segment, SlotMut};

use crate::sync::{Class, Mutex, lock};

/// The shortest message that gets a slot, in bytes: below it copying costs less than lending.
pub(crate) const SHORTEST: usize = 4096;

/// Bytes of a segment whose slots are shorter than half of it.
const SEGMENT: usize = 4 << 20;

/// The same for preallocated memory: fewer segments must be announced to each reader.
const RESERVED_SEGMENT: usize = 64 << 20;

/// Minimum of slots per segment: one is written while another is read.
const FEWEST: usize = 2;

/// Messages that get no slot after an allocation has failed.
const PAUSE: u32 = 1000;

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct Pool {
    /// Limit of the bytes of all segments, and quota of one other process, both without preallocated memory.
    limit: usize,
    share: usize,
    reserved: AtomicUsize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    segments: Vec<Arc<Segment>>,
    /// Bytes of segments that are being allocated.
    allocating: usize,
    /// After a failed allocation: how many more messages get no slot before the next attempt.
    skipped: u32,
}

/// Preallocated memory, freed when dropped.
#[derive(Debug)]
pub(crate) struct Reservation {
    pool: Arc<Pool>,
    segments: Vec<Arc<Segment>>,
    bytes: usize,
}

impl Pool {
    /// A pool of at most `limit` bytes, of which one other process may hold `share`.
    pub(crate) fn new(limit: usize, share: usize) -> Self {
        let state = Mutex::new(Class::IpcPool, State::default());
        Self { limit, share, reserved: AtomicUsize::new(0), state }
    }

    /// Quota of one other process in bytes.
    pub(crate) fn share(&self) -> usize {
        self.share.saturating_add(self.reserved.load(Ordering::Relaxed))
    }

    fn limit(&self) -> usize {
        self.limit.saturating_add(self.reserved.load(Ordering::Relaxed))
    }

    /// A slot for a message of `bytes` bytes, with unspecified content; `None` if there is no memory for it.
    pub(crate) fn take(&self, bytes: usize) -> Option<SlotMut> {
        let slot_bytes = class(bytes)?;
        let slots = (SEGMENT / slot_bytes).max(FEWEST);
        let unused = {
            let mut state = lock(&self.state);
            if let Some(slot) = state.take(slot_bytes) {
                return Some(slot);
            }
            state.reserve_space(slots.checked_mul(slot_bytes)?, self.limit())?
        };
        drop(unused);
        match self.allocate(slot_bytes, slots) {
            Ok(segment) => segment.take(),
            Err(_) => {
                lock(&self.state).skipped = PAUSE;
                None
            }
        }
    }

    /// Allocates a segment whose bytes are within the limit. The caller holds no lock, since that takes a millisecond
    /// for a few MB.
    fn allocate(&self, slot_bytes: usize, slots: usize) -> io::Result<Arc<Segment>> {
        let allocate = Segment::new(slot_bytes, slots);
        let mut state = lock(&self.state);
        state.allocating -= slots * slot_bytes;
        state.segments.extend(allocate.iter().cloned());
        allocate
    }

    /// Preallocates memory for `messages` messages of up to `bytes` bytes, beyond the limit and the quota.
    ///
    /// # Errors
    /// If there is too little memory.
    pub(crate) fn preallocate(self: &Arc<Self>, messages: usize, bytes: usize) -> io::Result<Reservation> {
        let slot_bytes = class(bytes).ok_or(io::ErrorKind::OutOfMemory)?;
        check_available(slot_bytes.saturating_mul(messages))?;
        let mut reservation = Reservation { pool: Arc::clone(self), segments: Vec::new(), bytes: 0 };
        let most = (RESERVED_SEGMENT / slot_bytes).max(FEWEST);
        for first in (0..messages).step_by(most) {
            reservation.extend(slot_bytes, most.min(messages - first))?;
        }
        Ok(reservation)
    }

    /// Frees unused segments.
    pub(crate) fn trim(&self) {
        let unused = lock(&self.state).take_unused();
        drop(unused);
    }
}

impl Reservation {
    fn extend(&mut self, slot_bytes: usize, slots: usize) -> io::Result<()> {
        let bytes = slot_bytes * slots;
        self.bytes += bytes;
        self.pool.reserved.fetch_add(bytes, Ordering::Relaxed);
        lock(&self.pool.state).allocating += bytes;
        self.segments.push(self.pool.allocate(slot_bytes, slots)?);
        Ok(())
    }

    /// The segments, without those that a vanished reader still held.
    pub(crate) fn segments(&mut self) -> &[Arc<Segment>] {
        self.segments.retain(|segment| !segment.is_retired());
        &self.segments
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.segments.clear();
        self.pool.reserved.fetch_sub(self.bytes, Ordering::Relaxed);
        self.pool.trim();
    }
}

impl State {
    fn take(&self, slot_bytes: usize) -> Option<SlotMut> {
        self.segments
            .iter()
            .rev()
            .filter(|segment| segment.slot_bytes() == slot_bytes)
            .find_map(Segment::take)
    }

    /// Checks that `bytes` more bytes are within the limit; `None` if not. Returns unused segments that must be freed
    /// for that, without the lock.
    fn reserve_space(&mut self, bytes: usize, limit: usize) -> Option<Vec<Arc<Segment>>> {
        if bytes > limit {
            return None;
        }
        if self.skipped > 0 {
            self.skipped -= 1;
            return None;
        }
        let retired = self.segments.extract_if(.., |segment| segment.is_retired());
        let mut unused: Vec<_> = retired.collect();
        if !self.has_capacity(bytes, limit) {
            unused.append(&mut self.take_unused());
        }
        if !self.has_capacity(bytes, limit) {
            self.skipped = PAUSE;
            return None;
        }
        self.allocating += bytes;
        Some(unused)
    }

    fn has_capacity(&self, bytes: usize, limit: usize) -> bool {
        let allocate: usize = self.segments.iter().map(|segment| segment.len()).sum();
        allocate.saturating_add(self.allocating).saturating_add(bytes) <= limit
    }

    /// Takes the segments that no slot and no reservation uses.
    fn take_unused(&mut self) -> Vec<Arc<Segment>> {
        self.segments.extract_if(.., |segment| Arc::strong_count(segment) == 1).collect()
    }
}

/// Slot size for a message: at most a quarter more, so that there are few sizes. `None` if no slot can be that long.
fn class(bytes: usize) -> Option<usize> {
    let step = (bytes.max(SHORTEST).checked_next_power_of_two()? / 8).max(1);
    bytes.max(SHORTEST).checked_next_multiple_of(step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slot_is_little_longer_than_message() {
        for bytes in [1, 4096, 4097, 5000, 65_536, 65_537, 100_000, 2 << 20, (2 << 20) + 28] {
            let slot = class(bytes).unwrap();
            assert!(slot >= bytes && slot <= bytes.max(SHORTEST) * 5 / 4, "{bytes}: {slot}");
        }
        assert_eq!(class(usize::MAX), None);
    }

    #[test]
    fn slot_is_reused() {
        let pool = Pool::new(64 << 20, 0);
        let first = pool.take(5000).unwrap();
        let place = first.as_ptr();
        drop(first);
        assert_eq!(pool.take(5001).unwrap().as_ptr(), place);
    }

    #[test]
    fn too_long_message_does_not_block_others() {
        let pool = Pool::new(10 << 20, 0);
        assert!(pool.take(6 << 20).is_none());
        assert!(pool.take(1 << 20).is_some());
    }

    #[test]
    fn preallocation_extends_limits_while_it_exists() {
        let pool = Arc::new(Pool::new(10 << 20, 1 << 20));
        let mut reserved = pool.preallocate(100, 1 << 20).unwrap();
        let segments: Vec<_> = reserved.segments().iter().map(Arc::downgrade).collect();
        let slots: usize = reserved.segments().iter().map(|segment| segment.slots()).sum();
        assert_eq!((slots, pool.share()), (100, 101 << 20));
        assert!(segments.len() < 3, "few have to be given to a reader");
        let held: Vec<_> = (0..100).map(|_| pool.take(1 << 20).unwrap()).collect();
        assert!(pool.take(5 << 20).is_some(), "the rest of the limit is still there");
        pool.trim();
        drop((held, reserved));
        assert_eq!(pool.share(), 1 << 20);
        assert!(segments.iter().all(|segment| segment.strong_count() == 0));
    }

    #[test]
    fn unused_preallocation_stays() {
        let pool = Arc::new(Pool::new(10 << 20, 0));
        let mut reserved = pool.preallocate(3, 1 << 20).unwrap();
        pool.trim();
        let slot = pool.take(1 << 20).unwrap();
        let of = slot.freeze(1);
        assert!(Arc::ptr_eq(of.segment(), &reserved.segments()[0]));
        of.segment().retire();
        assert!(reserved.segments().is_empty(), "a reader has vanished with it");
    }

    #[test]
    fn preallocation_beyond_memory_is_refused() {
        let pool = Arc::new(Pool::new(10 << 20, 0));
        for (messages, bytes) in [(usize::MAX, 5000), (1, usize::MAX), (1 << 30, 1 << 30)] {
            assert!(pool.preallocate(messages, bytes).is_err(), "{messages} of {bytes}");
        }
        assert_eq!((pool.share(), pool.limit()), (0, 10 << 20));
    }

    #[test]
    fn unused_segments_are_freed_at_limit() {
        let pool = Pool::new(10 << 20, 0);
        let held = pool.take(1 << 20).unwrap();
        drop(pool.take(SHORTEST).unwrap());
        assert!(pool.take(1 << 20).is_some(), "of the same segment");
        let next = pool.take(3 << 20).unwrap();
        assert!(pool.take(SHORTEST).is_none(), "two segments are in use");
        drop((held, next));
        (0..PAUSE).for_each(|_| assert!(pool.take(SHORTEST).is_none(), "it is not asked for again at once"));
        assert!(pool.take(SHORTEST).is_some());
    }
}
