//! A participant that is nobody's node, and says what a test has it say.

use std::net::SocketAddr;

use runnel_rtps::announce::Endpoint;
use runnel_rtps::wire::{EntityId, GuidPrefix, InfoDestination};

use super::{Net, announcement, forged_prefix, millis, secs, told_of};

/// See the module.
pub struct Stranger {
    pub prefix: GuidPrefix,
    pub address: SocketAddr,
}

impl Stranger {
    /// One that meets the only node.
    pub fn meet(net: &mut Net, number: u8) -> Self {
        let address = ([10, 9, 9, number], 7410).into();
        let stranger = Self { prefix: forged_prefix(number.into()), address };
        let mut greeting = announcement(stranger.prefix, address, Some(secs(300)));
        InfoDestination { prefix: net.nodes[0].participant.prefix() }.emit(&mut greeting);
        net.answering.insert(address);
        stranger.say(net, &greeting);
        assert!(net.nodes[0].participant.peer(stranger.prefix).is_some_and(|peer| peer.is_proved()));
        stranger
    }

    pub fn say(&self, net: &mut Net, bytes: &[u8]) {
        net.send(self.address, net.nodes[0].address, bytes);
        net.run_for(millis(1));
    }

    /// What it would tell of an endpoint that is as this one of the node's.
    pub fn endpoint(&self, net: &Net, like: EntityId, entity: EntityId) -> Endpoint {
        let ours = net.nodes[0].participant.prefix().with(like);
        let like = net.nodes[0].participant.endpoint(ours).unwrap().clone();
        Endpoint { guid: self.prefix.with(entity), ..like }
    }

    /// It has an endpoint, of which it tells.
    pub fn has(&self, net: &mut Net, endpoint: &Endpoint) {
        self.say(net, &told_of(endpoint));
    }
}
