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
        readers.filter(|reader| !self.has_met(writer, reader.prefix)).collect()
    }

    /// Returns whether a participant has acknowledged the announcement of a local writer.
    pub(super) fn has_met(&self, writer: EntityId, who: GuidPrefix) -> bool {
        let teller = super::teller_of(Role::Writer);
        let Some(told_at) = self.user_writers.get(&writer).map(|writer| writer.told_at) else { return false };
        let Some(teller) = self.writers.get(&teller) else { return false };
        let mut proxies = teller.readers().of(who);
        proxies.any(|proxy| proxy.acked() >= told_at)
    }

    /// Returns the sequence number of the last announced endpoint of this role.
    pub(super) fn told_at(&self, role: Role) -> SequenceNumber {
        let teller = self.writers.get(&super::teller_of(role));
        teller.map_or(SequenceNumber::ZERO, |teller| teller.history().last())
    }
}
