//! Messages that lie in memory of a peer, on the side of whoever reads them.

use std::ops::Deref;
use std::sync::{Arc, Mutex};

use litemap::LiteMap;
use runnel_io::memory::Foreign;
use runnel_io::unix::SameUser;
use runnel_ros1::tcpros::{LENGTH, MAX_MESSAGE};

use super::outbox::{LOANS, Outbox};
use super::record::{Gift, Lending};
use super::returns::ReturnWriter;
use crate::sync::lock;

/// Segments of one peer that are mapped at a time.
const MOST_SEGMENTS: usize = 1024;

/// Bytes of the segments of one peer that are mapped at a time: mapping takes memory of this process's own, of which a
/// peer that gives one segment again and again needs none.
const MOST_BYTES: usize = 16 << 30;

/// The longest segment that is mapped, in bytes.
pub(crate) const LONGEST_SEGMENT: usize = 4 << 30;

/// Gives slots back to the peer that they are of, from whichever thread.
pub(crate) struct Returner {
    outbox: Arc<Outbox>,
    writer: Mutex<ReturnWriter>,
}

impl Returner {
    pub(crate) fn new(outbox: Arc<Outbox>) -> Arc<Self> {
        Arc::new(Self { outbox, writer: Mutex::new(ReturnWriter::new(LOANS)) })
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

struct Mapped {
    memory: Foreign,
    slot_bytes: usize,
    slots: usize,
}

impl Deref for Lent {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        // It was there when the slot was borrowed, memory does not shrink, and who does not trust its peer takes a copy.
        self.segment.memory.bytes(self.start, self.len).unwrap_or(&[])
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        lock(&self.returner.writer).push(self.returner.outbox.returns(), self.loan.into());
    }
}

impl Lent {
    /// A copy, which the peer cannot alter.
    pub(crate) fn copied(&self) -> Vec<u8> {
        self.segment.memory.copy(self.start, self.len).unwrap_or_default()
    }

    /// The bytes from this one on.
    pub(crate) fn skip(mut self, bytes: usize) -> Self {
        let bytes = bytes.min(self.len);
        (self.start, self.len) = (self.start + bytes, self.len - bytes);
        self
    }
}

/// The segments of one peer.
pub(crate) struct Segments {
    /// The peer, if it is trusted to leave alone what it lent.
    trusted: Option<SameUser>,
    mapped: LiteMap<u32, Arc<Mapped>>,
    /// How many were ever given.
    count: u64,
    /// No more are mapped.
    full: bool,
}

/// Why a segment is not mapped.
pub(crate) enum NotMapped {
    /// Its peer does not keep to the agreement.
    Misbehaved(&'static str),
    /// This process has no room for it.
    Full(String),
}

impl Segments {
    /// None yet.
    pub(crate) fn new(trusted: Option<SameUser>) -> Self {
        Self { trusted, mapped: LiteMap::new(), count: 0, full: false }
    }

    /// Maps a segment that the peer gives; how many it has given. `None` if no more are mapped.
    pub(crate) fn map(&mut self, gift: Gift, fd: std::os::fd::OwnedFd) -> Result<Option<usize>, NotMapped> {
        if self.full {
            return Ok(None);
        }
        if gift.segment != self.count {
            return Err(NotMapped::Misbehaved("it gave segments out of order"));
        }
        let number =
            u32::try_from(gift.segment).map_err(|_| NotMapped::Misbehaved("it gave too many segments"))?;
        let sizes = usize::try_from(gift.slot_bytes).ok().zip(usize::try_from(gift.slots).ok());
        let Some(((slot_bytes, slots), bytes)) =
            sizes.and_then(|(slot_bytes, slots)| Some(((slot_bytes, slots), slot_bytes.checked_mul(slots)?)))
        else {
            return Err(NotMapped::Misbehaved("it gave a segment that no memory could hold"));
        };
        if self.mapped.len() >= MOST_SEGMENTS {
            return Err(NotMapped::Full(format!("{MOST_SEGMENTS} segments are mapped already")));
        }
        let memory = Foreign::map(fd, bytes.max(1), LONGEST_SEGMENT.min(MOST_BYTES - self.bytes()));
        let memory = memory.map_err(|error| NotMapped::Full(error.to_string()))?.sent_by(self.trusted);
        self.mapped.insert(number, Arc::new(Mapped { memory, slot_bytes, slots }));
        self.count += 1;
        Ok(Some(self.count as usize))
    }

    fn bytes(&self) -> usize {
        self.mapped.values().map(|segment| segment.memory.len()).sum()
    }

    /// No more are mapped; false if that was so already.
    pub(crate) fn map_no_more(&mut self) -> bool {
        !std::mem::replace(&mut self.full, true)
    }

    /// The message in a slot that the peer lends, or what is wrong with that.
    pub(crate) fn borrow(&self, lending: Lending, returner: &Arc<Returner>) -> Result<Lent, &'static str> {
        let Lending { segment, loan, slot, len } = lending;
        let segment = self.mapped.get(&segment).ok_or("it lent a slot of a segment that it has not given")?;
        let (slot, len) = (slot as usize, len as usize);
        if slot >= segment.slots || len > segment.slot_bytes || len > LENGTH + MAX_MESSAGE {
            return Err("it lent a slot that its segment does not have");
        }
        if !lock(&returner.writer).borrow() {
            return Err("it lent more slots than it may");
        }
        let (segment, start) = (Arc::clone(segment), slot * segment.slot_bytes);
        Ok(Lent { segment, start, len, loan, returner: Arc::clone(returner) })
    }

    /// A segment is no more.
    pub(crate) fn forget(&mut self, segment: u64) {
        self.mapped.retain(|number, _| u64::from(*number) != segment);
    }
}
