//! Which nodes are in which participants: told by each on `ros_discovery_info`, as all of ROS 2 do.

mod known;
mod widths;

use std::sync::Arc;

use runnel_core::Message;
use runnel_core::qos::QoS;
use runnel_core::sorted::SortedMap;
use runnel_core::wire::{Encoding, cdr};
use runnel_msgs::rmw_dds_common::msg::{Gid, NodeEntitiesInfo, ParticipantEntitiesInfo};
use runnel_rtps::EndpointOptions;
use runnel_rtps::announce::{Endpoint, Role};
use runnel_rtps::wire::{EntityId, Guid, GuidPrefix};

use super::Ros2;
use crate::driver::effect::{Effect, Effects};
use crate::driver::nodes::{NodeKey, Nodes};
use crate::frame::Frame;
use crate::log_output::console;
use crate::rtps::{Rtps, Writer};
use known::{Known, KnownNode};

pub(super) const TOPIC: &str = "ros_discovery_info";

/// By what endpoints tell the hash of their type.
const HASH: &[u8] = b"typehash=";

/// What is known of the nodes of the graph.
#[derive(Default)]
pub(super) struct Graph {
    writer: Option<Arc<Writer>>,
    reader: Option<EntityId>,
    /// What tells those from before Iron, once there is one.
    old_writer: Option<Arc<Writer>>,
    /// By participant.
    nodes: SortedMap<GuidPrefix, Known>,
}

impl Graph {
    /// Begins to tell and to hear.
    pub(super) fn join(&mut self, rtps: &Rtps) {
        let user_data = format!("typehash={};", ParticipantEntitiesInfo::RIHS01);
        let options = || options(user_data.clone());
        self.writer = Some(rtps.create_writer_for(options(), |reader| !is_old(reader)));
        self.reader = Some(rtps.create_reader(options()));
    }

    /// True if this is what brings word of the nodes of others.
    pub(super) fn is_reader(&self, reader: EntityId) -> bool {
        self.reader == Some(reader)
    }

    /// A participant tells of its nodes. What is to be said of that.
    pub(super) fn hear(&mut self, from: GuidPrefix, payload: &[u8]) -> Option<String> {
        let why = self.nodes.entry(from).or_default().hear(payload)?;
        Some(format!("participant {from} {why}"))
    }

    /// A participant is gone, with its nodes.
    pub(super) fn forget(&mut self, participant: GuidPrefix) {
        self.nodes.remove(&participant);
    }

    /// The node that has an endpoint.
    pub(super) fn node_of(&self, endpoint: Guid) -> Option<&str> {
        let nodes = self.nodes.get(&endpoint.prefix)?;
        nodes.nodes().iter().find(|node| node.endpoints.contains(&endpoint)).map(|node| node.name.as_str())
    }

    /// The nodes of a participant, once it has told of them.
    pub(super) fn nodes_of(&self, participant: GuidPrefix) -> Option<&[KnownNode]> {
        self.nodes.get(&participant).map(Known::nodes)
    }
}

impl Ros2 {
    /// Tells of the nodes of this process, and what they have.
    pub(in crate::driver) fn tell_of_nodes(&self, nodes: &Nodes) {
        let (Some(rtps), Some(writer)) = (&self.rtps, &self.graph.writer) else { return };
        let told = self.own_nodes(rtps.prefix(), nodes);
        let mut frame = Vec::new();
        match cdr::encode_into(&told, Encoding::Xcdr1, &mut frame) {
            Ok(()) => drop(rtps.write(writer, Frame::new(Encoding::Xcdr1, frame))),
            Err(error) => console::warning!("others are not told of the nodes of this process: {error}"),
        }
        if let Some(old_writer) = &self.graph.old_writer {
            let mut frame = Vec::new();
            widths::encode_old(&told, &mut frame);
            drop(rtps.write(old_writer, Frame::new(Encoding::Xcdr1, frame)));
        }
    }

    fn own_nodes(&self, prefix: GuidPrefix, nodes: &Nodes) -> ParticipantEntitiesInfo {
        let gid = |id: EntityId| Gid { data: prefix.with(id).to_bytes() };
        let in_ros2 = nodes.keys().into_iter().filter_map(|key| {
            let node = nodes.get(key).filter(|node| node.ros2 && node.stopped.is_none())?;
            let (namespace, name) = node.name.rsplit_once('/').unwrap_or(("", &node.name));
            let is_of_node = |of: NodeKey| of == key;
            let readers = self.readers.iter().filter(|(_, end)| is_of_node(end.node));
            let writers = self.writers.iter().filter(|(_, end)| is_of_node(end.node));
            Some(NodeEntitiesInfo {
                node_namespace: if namespace.is_empty() { "/" } else { namespace }.to_owned(),
                node_name: name.to_owned(),
                reader_gid_seq: readers.map(|(id, _)| gid(*id)).collect(),
                writer_gid_seq: writers.map(|(id, _)| gid(*id)).collect(),
            })
        });
        ParticipantEntitiesInfo { gid: gid(EntityId::PARTICIPANT), node_entities_info_seq: in_ros2.collect() }
    }

    /// An endpoint of another has been found: if it hears of nodes as before Iron, it is told of ours so.
    pub(super) fn ear_found(&mut self, endpoint: Guid, effects: &mut Effects) {
        let Self { rtps: Some(rtps), graph: Graph { old_writer: old_writer @ None, .. }, .. } = self else {
            return;
        };
        if rtps.is_endpoint(endpoint, is_old) {
            *old_writer = Some(rtps.create_writer_for(options(String::new()), is_old));
            effects.push_back(Effect::NodesChanged);
        }
    }
}

fn options(user_data: String) -> EndpointOptions {
    EndpointOptions {
        topic: TOPIC.to_owned(),
        type_name: ParticipantEntitiesInfo::DDS_TYPE.to_owned(),
        qos: QoS::keep_last(1).transient_local(),
        user_data: user_data.into_bytes(),
    }
}

/// True for who hears of nodes as before Iron: since then endpoints tell the hash of their type.
fn is_old(endpoint: &Endpoint) -> bool {
    let tells_hash = endpoint.user_data.windows(HASH.len()).any(|part| part == HASH);
    endpoint.role() == Role::Reader && endpoint.topic == TOPIC && !tells_hash
}
