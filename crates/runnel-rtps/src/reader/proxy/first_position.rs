//! First position of a reader with a Runnel writer: only submessages that the writer addresses to the reader itself set it.
//!
//! A datagram of the writer may serve all readers of a participant that the writer knows. It does not know a new reader
//! yet, and its HEARTBEAT begins at samples that the others miss. Samples from there on would be followed by a hole, up
//! to the first sample for the new reader. Until the position is set, received samples are held.
//!
//! Version 0.1.0 addresses nothing to a reader that has the same progress as others of its participant. After a while
//! the reader therefore begins with submessages to all readers, at the first sample that it holds: the others may have
//! acknowledged that one, so that the HEARTBEAT begins after it.

use super::WriterProxy;
use crate::wire::{EntityId, Heartbeat, SequenceNumber};
use core::time::Duration;
use runnel_core::time::Instant;

/// Time during which submessages to all readers are ignored. A later version addresses a new reader within a round trip.
const LONGEST_WAIT: Duration = Duration::from_secs(2);

impl WriterProxy {
    /// Returns whether a HEARTBEAT or GAP to this reader, or to all, applies to this one.
    pub(super) fn is_addressed(&mut self, now: Instant, reader: EntityId) -> bool {
        let is_for_known_readers = self.is_for_known_readers(reader) && !self.has_first_heartbeat;
        !is_for_known_readers || *self.unaddressed_since.get_or_insert(now) + LONGEST_WAIT <= now
    }

    /// Returns whether a submessage to this reader or to all may serve other readers only.
    fn is_for_known_readers(&self, reader: EntityId) -> bool {
        reader == EntityId::UNKNOWN && self.has_unique_guid() && !self.spec.guid.entity.is_builtin()
    }

    /// Returns the first position that a HEARTBEAT sets.
    pub(super) fn first_position(&self, heartbeat: &Heartbeat) -> SequenceNumber {
        let held = self.held.first();
        match held.filter(|_| self.is_for_known_readers(heartbeat.reader)) {
            Some(held) => held.min(heartbeat.first),
            None => heartbeat.first,
        }
    }
}
