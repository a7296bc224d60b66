//! Subscribers that are in both graphs, and get each message by one of them: by RTPS where that has met them, since it knows
//! what they ask for, and otherwise by their link of ROS 1. A link stands by for as long as RTPS carries what goes to its
//! subscriber, and carries on from the next message when RTPS does so no longer.

use super::{Publication, State};

impl Publication {
    /// The readers of the ROS 2 graph are others than they were: who is to get the next message by which graph.
    pub(super) fn divide(&self, state: &mut State, by_rtps: &[u64]) {
        state.divide(by_rtps);
        self.count_channels(state);
    }
}

impl State {
    pub(super) fn divide(&mut self, by_rtps: &[u64]) {
        let carries = |origin: Option<u64>| origin.is_some_and(|origin| by_rtps.contains(&origin));
        self.links.iter_mut().for_each(|link| link.stands_by = carries(link.origin));
        self.datagram_links.iter_mut().for_each(|link| link.stands_by = carries(link.origin));
    }

    /// A link of ROS 1 begins: whether it stands by.
    pub(super) fn link_begins(&self, origin: Option<u64>) -> bool {
        match (&self.writer, origin) {
            (Some(writer), Some(origin)) => writer.rtps.heard_elsewhere(writer.id, origin),
            _ => false,
        }
    }

    /// A link of ROS 1 is gone.
    pub(super) fn link_ends(&self, origin: Option<u64>) {
        if let (Some(writer), Some(origin)) = (&self.writer, origin) {
            writer.rtps.not_heard_elsewhere(writer.id, origin);
        }
    }

    /// The origins of subscribers that have a link of ROS 1.
    pub(super) fn linked_origins(&self) -> impl Iterator<Item = u64> {
        let links = self.links.iter().map(|link| link.origin);
        links.chain(self.datagram_links.iter().map(|link| link.origin)).flatten()
    }

    /// Whether any link carries messages.
    pub(super) fn has_carrying_link(&self) -> bool {
        self.links.iter().any(|link| !link.stands_by)
            || self.datagram_links.iter().any(|link| !link.stands_by)
    }
}
