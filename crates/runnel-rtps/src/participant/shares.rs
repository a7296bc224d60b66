//! How much of what there is for others one address may have: whoever has it is not to keep out all others.

use super::{Participant, Peer};
use crate::announce::Endpoint;
use crate::stored::Lend;
use core::net::IpAddr;

impl<P: Lend> Participant<P> {
    /// True if there is room for another participant, that is reached at this address.
    pub(super) fn has_room_at(&self, ip: IpAddr) -> bool {
        let limits = self.config.limits;
        let most = if self.config.is_own(ip) { usize::MAX } else { limits.participants_per_address };
        self.peers.proved_count() < limits.participants && self.proved_at(ip).take(most).count() < most
    }

    /// True if there is room for what a participant tells of an endpoint.
    pub(super) fn has_room_for(&self, endpoint: &Endpoint) -> bool {
        let Some(peer) = self.peers.get(endpoint.guid.prefix) else { return false };
        let known = peer.endpoints.get(&endpoint.guid.entity).map_or(0, Endpoint::bytes);
        let more = endpoint.bytes().saturating_sub(known);
        let most = self.config.limits.endpoint_bytes;
        let taken: usize = self.peers.proved().map(|peer| peer.endpoint_bytes).sum();
        let here: usize = self.proved_at(peer.address().ip()).map(|peer| peer.endpoint_bytes).sum();
        let is_own = self.config.is_own(peer.address().ip());
        taken + more <= most && (is_own || here + more <= most / 4)
    }

    fn proved_at(&self, ip: IpAddr) -> impl Iterator<Item = &Peer> {
        self.peers.proved().filter(move |peer| peer.address().ip() == ip)
    }
}
