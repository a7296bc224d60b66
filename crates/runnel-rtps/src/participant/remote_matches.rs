//! Matching at the other end: readers whose participants are known to have received the announcement of a local writer.

use super::Participant;
use crate::announce::Role;
use crate::wire::{EntityId, Guid, GuidPrefix, SequenceNumber};
use alloc::vec::Vec;

impl Participant {
    /// Returns the matched readers of a local writer that are not known to have matched it: their participants have not
    /// acknowledged its announcement yet, so they may miss best-effort samples.
    pub fn unconfirmed_matches(&self, writer: EntityId) -> Vec<Guid> {
        let readers = self.user_writers.get(&writer).into_iter().flat_map(|writer| &writer.matched).copied();
        readers.filter(|reader| !self.has_acknowledged_announcement(writer, reader.prefix)).collect()
    }

    /// Returns whether a participant has acknowledged the announcement of a local writer.
    pub(super) fn has_acknowledged_announcement(&self, writer: EntityId, participant: GuidPrefix) -> bool {
        let announcer = super::discovery_writer(Role::Writer);
        let Some(announced_at) = self.user_writers.get(&writer).map(|writer| writer.announced_at) else {
            return false;
        };
        let Some(announcer) = self.writers.get(&announcer) else { return false };
        let mut proxies = announcer.readers().of_participant(participant);
        proxies.any(|proxy| proxy.acked() >= announced_at)
    }

    /// Returns the sequence number of the last announced endpoint of this role.
    pub(super) fn announced_at(&self, role: Role) -> SequenceNumber {
        let announcer = self.writers.get(&super::discovery_writer(role));
        announcer.map_or(SequenceNumber::ZERO, |announcer| announcer.history().last())
    }
}
