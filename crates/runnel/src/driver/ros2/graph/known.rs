//! What is remembered of the nodes of one participant: no more than a bound, whatever it tells.

use runnel_msgs::rmw_dds_common::msg::NodeEntitiesInfo;
use runnel_rtps::wire::Guid;

use super::widths;

/// The longest message that is read, in bytes: far longer than one of as many nodes and endpoints as are remembered.
const MOST_BYTES: usize = 1 << 20;

/// The most nodes that are remembered.
const MOST_NODES: usize = 1024;

/// The most endpoints of all of them together.
const MOST_ENDPOINTS: usize = 4096;

/// See the module's documentation.
#[derive(Default)]
pub(super) struct Known {
    nodes: Vec<KnownNode>,
    /// Something was said of what it tells: once, since it goes on telling.
    complained: bool,
}

/// A node of another process.
pub(in crate::driver::ros2) struct KnownNode {
    /// Its name with its namespace, as its participant spells it.
    pub(in crate::driver::ros2) name: String,
    /// What it publishes and subscribes by.
    pub(in crate::driver::ros2) endpoints: Vec<Guid>,
}

impl Known {
    pub(super) fn nodes(&self) -> &[KnownNode] {
        &self.nodes
    }

    /// The participant tells of all its nodes anew. What is to be said of that.
    pub(super) fn hear(&mut self, payload: &[u8]) -> Option<String> {
        let why = self.take(payload).err()?;
        (!std::mem::replace(&mut self.complained, true)).then_some(why)
    }

    fn take(&mut self, payload: &[u8]) -> Result<(), String> {
        let len = payload.len();
        if len > MOST_BYTES {
            return Err(format!(
                "tells of its nodes in {len} bytes, of which at most {MOST_BYTES} are read: its topics are met, and its nodes not \
                 known by their names"
            ));
        }
        let told = widths::decode(payload).ok_or_else(|| {
            format!(
                "tells of its nodes in a form of {len} bytes that no known ROS 2 has: its topics are met, and its nodes not known \
                 by their names"
            )
        })?;
        self.keep(&told.node_entities_info_seq)
    }

    fn keep(&mut self, told: &[NodeEntitiesInfo]) -> Result<(), String> {
        let mut left = MOST_ENDPOINTS;
        let known = |node: &NodeEntitiesInfo| {
            let endpoints: Vec<Guid> = guids(node).take(left).collect();
            left -= endpoints.len();
            KnownNode { name: full_name(node), endpoints }
        };
        self.nodes = told.iter().take(MOST_NODES).map(known).collect();
        let endpoints = told.iter().map(|node| guids(node).count()).sum::<usize>();
        if told.len() <= MOST_NODES && endpoints <= MOST_ENDPOINTS {
            return Ok(());
        }
        let nodes = told.len();
        Err(format!(
            "tells of {nodes} nodes with {endpoints} endpoints, of which the first {MOST_NODES} and {MOST_ENDPOINTS} are known by \
             their names"
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

    /// A message that tells of so many nodes with so many writers each.
    fn telling(nodes: usize, writers: usize) -> Vec<u8> {
        let gids = |node: usize| (0..writers).map(move |writer| gid(node * writers + writer)).collect();
        let node = |number| NodeEntitiesInfo {
            node_namespace: "/crowd".into(),
            node_name: format!("n{number}"),
            reader_gid_seq: Vec::new(),
            writer_gid_seq: gids(number),
        };
        let node_entities_info_seq = (0..nodes).map(node).collect();
        let told = ParticipantEntitiesInfo { gid: gid(0), node_entities_info_seq };
        cdr::encode(&told, Encoding::Xcdr1).unwrap()
    }

    fn gid(number: usize) -> Gid {
        Gid { data: (number as u128).to_be_bytes() }
    }

    fn endpoints(known: &Known) -> usize {
        known.nodes().iter().map(|node| node.endpoints.len()).sum()
    }

    #[test]
    fn name_is_kept_as_it_came() {
        let node_name = "\u{1b}[31mevil\n[ERROR]".into();
        let node =
            NodeEntitiesInfo { node_namespace: "/a/".into(), node_name, ..NodeEntitiesInfo::default() };
        assert_eq!(full_name(&node), "/a/\u{1b}[31mevil\n[ERROR]");
    }

    #[test]
    fn as_many_as_fit_are_known_and_nothing_is_said() {
        let mut known = Known::default();
        assert_eq!(known.hear(&telling(MOST_NODES, 4)), None);
        assert_eq!((known.nodes().len(), endpoints(&known)), (1024, 4096));
        assert_eq!(known.nodes()[7].name, "/crowd/n7");
        assert_eq!(known.hear(&telling(1, 0)), None);
        assert_eq!((known.nodes().len(), endpoints(&known)), (1, 0));
    }

    #[test]
    fn who_tells_of_more_is_known_in_part_and_that_is_said_once() {
        for [nodes, writers] in [[3000, 0], [1025, 4], [2, 3000]] {
            let mut known = Known::default();
            let why = known.hear(&telling(nodes, writers)).unwrap();
            let words = [nodes.to_string(), (nodes * writers).to_string(), "1024 and 4096".to_owned()];
            assert!(words.iter().all(|word| why.contains(word)), "{why}");
            assert_eq!(known.nodes().len(), nodes.min(1024));
            assert_eq!(endpoints(&known), (nodes * writers).min(4096));
            assert_eq!(known.hear(&telling(nodes, writers)), None);
        }
    }

    #[test]
    fn a_message_that_is_too_long_or_of_no_form_leaves_what_was_known() {
        for message in [telling(40_000, 0), vec![0, 1, 0, 0, 1, 2, 3]] {
            let mut known = Known::default();
            assert_eq!(known.hear(&telling(3, 2)), None);
            let why = known.hear(&message).unwrap();
            assert!(why.contains(&message.len().to_string()), "{why}");
            assert_eq!((known.hear(&message), known.nodes().len(), endpoints(&known)), (None, 3, 6));
        }
    }
}
