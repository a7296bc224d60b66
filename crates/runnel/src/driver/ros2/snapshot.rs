//! Snapshot of the ROS 2 graph, for queries.

use std::collections::BTreeMap;

use runnel_rtps::announce::{Endpoint, Role};
use runnel_rtps::wire::{EntityId, Guid, GuidPrefix, VendorId};
use runnel_rtps::{Participant, Peer};

use super::Ros2;
use super::graph::TOPIC;
use crate::driver::nodes::{NodeKey, Nodes};
use crate::ros2_graph::{
    DataRepresentation, EndpointInfo, EndpointType, Gid, NodeInfo, ParticipantInfo, Ros2Graph,
};

impl Ros2 {
    /// Snapshot of the ROS 2 graph; `None` if the process has not joined it.
    pub(in crate::driver) fn snapshot(&self, nodes_here: &Nodes) -> Option<Ros2Graph> {
        let rtps = self.rtps.as_ref()?;
        let mut graph = Ros2Graph::default();
        let mut nodes = BTreeMap::new();
        let own = rtps.prefix();
        self.add_own_nodes(nodes_here, own, &mut graph, &mut nodes);
        graph.participants.push(own_participant(own, self.enclave()));
        rtps.read(|participant| {
            participant.own_endpoints().for_each(|own| graph.endpoints.push(endpoint(own, &nodes)));
            for peer in participant.announced() {
                self.add_peer(participant, peer, &mut graph, &mut nodes);
            }
        });
        Some(graph)
    }

    fn add_own_nodes(
        &self,
        nodes_here: &Nodes,
        own: GuidPrefix,
        graph: &mut Ros2Graph,
        nodes: &mut BTreeMap<Guid, String>,
    ) {
        let name_of = |key: NodeKey| nodes_here.get(key).map(|node| node.name.clone());
        let writers = self.writers.iter().map(|(id, end)| (*id, end.node));
        let readers = self.readers.iter().map(|(id, end)| (*id, end.node));
        let all = writers.chain(readers);
        nodes.extend(all.filter_map(|(id, node)| Some((own.with(id), name_of(node)?))));
        let here = nodes_here.iter().filter(|node| node.ros2 && node.stopped.is_none());
        let participant = gid(own.with(EntityId::PARTICIPANT));
        graph.nodes.extend(here.map(|node| NodeInfo { full_name: node.name.clone(), participant }));
    }

    fn add_peer(
        &self,
        participant: &Participant,
        peer: &Peer,
        graph: &mut Ros2Graph,
        nodes: &mut BTreeMap<Guid, String>,
    ) {
        let prefix = peer.data.prefix;
        let known = self.graph.nodes_of(prefix);
        // Incomplete until the participant has announced its nodes, if it has a writer for that.
        let announces_nodes =
            |endpoint: &Endpoint| endpoint.role() == Role::Writer && endpoint.topic == TOPIC;
        let awaited = known.is_none() && peer.endpoints().any(announces_nodes);
        let number = gid(prefix.with(EntityId::PARTICIPANT));
        for node in known.unwrap_or_default() {
            graph.nodes.push(NodeInfo { full_name: node.name.clone(), participant: number });
            nodes.extend(node.endpoints.iter().map(|guid| (*guid, node.name.clone())));
        }
        graph.endpoints.extend(peer.endpoints().map(|other| endpoint(other, nodes)));
        let mut addresses = vec![peer.address()];
        addresses.extend(peer.data.metatraffic.iter().filter(|address| **address != peer.address()));
        graph.participants.push(ParticipantInfo {
            gid: number,
            vendor: peer.data.vendor.to_string(),
            name: peer.data.name.clone(),
            enclave: value_of(&peer.data.user_data, "enclave"),
            addresses,
            is_same_host: peer.is_same_host(),
            answers: peer.is_proved(),
            is_complete: participant.is_complete(prefix) && !awaited,
            is_own: false,
        });
    }
}

fn own_participant(prefix: GuidPrefix, enclave: Option<String>) -> ParticipantInfo {
    ParticipantInfo {
        gid: gid(prefix.with(EntityId::PARTICIPANT)),
        vendor: VendorId::RUNNEL.to_string(),
        name: String::new(),
        enclave,
        addresses: Vec::new(),
        is_same_host: true,
        answers: true,
        is_complete: true,
        is_own: true,
    }
}

fn endpoint(of: &Endpoint, nodes: &BTreeMap<Guid, String>) -> EndpointInfo {
    let endpoint_type = match of.role() {
        Role::Writer => EndpointType::Publisher,
        Role::Reader => EndpointType::Subscription,
    };
    EndpointInfo {
        gid: gid(of.guid),
        endpoint_type,
        dds_topic: of.topic.clone(),
        dds_type: of.type_name.clone(),
        type_hash: value_of(&of.user_data, "typehash"),
        qos: of.qos,
        has_history: of.has_history,
        representations: representations(of),
        node: nodes.get(&of.guid).cloned(),
    }
}

/// The default is XCDR1.
fn representations(of: &Endpoint) -> Vec<DataRepresentation> {
    match of.representations.as_slice() {
        [] => vec![DataRepresentation::Xcdr1],
        named => named.iter().copied().map(DataRepresentation::from).collect(),
    }
}

fn gid(guid: Guid) -> Gid {
    Gid(guid.to_bytes())
}

/// Value of a key in user data, as in `enclave=/;`. Source: rmw_dds_common.
fn value_of(user_data: &[u8], key: &str) -> Option<String> {
    let text = String::from_utf8_lossy(user_data);
    let pairs = text.split(';').filter_map(|pair| pair.split_once('='));
    pairs.into_iter().find(|(name, _)| *name == key).map(|(_, value)| value.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn value_of_finds_user_data_by_key() {
        assert_eq!(value_of(b"enclave=/;securitycontext=/x;", "enclave").as_deref(), Some("/"));
        assert_eq!(value_of(b"typehash=RIHS01_ab;", "typehash").as_deref(), Some("RIHS01_ab"));
        assert_eq!(value_of(b"\xff;typehash", "typehash"), None);
        assert_eq!(value_of(b"enclave=/\x1b[31m\n;", "enclave").as_deref(), Some("/\x1b[31m\n"));
    }
}
