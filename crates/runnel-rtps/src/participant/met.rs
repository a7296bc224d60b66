//! Which readers are known to have met a writer of ours in turn.

use super::Participant;
use crate::announce::Role;
use crate::wire::{EntityId, Guid, GuidPrefix, SequenceNumber};
use alloc::vec::Vec;

impl Participant {
    /// Matched readers of a writer of ours that are not known to have met it: their participants have not acknowledged its
    /// announcement yet, so that they may miss what is sent to them best effort.
    pub fn not_yet_met(&self, writer: EntityId) -> Vec<Guid> {
        let readers = self.user_writers.get(&writer).into_iter().flat_map(|writer| &writer.matched).copied();
        readers.filter(|reader| !self.has_met(writer, reader.prefix)).collect()
    }

    /// Whether a participant is known to have heard of a writer of ours.
    pub(super) fn has_met(&self, writer: EntityId, who: GuidPrefix) -> bool {
        let teller = super::teller_of(Role::Writer);
        let Some(told_at) = self.user_writers.get(&writer).map(|writer| writer.told_at) else { return false };
        let Some(teller) = self.writers.get(&teller) else { return false };
        let mut proxies = teller.readers().of(who);
        proxies.any(|proxy| proxy.acked() >= told_at)
    }

    /// The number under which the last endpoint was announced on this side.
    pub(super) fn told_at(&self, role: Role) -> SequenceNumber {
        let teller = self.writers.get(&super::teller_of(role));
        teller.map_or(SequenceNumber::ZERO, |teller| teller.history().last())
    }
}
