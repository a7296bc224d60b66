//! Slots for payload in shared memory that this process owns. Who uses a slot is counted in private memory, where no
//! peer can alter it.

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

/// Slots begin at multiples of this, so that no two share a cache line.
const ALIGNMENT: usize = 64;

/// How many segments of this process are no more.
static ENDED: AtomicU64 = AtomicU64::new(0);

/// How many segments of this process are no more. Whoever gave some of them away need look after them only when this has
/// changed: an end that is counted shows in the counts of all [`Weak`](std::sync::Weak) that are left of it.
pub fn ended() -> u64 {
    ENDED.load(Ordering::Acquire)
}

/// Slots of one size.
pub struct Segment {
    memory: SharedBytes,
    slot_bytes: usize,
    /// How many hold each slot.
    holders: Box<[AtomicUsize]>,
    free: Mutex<Free>,
}

struct Free {
    /// The one that was freed last comes last: it is the likeliest to be in a cache.
    slots: Vec<u32>,
    retired: bool,
}

impl Segment {
    /// So many free slots of `slot_bytes`, rounded up to a multiple of 64.
    ///
    /// # Errors
    /// When slots have no size, are none or more than 2^32, or as [`SharedWords::new`](crate::memory::SharedWords::new) has them.
    pub fn new(slot_bytes: usize, slots: usize) -> io::Result<Arc<Self>> {
        let (Some((slot_bytes, bytes)), Ok(count)) = (sizes(slot_bytes, slots), u32::try_from(slots)) else {
            let what = format!("no segment can have {slots} slots of {slot_bytes} bytes");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
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

    /// How many slots there are.
    pub fn slots(&self) -> usize {
        self.holders.len()
    }

    /// The descriptor that a peer maps.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.memory.fd()
    }

    /// Bytes of the memory: those of all slots, and what is missing to whole pages.
    #[expect(clippy::len_without_is_empty, reason = "it is never empty")]
    pub fn len(&self) -> usize {
        self.memory.len()
    }

    /// A free slot; what was written to it before is still in it. `None` if there is none, or the segment is retired.
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

    /// Gives no slot away any more. For a segment that somebody may still read without saying when that ends.
    pub fn retire(&self) {
        self.free().retired = true;
    }

    /// True once it is retired.
    pub fn is_retired(&self) -> bool {
        self.free().retired
    }

    /// How many slots are taken.
    pub fn in_use(&self) -> usize {
        self.slots() - self.free().slots.len()
    }

    fn free(&self) -> MutexGuard<'_, Free> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn start_of(&self, index: u32) -> NonNull<u8> {
        // SAFETY: `index` is of a slot, and the memory holds `slot_bytes` for each.
        unsafe { self.memory.start().add(index as usize * self.slot_bytes) }
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        ENDED.fetch_add(1, Ordering::Release);
    }
}

/// Bytes of a slot and of all slots.
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

/// One of those who hold a slot. Together they hold the segment once, so that one more costs one count and not two.
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
        // Relaxed, as in `Arc`: who clones holds the slot already.
        if self.holders().fetch_add(1, Ordering::Relaxed) > isize::MAX as usize {
            // Only holders that were forgotten can be so many. The count must not come round to zero.
            std::process::abort();
        }
        // SAFETY: the copy is dropped by the last holder alone, and no other drops the original.
        let segment = unsafe { ptr::read(&raw const self.segment) };
        Self { segment, index: self.index }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if self.holders().fetch_sub(1, Ordering::Release) > 1 {
            return;
        }
        // What the others read of the slot comes before what its next holder writes.
        fence(Ordering::Acquire);
        self.segment.free().slots.push(self.index);
        // SAFETY: this was the last holder, so that no copy of the `Arc` is used any more, and this one not after this.
        unsafe { ManuallyDrop::drop(&mut self.segment) };
    }
}

/// A slot that is being written. Dropping it frees the slot.
pub struct SlotMut {
    held: Held,
}

impl SlotMut {
    /// Ends the writing; the first `len` bytes count.
    ///
    /// # Panics
    /// When the slot has fewer.
    pub fn freeze(self, len: usize) -> Slot {
        assert!(len <= self.held.segment.slot_bytes, "{len} bytes do not fit in a slot");
        Slot { held: self.held, len }
    }
}

impl Deref for SlotMut {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the slot has so many bytes, in memory that lives as long as the segment that is held; this is its
        // only holder in this process, and others cannot write it.
        unsafe { slice::from_raw_parts(self.held.start().as_ptr(), self.held.segment.slot_bytes) }
    }
}

impl DerefMut for SlotMut {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `deref`; it is borrowed for writing, `SlotMut` cannot be cloned, and peers are told of a slot
        // only when it is frozen: one that reads it all the same harms itself alone.
        unsafe { slice::from_raw_parts_mut(self.held.start().as_ptr(), self.held.segment.slot_bytes) }
    }
}

impl fmt::Debug for SlotMut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SlotMut({})", self.held.index)
    }
}

/// A slot that is written no more. The last clone's drop frees it.
#[derive(Clone)]
pub struct Slot {
    held: Held,
    len: usize,
}

impl Slot {
    /// Whose slot it is.
    pub fn segment(&self) -> &Arc<Segment> {
        &self.held.segment
    }

    /// Which slot of the segment.
    pub fn index(&self) -> u32 {
        self.held.index
    }
}

impl Deref for Slot {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: `freeze` checked that the slot has so many bytes; nobody writes it while there are holders that share
        // it, and it lives as long as the segment that they hold.
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
