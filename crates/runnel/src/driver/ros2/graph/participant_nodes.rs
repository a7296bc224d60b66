//! Bounded record of the nodes of one participant.

use runnel_msgs::rmw_dds_common::msg::NodeEntitiesInfo;
use runnel_rtps::wire::Guid;

use super::widths;

/// Maximum length of an announcement, in bytes: far more than the recorded nodes and endpoints need.
const MAX_BYTES: usize = 1 << 20;

/// Maximum number of recorded nodes.
const MAX_NODES: usize = 1024;

/// Maximum number of endpoints of all these nodes.
const MAX_ENDPOINTS: usize = 4096;

/// See the module's documentation.
#[derive(Default)]
pub(super) struct ParticipantNodes {
    nodes: Vec<KnownNode>,
    /// Length of the ids in the last announcement, in bytes.
    id_length: Option<usize>,
    /// A warning was returned. It is not repeated, since the participant repeats its announcement.
    warned: bool,
}

/// A node of another process.
pub(in crate::driver::ros2) struct KnownNode {
    /// Its namespace and name, as the participant spells them.
    pub(in crate::driver::ros2) name: String,
    /// Its readers and writers.
    pub(in crate::driver::ros2) endpoints: Vec<Guid>,
}

impl ParticipantNodes {
    pub(super) fn nodes(&self) -> &[KnownNode] {
        &self.nodes
    }

    pub(super) fn id_length(&self) -> Option<usize> {
        self.id_length
    }

    /// Replaces the nodes of the participant. Returns a warning if the announcement is not accepted as a whole.
    pub(super) fn on_node_announcement(&mut self, payload: &[u8]) -> Option<String> {
        let why = self.take(payload).err()?;
        (!std::mem::replace(&mut self.warned, true)).then_some(why)
    }

    fn take(&mut self, payload: &[u8]) -> Result<(), String> {
        let len = payload.len();
        if len > MAX_BYTES {
            return Err(format!(
                "announces its nodes in {len} bytes, of which at most {MAX_BYTES} are read: its endpoints are matched, its node \
                 names stay unknown"
            ));
        }
        let (announcement, id_length) = widths::decode(payload).ok_or_else(|| {
            format!(
                "announces its nodes in an unknown encoding of {len} bytes: its endpoints are matched, its node names stay unknown"
            )
        })?;
        self.id_length = Some(id_length);
        self.keep(&announcement.node_entities_info_seq)
    }

    fn keep(&mut self, announcement: &[NodeEntitiesInfo]) -> Result<(), String> {
        let mut left = MAX_ENDPOINTS;
        let known = |node: &NodeEntitiesInfo| {
            let endpoints: Vec<Guid> = guids(node).take(left).collect();
            left -= endpoints.len();
            KnownNode { name: full_name(node), endpoints }
        };
        self.nodes = announcement.iter().take(MAX_NODES).map(known).collect();
        let endpoints = announcement.iter().map(|node| guids(node).count()).sum::<usize>();
        if announcement.len() <= MAX_NODES && endpoints <= MAX_ENDPOINTS {
            return Ok(());
        }
        let nodes = announcement.len();
        Err(format!(
            "announces {nodes} nodes with {endpoints} endpoints, of which only the first {MAX_NODES} and {MAX_ENDPOINTS} get names"
        ))
    }
}

fn full_name(node: &NodeEntitiesInfo) -> String {
    let namespace = node.node_namespace.trim_end_matches('/');
    format!("{namespace}/{}", node.node_name)
}

/// The endpoints of a node.
fn guids(node: &NodeEntitiesInfo) -> impl Iterator<Item = Guid> {
    let gids = node.writer_gid_seq.iter().chain(&node.reader_gid_seq);
    gids.map(|gid| Guid::from_bytes(gid.data))
}

#[cfg(test)]
mod tests {
    use super::*;
    use runnel_core::wire::{Encoding, cdr};
    use runnel_msgs::rmw_dds_common::msg::{Gid, ParticipantEntitiesInfo};

    /// An announcement of this many nodes with this many writers each.
    fn announcement(nodes: usize, writers: usize) -> Vec<u8> {
        let gids = |node: usize| (0..writers).map(move |writer| gid(node * writers + writer)).collect();
        let node = |number| NodeEntitiesInfo {
            node_namespace: "/crowd".into(),
            node_name: format!("n{number}"),
            reader_gid_seq: Vec::new(),
            writer_gid_seq: gids(number),
        };
        let node_entities_info_seq = (0..nodes).map(node).collect();
        let announcement = ParticipantEntitiesInfo { gid: gid(0), node_entities_info_seq };
        cdr::encode(&announcement, Encoding::Xcdr1).unwrap()
    }

    fn gid(number: usize) -> Gid {
        Gid { data: (number as u128).to_be_bytes() }
    }

    fn endpoints(known: &ParticipantNodes) -> usize {
        known.nodes().iter().map(|node| node.endpoints.len()).sum()
    }

    #[test]
    fn control_characters_in_name_are_kept() {
        let node_name = "\u{1b}[31mevil\n[ERROR]".into();
        let node =
            NodeEntitiesInfo { node_namespace: "/a/".into(), node_name, ..NodeEntitiesInfo::default() };
        assert_eq!(full_name(&node), "/a/\u{1b}[31mevil\n[ERROR]");
    }

    #[test]
    fn nodes_within_limits_are_kept_without_warning() {
        let mut known = ParticipantNodes::default();
        assert_eq!(known.on_node_announcement(&announcement(MAX_NODES, 4)), None);
        assert_eq!((known.nodes().len(), endpoints(&known)), (1024, 4096));
        assert_eq!(known.nodes()[7].name, "/crowd/n7");
        assert_eq!(known.on_node_announcement(&announcement(1, 0)), None);
        assert_eq!((known.nodes().len(), endpoints(&known)), (1, 0));
    }

    #[test]
    fn excess_nodes_are_dropped_with_one_warning() {
        for [nodes, writers] in [[3000, 0], [1025, 4], [2, 3000]] {
            let mut known = ParticipantNodes::default();
            let why = known.on_node_announcement(&announcement(nodes, writers)).unwrap();
            let words = [nodes.to_string(), (nodes * writers).to_string(), "1024 and 4096".to_owned()];
            assert!(words.iter().all(|word| why.contains(word)), "{why}");
            assert_eq!(known.nodes().len(), nodes.min(1024));
            assert_eq!(endpoints(&known), (nodes * writers).min(4096));
            assert_eq!(known.on_node_announcement(&announcement(nodes, writers)), None);
        }
    }

    #[test]
    fn invalid_announcement_keeps_known_nodes() {
        for message in [announcement(40_000, 0), vec![0, 1, 0, 0, 1, 2, 3]] {
            let mut known = ParticipantNodes::default();
            assert_eq!(known.on_node_announcement(&announcement(3, 2)), None);
            let why = known.on_node_announcement(&message).unwrap();
            assert!(why.contains(&message.len().to_string()), "{why}");
            assert_eq!(
                (known.on_node_announcement(&message), known.nodes().len(), endpoints(&known)),
                (None, 3, 6)
            );
        }
    }
}
