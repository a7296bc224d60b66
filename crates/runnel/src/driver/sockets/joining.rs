//! Links to subscribers of dual nodes that begin once discovery has delivered the readers of their nodes.
//!
//! All links of a node together wait no longer than one link may: a node may have many, and its participant may
//! announce readers without end.

use std::collections::{BTreeSet, VecDeque};
use std::net::IpAddr;
use std::time::Duration;

use runnel_core::time::Instant;

use super::{Socket, Sockets};
use crate::driver::effect::JoiningSubscriber;

/// Maximum wait of a node's links.
const MAX_WAIT: Duration = Duration::from_secs(3);

/// Maximum number of remembered nodes.
const MAX_NODES: usize = 256;

/// Maximum number of waiting links. Later ones begin at once.
const MAX_LINKS: usize = 1024;

/// The subscriber's node: its dual node id and its address.
pub(in crate::driver) type DualNode = (u64, IpAddr);

/// A waiting link.
pub(in crate::driver) struct WaitingLink<L = Box<JoiningSubscriber>> {
    pub(in crate::driver) node: DualNode,
    /// End of its wait, even if its node is no longer remembered.
    ends: Instant,
    pub(in crate::driver) link: L,
}

/// See the module's documentation.
pub(in crate::driver) struct JoiningSubscribers<L = Box<JoiningSubscriber>> {
    links: Vec<WaitingLink<L>>,
    /// End of the wait of each node's links. A node whose wait is over keeps its entry until discovery is complete.
    waits_end: VecDeque<(DualNode, Instant)>,
    /// Discovery may have changed since the last check.
    is_due: bool,
}

impl<L> Default for JoiningSubscribers<L> {
    fn default() -> Self {
        Self { links: Vec::new(), waits_end: VecDeque::new(), is_due: false }
    }
}

impl<L> JoiningSubscribers<L> {
    #[cfg(test)]
    pub(in crate::driver) fn is_empty(&self) -> bool {
        self.links.is_empty()
    }

    /// Lets a new link wait. Returns the end of its wait.
    ///
    /// # Errors
    /// Returns the link if it begins now: the wait of its node has ended because of earlier links, or too many wait.
    pub(in crate::driver) fn wait(&mut self, node: DualNode, link: L, now: Instant) -> Result<Instant, L> {
        if self.links.len() >= MAX_LINKS {
            return Err(link);
        }
        match self.wait_ends(node, now) {
            Some(ends) => self.wait_on(WaitingLink { node, ends, link }, now),
            None => Err(link),
        }
    }

    /// Lets a link wait on after a check. Returns the end of its wait.
    ///
    /// # Errors
    /// Returns the link if its wait has ended.
    pub(in crate::driver) fn wait_on(&mut self, waiting: WaitingLink<L>, now: Instant) -> Result<Instant, L> {
        let ends = waiting.ends;
        if ends <= now {
            return Err(waiting.link);
        }
        self.links.push(waiting);
        Ok(ends)
    }

    /// End of the wait of a node's links; `None` if too many nodes have waiting links.
    fn wait_ends(&mut self, node: DualNode, now: Instant) -> Option<Instant> {
        let known = self.waits_end.iter().find(|(of, _)| *of == node);
        if let Some((_, ends)) = known {
            return Some(*ends);
        }
        if self.waits_end.len() >= MAX_NODES {
            let waiting: BTreeSet<DualNode> = self.links.iter().map(|waiting| waiting.node).collect();
            let oldest = self.waits_end.iter().position(|(of, _)| !waiting.contains(of))?;
            self.waits_end.remove(oldest);
        }
        self.waits_end.push_back((node, now + MAX_WAIT));
        Some(now + MAX_WAIT)
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
    pub(in crate::driver) fn take_due(&mut self) -> Vec<WaitingLink<L>> {
        if std::mem::take(&mut self.is_due) { std::mem::take(&mut self.links) } else { Vec::new() }
    }

    /// Makes room for another link, if all places are taken, by those that no longer exist.
    fn drop_ended(&mut self, exists: impl Fn(&L) -> bool) {
        if self.links.len() >= MAX_LINKS {
            self.links.retain(|waiting| exists(&waiting.link));
        }
    }
}

impl Sockets {
    /// Lets a new link wait, as [`JoiningSubscribers::wait`].
    pub(in crate::driver) fn wait_to_join(
        &mut self,
        node: DualNode,
        joining: Box<JoiningSubscriber>,
        now: Instant,
    ) -> Result<Instant, Box<JoiningSubscriber>> {
        let Self { joining: waiting, table, .. } = self;
        waiting.drop_ended(|link| matches!(table.get(link.key), Some(Socket::Control(_))));
        waiting.wait(node, joining, now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NODE: DualNode = (7, IpAddr::V4(std::net::Ipv4Addr::LOCALHOST));

    fn at(seconds: u64) -> Instant {
        Instant(0) + Duration::from_secs(seconds)
    }

    fn none() -> JoiningSubscribers<()> {
        JoiningSubscribers::default()
    }

    /// Takes the links and lets those wait on whose wait has not ended. Returns how many have ended.
    fn check(joining: &mut JoiningSubscribers<()>, now: Instant) -> usize {
        joining.wake();
        joining.take_due().into_iter().filter_map(|waiting| joining.wait_on(waiting, now).err()).count()
    }

    #[test]
    fn links_of_a_node_share_one_wait() {
        let mut joining = none();
        assert_eq!(joining.wait(NODE, (), at(10)), Ok(at(13)));
        assert_eq!(joining.wait(NODE, (), at(12)), Ok(at(13)));
        assert_eq!(joining.wait(NODE, (), at(60)), Err(()), "its time is over");
        assert_eq!(joining.wait((8, NODE.1), (), at(60)), Ok(at(63)));
    }

    #[test]
    fn node_may_wait_again_after_complete_discovery() {
        let mut joining = none();
        joining.wait(NODE, (), at(10)).unwrap();
        joining.note_complete(NODE);
        assert_eq!(joining.wait(NODE, (), at(60)), Ok(at(63)));
    }

    #[test]
    fn remembered_nodes_are_bounded() {
        let mut joining = none();
        for id in 0..1000 {
            assert_eq!(joining.wait((id, NODE.1), (), at(10)), Ok(at(13)));
            assert_eq!(check(&mut joining, at(13)), 1);
        }
        assert_eq!(joining.waits_end.len(), MAX_NODES);
    }

    #[test]
    fn waiting_node_is_not_evicted() {
        let mut joining = none();
        for id in 0..MAX_NODES as u64 {
            assert!(joining.wait((id, NODE.1), (), at(10)).is_ok());
        }
        assert_eq!(joining.wait((1000, NODE.1), (), at(12)), Err(()));
        assert_eq!(joining.wait((0, NODE.1), (), at(12)), Ok(at(13)), "as its first link");
    }

    /// More nodes than are remembered wait in turn.
    #[test]
    fn checks_do_not_extend_a_wait() {
        let mut joining = none();
        assert!((0..200).all(|id| joining.wait((id, NODE.1), (), at(10)).is_ok()));
        assert_eq!(check(&mut joining, at(12)), 0);
        let waiting = (200..400).filter(|id| joining.wait((*id, NODE.1), (), at(12)).is_ok());
        assert_eq!(waiting.count(), MAX_NODES - 200);
        assert_eq!(check(&mut joining, at(13)), 200);
        assert_eq!(check(&mut joining, at(15)), MAX_NODES - 200);
        assert!(joining.is_empty());
    }

    #[test]
    fn waiting_links_are_bounded() {
        let mut joining = none();
        for _ in 0..MAX_LINKS {
            assert!(joining.wait(NODE, (), at(10)).is_ok());
        }
        assert_eq!(joining.wait(NODE, (), at(10)), Err(()));
        joining.drop_ended(|()| false);
        assert_eq!(joining.wait(NODE, (), at(10)), Ok(at(13)));
    }
}
