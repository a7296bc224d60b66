//! Publishers of both graphs, which go over from ROS 1 to ROS 2 between two messages: what was sent before by ROS 1 comes first.

use std::sync::{Arc, Weak};
use std::time::Duration;

use runnel_core::time::Instant;
use runnel_io::clock;
use runnel_ros1::node::LinkStats;
use runnel_rtps::wire::{EntityId, Guid};

use super::super::Driver;
use super::super::nodes::NodeKey;
use super::super::sockets::{DatagramInput, Input, Socket};
use super::super::table::Key;
use crate::data::{LinkInfo, Offer, TopicInput};
use crate::rtps::Rtps;

/// How often a link is read at most for what was sent before: what a peer sends without end is not to keep others waiting.
const READS: usize = 16 * 1024;

/// Bytes that the kernel of a publisher holds for a connection at most, as systems are set up: a publisher that has waited for
/// long goes over while they are under way.
const MOST_UNDER_WAY: u64 = 4 << 20;

/// How often it is looked at whether a subscriber can go over while nothing is published.
const LOOKS_EVERY: Duration = Duration::from_millis(20);

/// Offers with subscribers that go over to RTPS once nothing waits on their links of ROS 1.
#[derive(Default)]
pub(super) struct GoingOver {
    offers: Vec<Weak<Offer>>,
    at: Option<Instant>,
}

impl GoingOver {
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.at
    }

    fn add(&mut self, offer: Weak<Offer>) {
        if !self.offers.iter().any(|other| other.ptr_eq(&offer)) {
            self.offers.push(offer);
        }
        self.at = self.at.or_else(|| Some(clock::monotonic() + LOOKS_EVERY));
    }

    pub(super) fn serve(&mut self, now: Instant) {
        if self.at.is_some_and(|at| at <= now) {
            self.offers.retain(|offer| offer.upgrade().is_some_and(|offer| offer.let_over()));
            self.at = (!self.offers.is_empty()).then(|| now + LOOKS_EVERY);
        }
    }
}

impl LinkInfo {
    /// The publisher is in both graphs, and goes over to this link or comes back to it: what it sent before by the other graph
    /// comes first.
    pub(in crate::driver) fn follows_ros1(&self) -> bool {
        self.origin.is_some() && !self.beside.is_level()
    }
}

impl Driver {
    /// The publishers in both graphs whose messages a node's subscriptions to a topic hear by ROS 2.
    pub(in crate::driver) fn origins_by_ros2(&self, node: NodeKey, topic: &str) -> Vec<u64> {
        let Some(rtps) = &self.ros2.rtps else { return Vec::new() };
        let readers = self.ros2.readers.iter().filter(|(_, end)| end.node == node && end.topic == topic);
        let links =
            readers.flat_map(|(id, end)| end.links.iter().map(|(writer, from)| ((*id, *writer), from)));
        let heard =
            links.filter(|(pair, from)| !from.beside.has_gone_back() && self.is_heard_by_ros2(rtps, *pair));
        heard.filter_map(|(_, from)| from.origin).collect()
    }

    /// Whether RTPS or memory has told what a writer of another process has.
    fn is_heard_by_ros2(&self, rtps: &Rtps, pair: (EntityId, Guid)) -> bool {
        let end = self.ros2.readers.get(&pair.0);
        end.is_some_and(|end| end.delivery_of(pair.1).is_some()) || rtps.next_due(pair).is_some()
    }

    /// A subscription of another process, which hears a writer of ours by ROS 1, can hear it by RTPS.
    pub(super) fn can_go_over(&mut self, writer: EntityId, reader: Guid) {
        let origin = self.ros2.rtps.as_ref().and_then(|rtps| rtps.origin_of(reader));
        let offer = self.ros2.writers.get(&writer).map(|end| end.offer.clone());
        let (Some(origin), Some(weak)) = (origin, offer) else { return };
        let Some(offer) = weak.upgrade() else { return };
        offer.can_go_over(origin);
        if offer.let_over() {
            self.ros2.going_over.add(weak);
        }
    }

    /// Before a publisher in both graphs is heard by ROS 2, for the first time or again, what it has sent by ROS 1 is. How many
    /// messages that were since it was heard by ROS 2.
    pub(in crate::driver) fn hear_ros1_first(&mut self, reader: EntityId, writer: Guid) -> u64 {
        let Some(end) = self.ros2.readers.get(&reader) else { return 0 };
        let Some(from) = end.links.get(&writer).filter(|from| from.follows_ros1()) else { return 0 };
        let (node, topic, from) = (end.node, end.topic.clone(), Arc::clone(from));
        let slot =
            self.nodes.get_mut(node).and_then(|slot| Some((slot.ros1?, slot.inputs.get(&topic)?.clone())));
        let (Some((engine, topic)), Some(origin)) = (slot, from.origin) else {
            return from.beside.heard(std::iter::empty());
        };
        self.read_handshakes(engine);
        let links = self.links_from(origin, &topic);
        for link in &links {
            self.read_all(*link);
            self.hear_the_rest(*link);
        }
        from.beside.heard(links.iter().filter_map(|link| self.stats_of(*link)))
    }

    /// A link of ROS 1 to a publisher stands. If that is in both graphs, it may have sent something by it already.
    pub(in crate::driver) fn ros1_joined(&self, from: &LinkInfo) {
        if from.origin.is_some() {
            let links = self.ros2.readers.values().flat_map(|end| end.links.values());
            links.filter(|link| link.origin == from.origin).for_each(|link| link.beside.forget());
        }
    }

    /// Messages may lie behind the headers of publishers that have not been read yet.
    fn read_handshakes(&mut self, engine: Key) {
        let is_of = |key: &Key| matches!(self.sockets.get(*key), Some(Socket::Control(control)) if control.engine == engine && !control.connecting);
        let handshakes: Vec<Key> = self.sockets.keys().into_iter().filter(is_of).collect();
        handshakes.into_iter().for_each(|key| self.readable(key));
        // Their engine makes links of them.
        self.settle();
    }

    /// The connections by which the node of this origin publishes a topic.
    fn links_from(&self, origin: u64, topic: &Arc<TopicInput>) -> Vec<Key> {
        let is_from = |key: &Key| match self.sockets.get(*key) {
            Some(
                Socket::Input(Input { from, topic: of, .. })
                | Socket::DatagramInput(DatagramInput { from, topic: of, .. }),
            ) => from.origin == Some(origin) && Arc::ptr_eq(of, topic),
            _ => false,
        };
        self.sockets.keys().into_iter().filter(is_from).collect()
    }

    fn stats_of(&self, link: Key) -> Option<Arc<LinkStats>> {
        match self.sockets.get(link)? {
            Socket::Input(Input { from, .. }) | Socket::DatagramInput(DatagramInput { from, .. }) => {
                Some(Arc::clone(&from.stats))
            }
            _ => None,
        }
    }

    /// Reads what has come from a publisher so far, and what may have been under way. The rest of what comes meanwhile is left
    /// to the turns that follow.
    pub(in crate::driver) fn read_all(&mut self, link: Key) {
        let (begun, bytes) = (self.received_by(link), self.sent_to(link));
        for _ in 0..READS {
            let before = self.received_by(link);
            self.readable(link);
            let now = self.received_by(link);
            if now <= before || now.zip(begun).is_some_and(|(now, begun)| now - begun >= bytes) {
                break;
            }
        }
    }

    /// The most bytes that a publisher may have sent and the driver has not read.
    fn sent_to(&self, link: Key) -> u64 {
        match self.sockets.get(link) {
            Some(Socket::Input(input)) => input.stream.waiting().unwrap_or_default() + MOST_UNDER_WAY,
            Some(Socket::DatagramInput(input)) => input.socket.receive_room().unwrap_or_default() as u64,
            _ => 0,
        }
    }

    /// Bytes that have come from a publisher.
    fn received_by(&self, link: Key) -> Option<u64> {
        match self.sockets.get(link)? {
            Socket::Input(input) => Some(input.received),
            // Its messages are read one at a time, and have a length.
            Socket::DatagramInput(input) => Some(input.from.stats.bytes()),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
