//! What two processes tell each other of a ring beside its records: the writer that it waits for room, the reader how far
//! it has read, and at the end of the session that this stays so.
//!
//! ```text
//!  writer                          reader
//!  finds no room                   reads records
//!  asks once more than before      tells its position
//!  fence                           fence
//!  looks for room again            sees how often the writer has asked: if not as often as it was answered, rings
//!  sleeps until its bell rings
//! ```
//! Either the writer sees the room or the reader sees that it asks, by the two fences.

use super::cells::{Cells, OwnCells};
use super::ring::{self, RingReader};

// Where the words lie in the memory of a process: those that are written at different times in lines of their own.
const POSITION: usize = 0;
const WANTS: usize = 8;
const END: usize = 17;

/// How far the end of a session has come for one of its ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum End {
    /// It has read its last record: its position stays.
    Read = 1,
    /// It has taken the other's position for the last: what the other reads from now on it gets twice.
    GoneOn = 2,
}

/// Asks, in this side's memory, to be told of room. The writer looks for room after this and before it sleeps.
pub(crate) fn ask_for_room(own: &(impl OwnCells + ?Sized)) {
    own.store(WANTS, own.load(WANTS).wrapping_add(1));
    own.fence();
}

/// Tells the reader's position in this side's memory. How often the writer, whose memory is `peer`, has asked for room:
/// to be given to [`Answered`] before the reader sleeps.
pub(crate) fn tell(reader: &RingReader, own: &(impl OwnCells + ?Sized), peer: &(impl Cells + ?Sized)) -> u64 {
    reader.tell(own, POSITION);
    own.fence();
    peer.load(WANTS)
}

/// The position that the reader, whose memory is `peer`, has told.
pub(crate) fn position(peer: &(impl Cells + ?Sized)) -> u64 {
    ring::told(peer, POSITION)
}

/// How often a writer had asked for room when it was answered last.
#[derive(Debug, Default)]
pub(crate) struct Answered(u64);

impl Answered {
    /// True if it has asked since. The caller then rings for it.
    pub(crate) fn should_ring(&mut self, asked: u64) -> bool {
        std::mem::replace(&mut self.0, asked) != asked
    }
}

/// Tells in this side's memory how far the end of the session has come. The position told before is the last one.
pub(crate) fn tell_end(own: &(impl OwnCells + ?Sized), end: End) {
    own.store_release(END, end as u64);
    own.fence();
}

/// Whether the end of the session has come so far for the side whose memory is `peer`.
#[inline]
pub(crate) fn has_come(peer: &(impl Cells + ?Sized), end: End) -> bool {
    peer.load_acquire(END) >= end as u64
}
