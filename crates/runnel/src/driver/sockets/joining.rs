//! Links to subscribers in both graphs that wait to begin until discovery has delivered the readers of their nodes.
//!
//! All links of a node wait together no longer than one of them would: a node may have many, and its participant may announce
//! readers without end.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::time::Duration;

use runnel_core::time::Instant;

use crate::driver::effect::JoiningSubscriber;

/// How long the links of a node wait at most.
const MAX_WAIT: Duration = Duration::from_secs(3);

/// Maximum number of nodes that are remembered.
const MAX_NODES: usize = 256;

/// The subscriber's node: the id by which it is known in both graphs, and its address.
pub(in crate::driver) type DualNode = (u64, IpAddr);

/// See the module's documentation.
#[derive(Default)]
pub(in crate::driver) struct JoiningSubscribers {
    links: Vec<(DualNode, JoiningSubscriber)>,
    /// Until when the links of a node may wait. A node whose time is over keeps its place until discovery is complete.
    waits_end: VecDeque<(DualNode, Instant)>,
    /// Discovery may have changed since the links were checked.
    is_due: bool,
}

impl JoiningSubscribers {
    #[cfg(test)]
    pub(in crate::driver) fn is_empty(&self) -> bool {
        self.links.is_empty()
    }

    /// Adds a link that waits.
    pub(in crate::driver) fn push(&mut self, node: DualNode, joining: JoiningSubscriber) {
        self.links.push((node, joining));
    }

    /// Until when a link of a node waits for discovery. It begins at once if others have waited that long already.
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

    /// Discovery has delivered the readers of a node: its next links may wait again.
    pub(in crate::driver) fn note_complete(&mut self, node: DualNode) {
        self.waits_end.retain(|(of, _)| *of != node);
    }

    /// Discovery may have changed, or links have waited long enough.
    pub(in crate::driver) fn wake(&mut self) {
        self.is_due = !self.links.is_empty();
    }

    /// Takes the links if they are to be checked.
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
