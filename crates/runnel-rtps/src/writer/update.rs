//! Updates that a participant sends to a user writer.

use super::{Gate, ReaderSpec};
use crate::wire::{AckNack, EntityId, Guid, GuidPrefix, NackFrag};
use core::net::SocketAddr;
use core::ops::RangeInclusive;

/// Update for a user writer, see [`Participant::poll_writer_update`](crate::Participant::poll_writer_update).
#[derive(Debug)]
pub struct WriterUpdate {
    pub(crate) writer: EntityId,
    pub(crate) change: Change,
}

/// Content of an update.
#[derive(Debug)]
pub(crate) enum Change {
    /// A reader was matched or has announced itself again.
    Matched(ReaderSpec),
    /// The readers in a range were unmatched: one, or all of a participant.
    Unmatched(RangeInclusive<Guid>),
    /// A reader has a new address.
    Moved(Guid, SocketAddr),
    /// The gate for the readers of a participant.
    Gate(GuidPrefix, Gate),
    /// An ACKNACK of a reader.
    Acknowledged(Guid, AckNack),
    /// A NACK_FRAG of a reader.
    MissesFragments(Guid, NackFrag),
}

impl WriterUpdate {
    /// Returns the writer that the update is for.
    pub fn writer(&self) -> EntityId {
        self.writer
    }

    /// Returns the reader that was matched or has announced itself again.
    pub fn matched(&self) -> Option<Guid> {
        match &self.change {
            Change::Matched(spec) => Some(spec.guid),
            _ => None,
        }
    }

    /// Returns the range of the readers that were unmatched: one, or all of a participant.
    pub fn unmatched(&self) -> Option<RangeInclusive<Guid>> {
        match &self.change {
            Change::Unmatched(readers) => Some(readers.clone()),
            _ => None,
        }
    }

    /// Returns the reader of an ACKNACK.
    pub fn acknowledged(&self) -> Option<Guid> {
        match self.change {
            Change::Acknowledged(reader, _) => Some(reader),
            _ => None,
        }
    }
}
