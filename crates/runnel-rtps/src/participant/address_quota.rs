//! Quotas per address: no address can exclude all others.

use super::{Participant, Peer};
use crate::announce::Endpoint;
use crate::wire::GuidPrefix;
use core::net::IpAddr;

impl Participant {
    /// Returns whether another participant at this address can become proved. Some places are reserved for local
    /// participants, and for those proved before: at another address, or until their lease ended without a disposal.
    pub(super) fn has_capacity_for_proved(&self, prefix: GuidPrefix, ip: IpAddr) -> bool {
        let limits = self.config.limits;
        let is_own = self.config.is_own(ip);
        let most_here = if is_own { usize::MAX } else { limits.participants_per_address };
        let was_proved =
            self.is_searched(prefix) || self.peers.get(prefix).is_some_and(|peer| peer.was_proved);
        let is_known = is_own || was_proved;
        let kept = if is_known { 0 } else { limits.reserved.min(limits.participants / 4) };
        self.peers.proved_count() + kept < limits.participants
            && self.proved_at(ip).take(most_here).count() < most_here
    }

    /// Returns whether there is memory for an announced endpoint. Remembered ended ones are dropped for it.
    pub(super) fn reserve_endpoint_memory(&mut self, endpoint: &Endpoint) -> bool {
        let Some(peer) = self.peers.get(endpoint.guid.prefix) else { return false };
        let known = peer.endpoints.get(&endpoint.guid.entity).map_or(0, |known| known.bytes());
        let more = endpoint.bytes().saturating_sub(known);
        let most = self.config.limits.endpoint_bytes;
        let ip = peer.address().ip();
        let index = self.peers.index();
        let (all, here) = (index.endpoint_bytes() + more, index.endpoint_bytes_at(ip) + more);
        if all > most || !self.config.is_own(ip) && here > most / 4 {
            return false;
        }
        while all + self.remembered.bytes() > most && self.remembered.forget_oldest() {}
        true
    }

    fn proved_at(&self, ip: IpAddr) -> impl Iterator<Item = &Peer> {
        self.peers.proved().filter(move |peer| peer.address().ip() == ip)
    }
}
