//! Links to subscribers of dual nodes that begin once discovery has delivered the readers of their nodes.
//!
//! All links of a node together wait no longer than one link may: a node may have many, and its participant may
//! announce readers without end.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::time::Duration;

use runnel_core::time::Instant;

use crate::driver::effect::JoiningSubscriber;

/// Maximum wait of a node's links.
const MAX_WAIT: Duration = Duration::from_secs(3);

/// Maximum number of remembered nodes.
const MAX_NODES: usize = 256;

/// The subscriber's node: its dual node id and its address.
pub(in crate::driver) type DualNode = (u64, IpAddr);

/// See the module's documentation.
#[derive(Default)]
pub(in crate::driver) struct JoiningSubscribers {
    links: Vec<(DualNode, JoiningSubscriber)>,
    /// End of the wait of each node's links. A node whose wait is over keeps its entry until discovery is complete.
    waits_end: VecDeque<(DualNode, Instant)>,
    /// Discovery may have changed since the last check.
    is_due: bool,
}

impl JoiningSubscribers {
    #[cfg(test)]
    pub(in crate::driver) fn is_empty(&self) -> bool {
        self.links.is_empty()
    }

    /// Adds a waiting link.
    pub(in crate::driver) fn push(&mut self, node: DualNode, joining: JoiningSubscriber) {
        self.links.push((node, joining));
    }

    /// End of the wait of a node's links. It may have passed because of earlier links.
    pub(in crate::driver) fn wait_ends(&mut self, node: DualNode, now: Instant) -> Instant {
        let known = self.waits_end.iter().find(|(of, _)| *of == node);
        if let Some((_, ends)) = known {
            return *ends;
        }
        if self.waits_end.len() >= MAX_NODES {
            self.waits_end.pop_front();
        }
        self.waits_end.push_back((node, now + MAX_WAIT));
        now + MAX_WAIT
    }

    /// Allows later links of a node to wait again, since discovery has delivered its readers.
    pub(in crate::driver) fn note_complete(&mut self, node: DualNode) {
        self.waits_end.retain(|(of, _)| *of != node);
    }

    /// Requests a check, since discovery may have changed or a wait has ended.
    pub(in crate::driver) fn wake(&mut self) {
        self.is_due = !self.links.is_empty();
    }

    /// Takes the links if a check is due.
    pub(in crate::driver) fn take_due(&mut self) -> Vec<(DualNode, JoiningSubscriber)> {
        if std::mem::take(&mut self.is_due) { std::mem::take(&mut self.links) } else { Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NODE: DualNode = (7, IpAddr::V4(std::net::Ipv4Addr::LOCALHOST));

    fn at(seconds: u64) -> Instant {
        Instant(0) + Duration::from_secs(seconds)
    }

    #[test]
    fn links_of_a_node_share_one_wait() {
        let mut joining = JoiningSubscribers::default();
        assert_eq!(joining.wait_ends(NODE, at(10)), at(13));
        assert_eq!(joining.wait_ends(NODE, at(12)), at(13));
        assert_eq!(joining.wait_ends(NODE, at(60)), at(13), "its time is over");
        assert_eq!(joining.wait_ends((8, NODE.1), at(60)), at(63));
    }

    #[test]
    fn node_may_wait_again_after_complete_discovery() {
        let mut joining = JoiningSubscribers::default();
        joining.wait_ends(NODE, at(10));
        joining.note_complete(NODE);
        assert_eq!(joining.wait_ends(NODE, at(60)), at(63));
    }

    #[test]
    fn remembered_nodes_are_bounded() {
        let mut joining = JoiningSubscribers::default();
        assert!((0..1000).all(|id| joining.wait_ends((id, NODE.1), at(10)) == at(13)));
        assert_eq!(joining.waits_end.len(), MAX_NODES);
    }
}
