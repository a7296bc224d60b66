//! ROS 1 links of a publication: establishment, handover to shared memory and back, end.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use runnel_core::time::Instant;
use runnel_delivery::ReachedError;
use runnel_io::{Datagrams, Stream, Token};
use runnel_ros1::net::ConnId;
use runnel_ros1::node::SubscriberLink;
use runnel_ros1::udpros::Fragmenter;

use super::link::Link;
use super::publishing::log_warning;
use super::{Publication, State};
use crate::data::SwitchOutcome;
use crate::data::bridge_node::bridge_of_node;
use crate::data::datagrams::{DatagramLink, Refusals};
use crate::ipc::Sender;
use crate::sync::lock;

impl Publication {
    /// A subscriber's link is established: it gets the unsent rest of our header, then the latched message.
    pub(crate) fn join(
        &self,
        link: SubscriberLink,
        (token, stream, address): (Token, Arc<Stream>, IpAddr),
        unsent: Vec<u8>,
    ) {
        let mut state = lock(&self.state);
        if state.drains {
            // Its subscriber gets messages of the publisher that takes the place of this one.
            let _ = stream.shutdown();
            return;
        }
        let is_excluded = self.excludes(&link);
        let mut link = Link::new(link, (token, stream, address), unsent, state.options.bound);
        link.is_excluded = is_excluded;
        link.flush_if_waiting(&self.reactor);
        let before = state.counts();
        state.share_link(&self.reactor, &mut link);
        if let Some(latched) = state.latched.as_ref().filter(|_| state.carries_any(&link)) {
            link.before_message(&self.reactor, state.last_writer);
            self.count_dropped(link.send_or_queue(&self.reactor, &latched.frame));
        }
        state.links.push(link);
        state.notify_count(&before);
    }

    /// Whether a subscriber gets no messages from this bridge: it belongs to another bridge, or to a node that is in both
    /// graphs and gets them from their publishers.
    fn excludes(&self, link: &SubscriberLink) -> bool {
        let is_relay = link.dual_node_id.is_some() || bridge_of_node(&link.subscriber).is_some();
        is_relay && bridge_of_node(&self.info.publisher).is_some()
    }

    /// A subscriber's UDPROS link is established: it gets the latched message.
    pub(crate) fn join_datagrams(
        &self,
        link: SubscriberLink,
        fragmenter: Fragmenter,
        token: Token,
        socket: Arc<Datagrams>,
    ) {
        let is_excluded = self.excludes(&link);
        let mut state = lock(&self.state);
        let SubscriberLink { conn, topic, subscriber, dual_node_id, stats, .. } = link;
        let (refused, refusals, too_long) = (false, Refusals::default(), 0);
        let before = state.counts();
        let address = socket.peer_address().map(|peer| peer.ip().to_canonical());
        let standby = state.share_datagrams(&topic, dual_node_id, address);
        let mut link = DatagramLink {
            conn,
            token,
            socket,
            fragmenter,
            stats,
            topic,
            subscriber,
            dual_node_id,
            address,
            is_excluded,
            standby,
            refused,
            refusals,
            too_long,
        };
        let latched = state.latched.as_ref().filter(|_| link.standby.is_empty() && !link.is_excluded);
        let warning = latched.and_then(|latched| self.send_datagrams(&mut link, latched.frame.as_ref()));
        state.datagram_links.push(link);
        state.notify_count(&before);
        drop(state);
        log_warning(warning);
    }

    /// The socket of a UDPROS link reports that a datagram was not delivered; with `refused`, that its port is closed.
    /// Returns whether the subscriber counts as gone.
    pub(crate) fn undelivered(&self, conn: ConnId, refused: bool, now: Instant) -> bool {
        let mut state = lock(&self.state);
        let Some(link) = state.datagram_links.iter_mut().find(|link| link.conn == conn) else { return false };
        link.stats.count_dropped(1);
        self.count_dropped(1);
        refused && link.refusals.refused(now)
    }

    /// Whether the subscriber of a UDPROS link was found to be gone.
    pub(crate) fn is_refused(&self, conn: ConnId) -> bool {
        lock(&self.state).datagram_links.iter().any(|link| link.conn == conn && link.refused)
    }

    /// A subscriber is on this host: its link switches to an IPC connection, on which `token` identifies it. That is also
    /// possible only later while the subscriber has not mapped the preallocated segments.
    pub(crate) fn switch_link_to_memory(
        &self,
        conn: ConnId,
        sender: &Arc<Sender>,
        token: u128,
    ) -> SwitchOutcome {
        let mut state = lock(&self.state);
        let State { links, reserved, .. } = &mut *state;
        let Some(link) = links.iter_mut().find(|link| link.conn == conn) else {
            return SwitchOutcome::NotNeeded;
        };
        if reserved.iter_mut().any(|reserved| !sender.announce(reserved.segments())) {
            return SwitchOutcome::Later;
        }
        let outcome = link.switch_to_memory(&self.reactor, sender, token);
        self.count_channels(&state);
        outcome
    }

    /// The IPC connection has ended: a link that used it switches back to its TCP connection, with the messages that the
    /// subscriber has not read.
    pub(crate) fn fall_back_to_connection(&self, conn: ConnId, sender: &Arc<Sender>) {
        let mut state = lock(&self.state);
        let Some(link) = state.links.iter_mut().find(|link| link.conn == conn) else { return };
        link.fall_back_to_connection(&self.reactor, sender);
        self.count_channels(&state);
    }

    /// The subscriber of a link reports its position.
    ///
    /// # Errors
    /// If the position is impossible.
    pub(crate) fn reached_by_link(&self, conn: ConnId, epoch: u32, next: u64) -> Result<(), ReachedError> {
        let mut state = lock(&self.state);
        let link = state.links.iter_mut().find(|link| link.conn == conn);
        link.map_or(Ok(()), |link| link.reached(epoch, next))
    }

    /// The socket or the channel of a link is writable.
    pub(crate) fn writable(&self, conn: ConnId) {
        let mut state = lock(&self.state);
        if let Some(link) = state.links.iter_mut().find(|link| link.conn == conn) {
            link.flush(&self.reactor);
        }
    }

    /// A subscriber's link has ended.
    pub(crate) fn leave(&self, conn: ConnId) {
        let mut state = lock(&self.state);
        let before = state.counts();
        let State { links, datagram_links, shm_copies, .. } = &mut *state;
        *shm_copies += links.iter().filter(|link| link.conn == conn).map(Link::shm_copies).sum::<u64>();
        let links =
            links.extract_if(.., |link| link.conn == conn).map(|link| (link.dual_node_id, link.address));
        let datagram_links = datagram_links
            .extract_if(.., |link| link.conn == conn)
            .map(|link| (link.dual_node_id, link.address));
        let gone: Vec<_> = links.chain(datagram_links).collect();
        for node in gone {
            self.count_dropped(state.unshare_link(&self.reactor, conn, node));
        }
        self.count_channels(&state);
        state.notify_count(&before);
    }

    pub(super) fn count_channels(&self, state: &State) {
        let channels = state.links.iter().filter(|link| link.is_channel() && state.carries_any(link)).count();
        self.channels.store(channels, Ordering::Relaxed);
    }
}
