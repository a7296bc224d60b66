//! Messages that lie in memory of a peer, on the side of whoever reads them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use runnel_core::sorted::SortedMap;
use runnel_core::wire::Bytes;
use runnel_io::memory::ForeignBytes;

use super::fault::SessionFault;
use super::outbox::{LOANS, Outbox};
use super::record::{Gift, Lending};
use super::returns::ReturnWriter;
use crate::frame::MAX_MESSAGE;
use crate::sync::{Class, Mutex, lock};

/// Segments of one peer that are mapped at a time.
const MOST_SEGMENTS: usize = 1024;

/// Bytes of the segments of one peer that are mapped at a time: mapping takes memory of this process's own, of which a
/// peer that gives one segment again and again needs none.
const MOST_BYTES: u64 = 16 << 30;

/// The longest segment that is mapped, in bytes.
const LONGEST_SEGMENT: u64 = 4 << 30;

/// How much longer than its slots a segment may be: what is missing to whole pages, however large its maker has them.
const ROUNDED_UP: u64 = 64 << 10;

/// Gives slots back to the peer that they are of, from whichever thread.
pub(crate) struct Returner {
    outbox: Arc<Outbox>,
    writer: Mutex<ReturnWriter>,
}

impl Returner {
    pub(crate) fn new(outbox: Arc<Outbox>) -> Arc<Self> {
        let writer = Mutex::new(Class::IpcReturns, ReturnWriter::new(LOANS));
        Arc::new(Self { outbox, writer })
    }
}

/// A message in a slot that is lent to this process. The slot is given back when it is dropped.
pub(crate) struct Lent {
    segment: Arc<Mapped>,
    start: usize,
    len: usize,
    loan: u32,
    returner: Arc<Returner>,
}

/// A segment, which stays mapped as long as anybody reads in it.
struct Mapped {
    memory: ForeignBytes,
    slot_bytes: usize,
    slots: usize,
    /// The bytes of all that are mapped.
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

impl Drop for Lent {
    fn drop(&mut self) {
        lock(&self.returner.writer).push(self.returner.outbox.returns(), self.loan.into());
    }
}

impl Lent {
    /// Its bytes, which the peer can alter.
    pub(crate) fn bytes(&self) -> Bytes<'_> {
        // They were there when the slot was borrowed, and memory does not shrink.
        self.segment.memory.bytes(self.start, self.len).unwrap_or_default()
    }
}

/// The segments of one peer.
#[derive(Default)]
pub(crate) struct Segments {
    mapped: SortedMap<u32, Arc<Mapped>>,
    /// The bytes of all that are mapped, those among them that the peer has taken back and somebody still reads. Each of
    /// them refers to this.
    bytes: Arc<AtomicU64>,
    /// How many were ever given.
    count: u64,
    /// No more are mapped.
    full: bool,
}

/// Why a segment is not mapped.
pub(crate) enum NotMapped {
    /// Its peer does not keep to the agreement.
    Misbehaved(SessionFault),
    /// This process has no room for it.
    Full(String),
}

impl Segments {
    /// Maps a segment that the peer gives; how many it has given. `None` if no more are mapped.
    pub(crate) fn map(&mut self, gift: Gift, fd: std::os::fd::OwnedFd) -> Result<Option<usize>, NotMapped> {
        if self.full {
            return Ok(None);
        }
        if gift.segment != self.count {
            return Err(NotMapped::Misbehaved(SessionFault::SegmentsOutOfOrder));
        }
        let number =
            u32::try_from(gift.segment).map_err(|_| NotMapped::Misbehaved(SessionFault::TooManySegments))?;
        let sizes = usize::try_from(gift.slot_bytes).ok().zip(usize::try_from(gift.slots).ok());
        let Some(((slot_bytes, slots), bytes)) =
            sizes.and_then(|(slot_bytes, slots)| Some(((slot_bytes, slots), slot_bytes.checked_mul(slots)?)))
        else {
            return Err(NotMapped::Misbehaved(SessionFault::SegmentTooLong));
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

    /// No more are mapped; false if that was so already.
    pub(crate) fn map_no_more(&mut self) -> bool {
        !std::mem::replace(&mut self.full, true)
    }

    /// The message in a slot that the peer lends, or what is wrong with that.
    pub(crate) fn borrow(&self, lending: Lending, returner: &Arc<Returner>) -> Result<Lent, SessionFault> {
        let Lending { segment, loan, slot, len } = lending;
        let segment = self.mapped.get(&segment).ok_or(SessionFault::UnknownSegment)?;
        let (slot, len) = (slot as usize, len as usize);
        if slot >= segment.slots || len > segment.slot_bytes || len > MAX_MESSAGE {
            return Err(SessionFault::UnknownSlot);
        }
        if !lock(&returner.writer).borrow() {
            return Err(SessionFault::TooManyLoans);
        }
        let (segment, start) = (Arc::clone(segment), slot * segment.slot_bytes);
        Ok(Lent { segment, start, len, loan, returner: Arc::clone(returner) })
    }

    /// A segment is no more.
    pub(crate) fn forget(&mut self, segment: u64) {
        self.mapped.retain(|number, _| u64::from(*number) != segment);
    }
}

#[cfg(test)]
mod tests {
    use runnel_io::segment::Segment;

    use super::*;

    /// Maps the same memory once more, as the segment of that number.
    fn map(segments: &mut Segments, number: u64, segment: &Segment) -> Result<Option<usize>, NotMapped> {
        let gift = Gift { segment: number, slot_bytes: 64, slots: 1 };
        segments.map(gift, segment.fd().try_clone_to_owned().unwrap())
    }

    #[test]
    fn what_cannot_be_lent_or_given_is_refused_by_kind() {
        let segment = Segment::new(64, 1).unwrap();
        let returner = Returner::new(Arc::new(Outbox::new().unwrap()));
        let mut segments = Segments::default();
        assert!(map(&mut segments, 0, &segment).is_ok());
        let borrow = |segment, slot, len| {
            segments.borrow(Lending { segment, loan: 0, slot, len }, &returner).map(|_| ())
        };
        assert!(matches!(borrow(1, 0, 8), Err(SessionFault::UnknownSegment)));
        assert!(matches!(borrow(0, 1, 8), Err(SessionFault::UnknownSlot)));
        assert!(matches!(borrow(0, 0, 65), Err(SessionFault::UnknownSlot)));
        assert!(borrow(0, 0, 64).is_ok());
        let out_of_order = map(&mut segments, 2, &segment);
        assert!(matches!(out_of_order, Err(NotMapped::Misbehaved(SessionFault::SegmentsOutOfOrder))));
        let gift = Gift { segment: 1, slot_bytes: u64::MAX, slots: 2 };
        let too_long = segments.map(gift, segment.fd().try_clone_to_owned().unwrap());
        assert!(matches!(too_long, Err(NotMapped::Misbehaved(SessionFault::SegmentTooLong))));
    }

    #[test]
    fn a_segment_that_its_peer_has_forgotten_counts_while_somebody_reads_it() {
        let segment = Segment::new(64, 1).unwrap();
        let returner = Returner::new(Arc::new(Outbox::new().unwrap()));
        let mut segments = Segments::default();
        let most = MOST_SEGMENTS as u64;
        let mut lent: Vec<Lent> = (0..most)
            .map(|number| {
                assert!(map(&mut segments, number, &segment).is_ok(), "{number}");
                let lending = Lending { segment: number as u32, loan: number as u32, slot: 0, len: 8 };
                let lent = segments.borrow(lending, &returner).unwrap();
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
    fn a_segment_that_is_much_longer_than_its_slots_is_not_mapped() {
        let mut segments = Segments::default();
        let long = Segment::new(1 << 20, 1).unwrap();
        assert!(matches!(map(&mut segments, 0, &long), Err(NotMapped::Full(_))));
    }
}
