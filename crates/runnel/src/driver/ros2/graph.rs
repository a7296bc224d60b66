//! Nodes of each participant. Every participant announces its own on `ros_discovery_info`.

mod participant_nodes;
mod widths;

use std::sync::Arc;

use runnel_core::Message;
use runnel_core::qos::QoS;
use runnel_core::sorted::SortedMap;
use runnel_core::wire::{Encoding, cdr};
use runnel_msgs::rmw_dds_common::msg::{Gid, NodeEntitiesInfo, ParticipantEntitiesInfo};
use runnel_rtps::announce::{Endpoint, Role};
use runnel_rtps::wire::{EntityId, Guid, GuidPrefix};
use runnel_rtps::{Audience, EndpointOptions};

use super::Ros2;
use crate::driver::effect::{Effect, Effects};
use crate::driver::nodes::{NodeKey, Nodes};
use crate::frame::Frame;
use crate::log_output::console;
use crate::rtps::{Rtps, Writer};
use participant_nodes::{KnownNode, ParticipantNodes};

pub(super) const TOPIC: &str = "ros_discovery_info";

/// Key of the type hash in the user data of an endpoint.
const HASH: &[u8] = b"typehash=";

/// Known nodes of the graph.
#[derive(Default)]
pub(super) struct Graph {
    writer: Option<Arc<Writer>>,
    reader: Option<EntityId>,
    /// Writer for participants from before Iron, created when the first of them is found.
    pre_iron_writer: Option<Arc<Writer>>,
    /// By participant.
    nodes: SortedMap<GuidPrefix, ParticipantNodes>,
}

impl Graph {
    /// Creates the writer and the reader of node announcements.
    pub(super) fn join(&mut self, rtps: &Rtps) {
        let user_data = format!("typehash={};", ParticipantEntitiesInfo::RIHS01);
        let options = || options(user_data.clone());
        self.writer = Some(rtps.create_writer_for(options(), Audience::new(|reader| !is_pre_iron(reader))));
        self.reader = Some(rtps.create_reader(options()));
    }

    /// Whether this reader receives the announcements of nodes.
    pub(super) fn is_reader(&self, reader: EntityId) -> bool {
        self.reader == Some(reader)
    }

    /// Takes a participant's announcement of its nodes. Returns a warning if it is not accepted as a whole.
    pub(super) fn on_node_announcement(&mut self, from: GuidPrefix, payload: &[u8]) -> Option<String> {
        let why = self.nodes.entry(from).or_default().on_node_announcement(payload)?;
        Some(format!("participant {from} {why}"))
    }

    /// Removes a lost participant with its nodes.
    pub(super) fn forget(&mut self, participant: GuidPrefix) {
        self.nodes.remove(&participant);
    }

    /// Name of the node of an endpoint.
    pub(super) fn node_of(&self, endpoint: Guid) -> Option<&str> {
        let nodes = self.nodes.get(&endpoint.prefix)?;
        nodes.nodes().iter().find(|node| node.endpoints.contains(&endpoint)).map(|node| node.name.as_str())
    }

    /// The length of the ids in a participant's announcement of its nodes, in bytes.
    pub(super) fn id_length(&self, participant: GuidPrefix) -> Option<usize> {
        self.nodes.get(&participant)?.id_length()
    }

    /// Nodes of a participant, once it has announced them.
    pub(super) fn nodes_of(&self, participant: GuidPrefix) -> Option<&[KnownNode]> {
        self.nodes.get(&participant).map(ParticipantNodes::nodes)
    }
}

impl Ros2 {
    /// Announces the nodes of this process and their endpoints.
    pub(in crate::driver) fn announce_nodes(&self, nodes: &Nodes) {
        let (Some(rtps), Some(writer)) = (&self.rtps, &self.graph.writer) else { return };
        let announcement = self.own_nodes(rtps.prefix(), nodes);
        let mut frame = Vec::new();
        match cdr::encode_into(&announcement, Encoding::Xcdr1, &mut frame) {
            Ok(()) => drop(rtps.write(writer, Frame::new(Encoding::Xcdr1, frame))),
            Err(error) => console::warning!("cannot announce the nodes of this process: {error}"),
        }
        if let Some(pre_iron_writer) = &self.graph.pre_iron_writer {
            let mut frame = Vec::new();
            widths::encode_pre_iron(&announcement, &mut frame);
            drop(rtps.write(pre_iron_writer, Frame::new(Encoding::Xcdr1, frame)));
        }
    }

    fn own_nodes(&self, prefix: GuidPrefix, nodes: &Nodes) -> ParticipantEntitiesInfo {
        let gid = |id: EntityId| Gid { data: prefix.with(id).to_bytes() };
        let in_ros2 = nodes.keys().into_iter().filter_map(|key| {
            let node =
                nodes.get(key).filter(|node| node.ros2 && node.stopped.is_none() && !node.stands_by)?;
            let (namespace, name) = node.name.rsplit_once('/').unwrap_or(("", &node.name));
            let is_of_node = |of: NodeKey| of == key;
            let readers = self.readers.iter().filter(|(_, end)| is_of_node(end.node)).map(|(id, _)| *id);
            let writers = self.writers.iter().filter(|(_, end)| is_of_node(end.node)).map(|(id, _)| *id);
            Some(NodeEntitiesInfo {
                node_namespace: if namespace.is_empty() { "/" } else { namespace }.to_owned(),
                node_name: name.to_owned(),
                reader_gid_seq: readers.map(gid).collect(),
                writer_gid_seq: writers.map(gid).collect(),
            })
        });
        ParticipantEntitiesInfo { gid: gid(EntityId::PARTICIPANT), node_entities_info_seq: in_ros2.collect() }
    }

    /// Handles a new endpoint: if it reads node announcements in the encoding from before Iron, this process announces
    /// its nodes in that encoding too.
    pub(super) fn on_graph_reader_found(&mut self, endpoint: Guid, effects: &mut Effects) {
        let Self { rtps: Some(rtps), graph: Graph { pre_iron_writer: pre_iron_writer @ None, .. }, .. } =
            self
        else {
            return;
        };
        if rtps.is_endpoint(endpoint, is_pre_iron) {
            *pre_iron_writer =
                Some(rtps.create_writer_for(options(String::new()), Audience::new(is_pre_iron)));
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

/// Whether an endpoint reads node announcements as before Iron. Since Iron, endpoints announce their type hash.
fn is_pre_iron(endpoint: &Endpoint) -> bool {
    let has_type_hash = endpoint.user_data.windows(HASH.len()).any(|part| part == HASH);
    endpoint.role() == Role::Reader && endpoint.topic == TOPIC && !has_type_hash
}
