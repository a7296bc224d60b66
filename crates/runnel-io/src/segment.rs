//! Shared-memory segment: slots for payload that this process owns. Users of a slot are counted in private memory,
//! where no peer can alter the count.

use crate::memory::SharedBytes;
use std::fmt;
use std::io;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::os::fd::BorrowedFd;
use std::ptr::{self, NonNull};
use std::slice;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering, fence};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Alignment of slots, in bytes, so that no two share a cache line.
const ALIGNMENT: usize = 64;

/// Segments of this process that were dropped.
static ENDED: AtomicU64 = AtomicU64::new(0);

/// Number of segments of this process that were dropped. A holder of [`Weak`](std::sync::Weak) references need check
/// them only after a change: a counted drop is already visible in all of them.
pub fn ended() -> u64 {
    ENDED.load(Ordering::Acquire)
}

/// Slots of one size.
pub struct Segment {
    memory: SharedBytes,
    slot_bytes: usize,
    /// Users of each slot.
    holders: Box<[AtomicUsize]>,
    free: Mutex<Free>,
}

struct Free {
    /// Free slots. The last one was freed last and is the likeliest to be in a cache.
    slots: Vec<u32>,
    retired: bool,
}

impl Segment {
    /// Creates a segment of `slots` free slots of `slot_bytes`, rounded up to a multiple of 64.
    ///
    /// # Errors
    /// If the slots have no size, there are none or more than 2^32, or as
    /// [`SharedWords::new`](crate::memory::SharedWords::new).
    pub fn new(slot_bytes: usize, slots: usize) -> io::Result<Arc<Self>> {
        let (Some((slot_bytes, bytes)), Ok(count)) = (sizes(slot_bytes, slots), u32::try_from(slots)) else {
            let reason = format!("a segment cannot have {slots} slots of {slot_bytes} bytes");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
        };
        let memory = SharedBytes::new("runnel-segment", bytes)?;
        let holders = (0..count).map(|_| AtomicUsize::new(0)).collect();
        let free = Mutex::new(Free { slots: (0..count).rev().collect(), retired: false });
        Ok(Arc::new(Self { memory, slot_bytes, holders, free }))
    }

    /// Bytes of a slot. Slot `index` begins at byte `index * slot_bytes` of the memory.
    pub fn slot_bytes(&self) -> usize {
        self.slot_bytes
    }

    /// Number of slots.
    pub fn slots(&self) -> usize {
        self.holders.len()
    }

    /// The descriptor that a peer maps.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.memory.fd()
    }

    /// Size of the memory in bytes: all slots, rounded up to whole pages.
    #[expect(clippy::len_without_is_empty, reason = "it is never empty")]
    pub fn len(&self) -> usize {
        self.memory.len()
    }

    /// Takes a free slot, with its old content. `None` if there is none, or the segment is retired.
    pub fn take(self: &Arc<Self>) -> Option<SlotMut> {
        let mut free = self.free();
        if free.retired {
            return None;
        }
        let index = free.slots.pop()?;
        drop(free);
        self.holders[index as usize].store(1, Ordering::Relaxed);
        Some(SlotMut { held: Held { segment: ManuallyDrop::new(Arc::clone(self)), index } })
    }

    /// Stops giving out slots, for a segment that a peer may read without reporting the end.
    pub fn retire(&self) {
        self.free().retired = true;
    }

    /// True once the segment is retired.
    pub fn is_retired(&self) -> bool {
        self.free().retired
    }

    /// Number of slots in use.
    pub fn in_use(&self) -> usize {
        self.slots() - self.free().slots.len()
    }

    fn free(&self) -> MutexGuard<'_, Free> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn start_of(&self, index: u32) -> NonNull<u8> {
        // SAFETY: `index` is that of a slot, and the memory holds `slot_bytes` for each.
        unsafe { self.memory.start().add(index as usize * self.slot_bytes) }
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        ENDED.fetch_add(1, Ordering::Release);
    }
}

/// Bytes of one slot and of all slots.
fn sizes(slot_bytes: usize, slots: usize) -> Option<(usize, usize)> {
    let slot_bytes = slot_bytes.checked_next_multiple_of(ALIGNMENT)?;
    let bytes = slot_bytes.checked_mul(slots)?;
    (bytes > 0).then_some((slot_bytes, bytes))
}

impl fmt::Debug for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Segment({} of {} slots of {} bytes)", self.in_use(), self.slots(), self.slot_bytes)
    }
}

/// One user of a slot. All users together hold one reference to the segment, so that one more costs one count and not
/// two.
struct Held {
    segment: ManuallyDrop<Arc<Segment>>,
    index: u32,
}

impl Held {
    fn start(&self) -> NonNull<u8> {
        self.segment.start_of(self.index)
    }

    fn holders(&self) -> &AtomicUsize {
        &self.segment.holders[self.index as usize]
    }
}

impl Clone for Held {
    fn clone(&self) -> Self {
        // Relaxed, as in `Arc`: the cloning user already holds the slot.
        if self.holders().fetch_add(1, Ordering::Relaxed) > isize::MAX as usize {
            // Only leaked users can be this many. The count must not wrap to zero.
            std::process::abort();
        }
        // SAFETY: only the last user drops the copy, and no other drops the original.
        let segment = unsafe { ptr::read(&raw const self.segment) };
        Self { segment, index: self.index }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if self.holders().fetch_sub(1, Ordering::Release) > 1 {
            return;
        }
        // All reads of the other users precede the writes of the next one.
        fence(Ordering::Acquire);
        self.segment.free().slots.push(self.index);
        // SAFETY: this was the last user: no copy of the `Arc` is used any more, nor this one after this call.
        unsafe { ManuallyDrop::drop(&mut self.segment) };
    }
}

/// A slot that is being written. Dropping it frees the slot.
pub struct SlotMut {
    held: Held,
}

impl SlotMut {
    /// Ends writing; the first `len` bytes are the payload.
    ///
    /// # Panics
    /// If the slot is smaller.
    pub fn freeze(self, len: usize) -> Slot {
        assert!(len <= self.held.segment.slot_bytes, "{len} bytes do not fit in a slot");
        Slot { held: self.held, len }
    }
}

impl Deref for SlotMut {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the slot has this many bytes, in memory that lives as long as the held segment. This is its only
        // user in this process, and other processes cannot write it.
        unsafe { slice::from_raw_parts(self.held.start().as_ptr(), self.held.segment.slot_bytes) }
    }
}

impl DerefMut for SlotMut {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `deref`; it is borrowed mutably, `SlotMut` cannot be cloned, and peers learn of a slot only
        // after `freeze`. A peer that reads it earlier harms only itself.
        unsafe { slice::from_raw_parts_mut(self.held.start().as_ptr(), self.held.segment.slot_bytes) }
    }
}

impl fmt::Debug for SlotMut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SlotMut({})", self.held.index)
    }
}

/// A slot whose writing has ended. Dropping its last clone frees it.
#[derive(Clone)]
pub struct Slot {
    held: Held,
    len: usize,
}

impl Slot {
    /// The segment of the slot.
    pub fn segment(&self) -> &Arc<Segment> {
        &self.held.segment
    }

    /// The index of the slot in its segment.
    pub fn index(&self) -> u32 {
        self.held.index
    }
}

impl Deref for Slot {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: `freeze` checked that the slot has this many bytes. It is not written while users share it, and it
        // lives as long as the segment that they hold.
        unsafe { slice::from_raw_parts(self.held.start().as_ptr(), self.len) }
    }
}

impl AsRef<[u8]> for Slot {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl fmt::Debug for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Slot({}, {} bytes)", self.held.index, self.len)
    }
}

#[cfg(test)]
mod tests;
