//! What a participant has found out for a writer of its user's.

use super::{Gate, ReaderSpec};
use crate::wire::{AckNack, EntityId, Guid, GuidPrefix, NackFrag};
use core::net::SocketAddr;

/// What a participant has found out for a writer of its user's: see
/// [`Participant::poll_writer_update`](crate::Participant::poll_writer_update).
#[derive(Debug)]
pub struct WriterUpdate {
    pub(crate) writer: EntityId,
    pub(crate) change: Change,
}

/// What has changed.
#[derive(Debug)]
pub(crate) enum Change {
    /// A reader is matched, or said something of itself again.
    Matched(ReaderSpec),
    Unmatched(Guid),
    /// A reader is reached there from now on.
    Moved(Guid, SocketAddr),
    /// Whether the readers of a participant are sent samples from now on.
    Gate(GuidPrefix, Gate),
    /// A reader tells what it has and misses.
    Acknowledged(Guid, AckNack),
    /// A reader tells which fragments it misses.
    MissesFragments(Guid, NackFrag),
}

impl WriterUpdate {
    /// The writer that it is for.
    pub fn writer(&self) -> EntityId {
        self.writer
    }

    /// The reader that is matched, or has said something of itself again.
    pub fn matched(&self) -> Option<Guid> {
        match &self.change {
            Change::Matched(spec) => Some(spec.guid),
            _ => None,
        }
    }

    /// The reader that is matched no longer.
    pub fn unmatched(&self) -> Option<Guid> {
        match self.change {
            Change::Unmatched(reader) => Some(reader),
            _ => None,
        }
    }

    /// The reader whose ACKNACK this is.
    pub fn acknowledged(&self) -> Option<Guid> {
        match self.change {
            Change::Acknowledged(reader, _) => Some(reader),
            _ => None,
        }
    }
}
