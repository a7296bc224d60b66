//! First position of a reader with a Runnel writer: only what the writer addresses to the reader itself sets it.
//!
//! A datagram of the writer may serve all readers of a participant that the writer knows. It does not know a new reader
//! yet, and its HEARTBEAT begins at samples that the others miss. Samples from there on would be followed by a hole, up
//! to the first sample that is due to the new reader. Until the position is set, received samples are held.

use super::WriterProxy;
use crate::wire::EntityId;
use core::time::Duration;
use runnel_core::time::Instant;

/// How long what is addressed to all readers is ignored. Earlier versions address nothing to a reader that has the same
/// progress as others.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

impl WriterProxy {
    /// Returns whether a HEARTBEAT or GAP to this reader, or to all, applies to this one.
    pub(super) fn is_addressed(&mut self, now: Instant, reader: EntityId) -> bool {
        let is_for_known_readers = reader == EntityId::UNKNOWN
            && !self.has_first_heartbeat
            && self.has_unique_guid()
            && !self.spec.guid.entity.is_builtin();
        !is_for_known_readers || *self.unaddressed_since.get_or_insert(now) + LONGEST_WAIT <= now
    }
}
