//! Borrowed slots: messages in the memory of a peer, on the reader's side.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use runnel_core::sorted::SortedMap;
use runnel_core::wire::Bytes;
use runnel_io::memory::ForeignBytes;

use super::fault::IpcFault;
use super::outbox::{LOANS, Outbox};
use super::record::{Lending, SegmentAnnouncement};
use super::returns::ReturnWriter;
use crate::frame::MAX_MESSAGE;
use crate::sync::{Class, Mutex, lock};

/// Limit of mapped segments per peer.
const MOST_SEGMENTS: usize = 1024;

/// Limit of the bytes of mapped segments per peer. Mapping takes memory of this process, while a peer can announce one
/// segment repeatedly at no cost.
const MOST_BYTES: u64 = 16 << 30;

/// The longest segment that is mapped, in bytes.
const LONGEST_SEGMENT: u64 = 4 << 30;

/// How much longer than its slots a segment may be: it is rounded up to pages, whose size may differ.
const ROUNDED_UP: u64 = 64 << 10;

/// Releases slots to the peer that owns them, from any thread.
pub(crate) struct SlotReleaser {
    outbox: Arc<Outbox>,
    writer: Mutex<ReturnWriter>,
}

impl SlotReleaser {
    pub(crate) fn new(outbox: Arc<Outbox>) -> Arc<Self> {
        let writer = Mutex::new(Class::IpcReturns, ReturnWriter::new(LOANS));
        Arc::new(Self { outbox, writer })
    }
}

/// A message in a slot that a peer has lent to this process. Dropping it releases the slot.
pub(crate) struct BorrowedSlot {
    segment: Arc<Mapped>,
    start: usize,
    len: usize,
    loan: u32,
    releaser: Arc<SlotReleaser>,
}

/// A segment, which stays mapped while a slot of it is in use.
struct Mapped {
    memory: ForeignBytes,
    slot_bytes: usize,
    slots: usize,
    /// The bytes of all mapped segments.
    bytes: Arc<AtomicU64>,
}

impl Mapped {
    fn new(memory: ForeignBytes, slot_bytes: usize, slots: usize, bytes: &Arc<AtomicU64>) -> Arc<Self> {
        bytes.fetch_add(memory.len() as u64, Ordering::Relaxed);
        Arc::new(Self { memory, slot_bytes, slots, bytes: Arc::clone(bytes) })
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        self.bytes.fetch_sub(self.memory.len() as u64, Ordering::Relaxed);
    }
}

impl Drop for BorrowedSlot {
    fn drop(&mut self) {
        lock(&self.releaser.writer).push(self.releaser.outbox.returns(), self.loan.into());
    }
}

impl BorrowedSlot {
    /// Its bytes, which the peer can alter.
    pub(crate) fn bytes(&self) -> Bytes<'_> {
        // They were there when the slot was borrowed, and the memory does not shrink.
        self.segment.memory.bytes(self.start, self.len).unwrap_or_default()
    }
}

/// The mapped segments of one peer.
#[derive(Default)]
pub(crate) struct MappedSegments {
    mapped: SortedMap<u32, Arc<Mapped>>,
    /// The bytes of all mapped segments, including those that the peer has withdrawn while a slot is in use. Each of
    /// them refers to this.
    bytes: Arc<AtomicU64>,
    /// Number of segments announced since the beginning.
    count: u64,
    /// No more segments are mapped.
    full: bool,
}

/// Why a segment is not mapped.
pub(crate) enum NotMapped {
    /// The peer violates the protocol.
    Misbehaved(IpcFault),
    /// This process has no capacity for it.
    Full(String),
}

impl MappedSegments {
    /// Maps an announced segment. Returns the number of announced segments; `None` if no more are mapped.
    pub(crate) fn map(
        &mut self,
        announcement: SegmentAnnouncement,
        fd: std::os::fd::OwnedFd,
    ) -> Result<Option<usize>, NotMapped> {
        if self.full {
            return Ok(None);
        }
        if announcement.segment != self.count {
            return Err(NotMapped::Misbehaved(IpcFault::SegmentsOutOfOrder));
        }
        let number = u32::try_from(announcement.segment)
            .map_err(|_| NotMapped::Misbehaved(IpcFault::TooManySegments))?;
        let sizes =
            usize::try_from(announcement.slot_bytes).ok().zip(usize::try_from(announcement.slots).ok());
        let Some(((slot_bytes, slots), bytes)) =
            sizes.and_then(|(slot_bytes, slots)| Some(((slot_bytes, slots), slot_bytes.checked_mul(slots)?)))
        else {
            return Err(NotMapped::Misbehaved(IpcFault::SegmentTooLong));
        };
        if Arc::strong_count(&self.bytes) > MOST_SEGMENTS {
            return Err(NotMapped::Full(format!("{MOST_SEGMENTS} segments are mapped already")));
        }
        let left = MOST_BYTES.saturating_sub(self.bytes.load(Ordering::Relaxed));
        let at_most = (bytes as u64).saturating_add(ROUNDED_UP).min(LONGEST_SEGMENT).min(left);
        let memory = ForeignBytes::map(fd, bytes.max(1), usize::try_from(at_most).unwrap_or(usize::MAX));
        let memory = memory.map_err(|error| NotMapped::Full(error.to_string()))?;
        self.mapped.insert(number, Mapped::new(memory, slot_bytes, slots, &self.bytes));
        self.count += 1;
        Ok(Some(self.count as usize))
    }

    /// Stops mapping segments. False if that was so already.
    pub(crate) fn map_no_more(&mut self) -> bool {
        !std::mem::replace(&mut self.full, true)
    }

    /// Borrows a slot that the peer lends.
    pub(crate) fn borrow(
        &self,
        lending: Lending,
        releaser: &Arc<SlotReleaser>,
    ) -> Result<BorrowedSlot, IpcFault> {
        let Lending { segment, loan, slot, len } = lending;
        let segment = self.mapped.get(&segment).ok_or(IpcFault::UnknownSegment)?;
        let (slot, len) = (slot as usize, len as usize);
        if slot >= segment.slots || len > segment.slot_bytes || len > MAX_MESSAGE {
            return Err(IpcFault::UnknownSlot);
        }
        if !lock(&releaser.writer).borrow() {
            return Err(IpcFault::TooManyLoans);
        }
        let (segment, start) = (Arc::clone(segment), slot * segment.slot_bytes);
        Ok(BorrowedSlot { segment, start, len, loan, releaser: Arc::clone(releaser) })
    }

    /// Forgets a segment that has ended.
    pub(crate) fn forget(&mut self, segment: u64) {
        self.mapped.retain(|number, _| u64::from(*number) != segment);
    }
}

#[cfg(test)]
mod tests {
    use runnel_io::segment::Segment;

    use super::*;

    /// Maps the same memory again, as the segment of that number.
    fn map(
        segments: &mut MappedSegments,
        number: u64,
        segment: &Segment,
    ) -> Result<Option<usize>, NotMapped> {
        let announcement = SegmentAnnouncement { segment: number, slot_bytes: 64, slots: 1 };
        segments.map(announcement, segment.fd().try_clone_to_owned().unwrap())
    }

    #[test]
    fn invalid_loans_and_segments_are_refused() {
        let segment = Segment::new(64, 1).unwrap();
        let releaser = SlotReleaser::new(Arc::new(Outbox::new().unwrap()));
        let mut segments = MappedSegments::default();
        assert!(map(&mut segments, 0, &segment).is_ok());
        let borrow = |segment, slot, len| {
            segments.borrow(Lending { segment, loan: 0, slot, len }, &releaser).map(|_| ())
        };
        assert!(matches!(borrow(1, 0, 8), Err(IpcFault::UnknownSegment)));
        assert!(matches!(borrow(0, 1, 8), Err(IpcFault::UnknownSlot)));
        assert!(matches!(borrow(0, 0, 65), Err(IpcFault::UnknownSlot)));
        assert!(borrow(0, 0, 64).is_ok());
        let out_of_order = map(&mut segments, 2, &segment);
        assert!(matches!(out_of_order, Err(NotMapped::Misbehaved(IpcFault::SegmentsOutOfOrder))));
        let announcement = SegmentAnnouncement { segment: 1, slot_bytes: u64::MAX, slots: 2 };
        let too_long = segments.map(announcement, segment.fd().try_clone_to_owned().unwrap());
        assert!(matches!(too_long, Err(NotMapped::Misbehaved(IpcFault::SegmentTooLong))));
    }

    #[test]
    fn withdrawn_segment_counts_while_in_use() {
        let segment = Segment::new(64, 1).unwrap();
        let releaser = SlotReleaser::new(Arc::new(Outbox::new().unwrap()));
        let mut segments = MappedSegments::default();
        let most = MOST_SEGMENTS as u64;
        let mut lent: Vec<BorrowedSlot> = (0..most)
            .map(|number| {
                assert!(map(&mut segments, number, &segment).is_ok(), "{number}");
                let lending = Lending { segment: number as u32, loan: number as u32, slot: 0, len: 8 };
                let lent = segments.borrow(lending, &releaser).unwrap();
                segments.forget(number);
                lent
            })
            .collect();
        assert_eq!(segments.bytes.load(Ordering::Relaxed), most * segment.len() as u64);
        assert!(matches!(map(&mut segments, most, &segment), Err(NotMapped::Full(_))));
        lent.truncate(1);
        assert!(map(&mut segments, most, &segment).is_ok());
        assert_eq!(segments.bytes.load(Ordering::Relaxed), 2 * segment.len() as u64);
    }

    #[test]
    fn segment_much_longer_than_its_slots_is_refused() {
        let mut segments = MappedSegments::default();
        let long = Segment::new(1 << 20, 1).unwrap();
        assert!(matches!(map(&mut segments, 0, &long), Err(NotMapped::Full(_))));
    }
}
