//! Ids of dual nodes: such a node announces its id in both graphs, so that each message reaches it over one graph
//! only.

use std::collections::BTreeSet;
use std::io;
use std::net::IpAddr;

use runnel_io::host;
use runnel_rtps::announce::{Endpoint, Role};
use runnel_rtps::wire::Guid;

use super::Rtps;
use crate::sync::lock;

/// Key in the user data, of letters only: Fast DDS and Cyclone DDS reject all user data, with the type hash, if a key
/// has other characters than letters and digits.
const KEY: &str = "runnelorigin=";

/// A random id for a dual node.
///
/// # Errors
/// If the operating system has no random bytes.
pub(crate) fn random() -> io::Result<u64> {
    host::random()
}

/// The entry with the node's id in an endpoint's user data.
pub(super) fn user_data_entry(dual_node_id: u64) -> String {
    format!("{KEY}{dual_node_id:016x}")
}

/// The node's id in an endpoint's user data.
pub(super) fn dual_node_id_in(user_data: &[u8]) -> Option<u64> {
    let mut words = user_data.split(|byte| *byte == b';');
    let digits = words.find_map(|user_data_entry| user_data_entry.strip_prefix(KEY.as_bytes()))?;
    let digits = str::from_utf8(digits).ok().filter(|digits| digits.len() == 16)?;
    u64::from_str_radix(digits, 16).ok()
}

impl Rtps {
    /// The id of an endpoint's node, if that is a dual node. To a bridge, a node of another ROS 1 graph is not one.
    pub(crate) fn dual_node_id_of(&self, endpoint: Guid) -> Option<u64> {
        let core = lock(&self.core);
        let user_data = &core.participant.endpoint(endpoint)?.user_data;
        dual_node_id_in(user_data).filter(|_| !self.is_of_other_graph(user_data))
    }

    /// The readers of a dual node on a ROS topic.
    pub(crate) fn readers_on(&self, topic: &str, dual_node_id: u64) -> Vec<Guid> {
        let of_node = |endpoint: &Endpoint| {
            endpoint.role() == Role::Reader && dual_node_id_in(&endpoint.user_data) == Some(dual_node_id)
        };
        self.endpoints_on(topic).into_iter().filter(of_node).map(|endpoint| endpoint.guid).collect()
    }

    /// Whether discovery may yet deliver readers of this dual node at an address: its participant has not announced all
    /// endpoints that it is known to have, or is read again since an endpoint of it has ended. A participant without a
    /// proved address may be invented and does not count.
    pub(crate) fn awaits_readers_of(&self, node: (u64, IpAddr)) -> bool {
        !self.nodes_with_awaited_readers(&BTreeSet::from([node])).is_empty()
    }

    /// Those of some dual nodes of which discovery [may yet deliver readers](Self::awaits_readers_of). The endpoints of
    /// each participant are searched once.
    pub(crate) fn nodes_with_awaited_readers(
        &self,
        nodes: &BTreeSet<(u64, IpAddr)>,
    ) -> BTreeSet<(u64, IpAddr)> {
        let addresses: BTreeSet<IpAddr> = nodes.iter().map(|(_, address)| *address).collect();
        let core = lock(&self.core);
        let participant = &core.participant;
        let mut awaited = BTreeSet::new();
        for peer in participant.peers() {
            let prefix = peer.data.prefix;
            if !peer.is_proved() || participant.is_complete(prefix) {
                continue;
            }
            let at: BTreeSet<IpAddr> =
                addresses.iter().copied().filter(|address| participant.is_at(prefix, *address)).collect();
            if at.is_empty() {
                continue;
            }
            let ids = peer.endpoints().filter_map(|endpoint| dual_node_id_in(&endpoint.user_data));
            let ids: BTreeSet<u64> = ids.collect();
            awaited.extend(nodes.iter().filter(|(id, address)| at.contains(address) && ids.contains(id)));
        }
        awaited
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dual_node_id_is_found_in_user_data() {
        let dual_node_id = 0x0123_4567_89ab_cdef;
        for (user_data, expected) in [
            (format!("typehash=RIHS01_0;{};", user_data_entry(dual_node_id)), Some(dual_node_id)),
            (user_data_entry(dual_node_id), Some(dual_node_id)),
            (format!("x{}", user_data_entry(dual_node_id)), None),
            ("runnelorigin=123;".to_owned(), None),
            (String::new(), None),
        ] {
            assert_eq!(dual_node_id_in(user_data.as_bytes()), expected, "{user_data}");
        }
        assert_eq!(dual_node_id_in(&[0xff; 40]), None);
    }
}
