//! Participant without a node, which sends test messages.

use std::net::SocketAddr;

use runnel_rtps::announce::Endpoint;
use runnel_rtps::wire::{EntityId, GuidPrefix, InfoDestination};

use super::{Net, announcement, endpoint_announcement, forged_prefix, millis, secs};

/// Participant without a node.
pub struct Stranger {
    pub prefix: GuidPrefix,
    pub address: SocketAddr,
}

impl Stranger {
    /// Creates one that the only node discovers.
    pub fn discover(net: &mut Net, number: u8) -> Self {
        let address = ([10, 9, 9, number], 7410).into();
        let stranger = Self { prefix: forged_prefix(number.into()), address };
        let mut greeting = announcement(stranger.prefix, address, Some(secs(300)));
        InfoDestination { prefix: net.nodes[0].participant.prefix() }.emit(&mut greeting);
        net.answering.insert(address);
        stranger.send(net, &greeting);
        assert!(net.nodes[0].participant.peer(stranger.prefix).is_some_and(|peer| peer.is_proved()));
        stranger
    }

    pub fn send(&self, net: &mut Net, bytes: &[u8]) {
        net.send(self.address, net.nodes[0].address, bytes);
        net.run_for(millis(1));
    }

    /// Returns endpoint data equal to an endpoint of the node.
    pub fn endpoint(&self, net: &Net, like: EntityId, entity: EntityId) -> Endpoint {
        let ours = net.nodes[0].participant.prefix().with(like);
        let like = net.nodes[0].participant.endpoint(ours).unwrap().clone();
        Endpoint { guid: self.prefix.with(entity), ..like }
    }

    /// Announces an endpoint.
    pub fn announce(&self, net: &mut Net, endpoint: &Endpoint) {
        self.send(net, &endpoint_announcement(endpoint));
    }
}
