//! Flow control of a ring, outside its records: the writer requests free space, the reader reports its position, and
//! the end of the IPC connection makes that position final.
//!
//! ```text
//!  writer                          reader
//!  finds too little space          reads records
//!  increments its requests         reports its position
//!  fence                           fence
//!  checks the space again          reads the number of requests: rings if it has grown since the last answer
//!  sleeps until its doorbell rings
//! ```
//! By the two fences, either the writer sees the free space or the reader sees the request.

use super::cells::{Cells, OwnCells};
use super::ring::{self, RingReader};

// Indices of the words in a process's memory. Words written at different times are in different cache lines.
const POSITION: usize = 0;
const REQUESTS: usize = 8;
const TEARDOWN: usize = 17;

/// Step of the teardown that one end has reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Teardown {
    /// It has read its last record: its position is final.
    Read = 1,
    /// It has read the peer's final position: the network also carries what the peer reads from now on.
    OnNetwork = 2,
}

/// Requests, in this side's memory, a notification of free space. The writer checks the space after this and before it
/// sleeps.
pub(crate) fn request_space(own: &(impl OwnCells + ?Sized)) {
    own.store(REQUESTS, own.load(REQUESTS).wrapping_add(1));
    own.fence();
}

/// Reports the reader's position in this side's memory. Returns how often the writer, whose memory is `peer`, has
/// requested free space: the argument for [`AnsweredRequests`] before the reader sleeps.
pub(crate) fn report_position(
    reader: &RingReader,
    own: &(impl OwnCells + ?Sized),
    peer: &(impl Cells + ?Sized),
) -> u64 {
    reader.report(own, POSITION);
    own.fence();
    peer.load(REQUESTS)
}

/// The position that the reader, whose memory is `peer`, has reported.
pub(crate) fn position(peer: &(impl Cells + ?Sized)) -> u64 {
    ring::reported(peer, POSITION)
}

/// How often a writer had requested free space when it was last answered.
#[derive(Debug, Default)]
pub(crate) struct AnsweredRequests(u64);

impl AnsweredRequests {
    /// True if it has requested again. The caller then rings for it.
    pub(crate) fn should_ring(&mut self, requested: u64) -> bool {
        std::mem::replace(&mut self.0, requested) != requested
    }
}

/// Announces a step of the teardown in this side's memory. The last reported position is final.
pub(crate) fn announce_teardown(own: &(impl OwnCells + ?Sized), end: Teardown) {
    own.store_release(TEARDOWN, end as u64);
    own.fence();
}

/// Whether the side whose memory is `peer` has reached a step of the teardown.
#[inline]
pub(crate) fn has_reached(peer: &(impl Cells + ?Sized), end: Teardown) -> bool {
    peer.load_acquire(TEARDOWN) >= end as u64
}
