//! IPC: how two processes of one host exchange messages in shared memory.
//!
//! Every word has one writer: a process only writes its own memory and only reads that of its peer. So no process can
//! alter what another wrote, and an impossible position was falsified by its own writer. The algorithms are here, over
//! words at any place ([`cells`]). Mapping the memory and waking the peer are the callers' part.
//!
//! ```text
//!  Sender (any thread) ─► outbox: ring of records ─► Receiver (the driver) ─► links
//!     │ long messages      segments of slots ─────────► BorrowedSlot (a subscription's queue, a callback)
//!     └ lent slots ◄────── outbox of the peer: returns ◄──┘
//! ```

mod announced_segments;
mod borrowed_slot;
pub(crate) mod cells;
mod fault;
pub(crate) mod flow_control;
mod loans;
mod outbox;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod play;
mod pool;
mod receiver;
mod record;
pub(crate) mod returns;
pub(crate) mod ring;
mod sender;
pub(crate) mod sleep_flag;

#[cfg(test)]
mod tests;

use std::fmt;

pub(crate) use borrowed_slot::BorrowedSlot;
pub(crate) use fault::IpcFault;
pub(crate) use outbox::{Inbox, Outbox, RING};
pub(crate) use pool::{Pool, Reservation, SHORTEST};
pub(crate) use receiver::{ChannelData, Receiver, RecordEvent, SampleData};
pub(crate) use record::{Hello, NoHello};
pub(crate) use ring::Record;
pub(crate) use sender::{Sender, Tally, UnreadSample, UnreadSamples};

/// The peer reported an impossible position: before an earlier one, or ahead of what there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Falsified;

impl fmt::Display for Falsified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("reported an impossible position in shared memory")
    }
}
