//! ROS 1 links to publishers of dual nodes, and which of the local node's subscriptions RTPS serves in their place.
//!
//! The subscriber requests a pair that RTPS has matched on the link. RTPS serves the pair once the publisher has stated
//! so on the link. By then the subscription has all earlier messages. See [`SharedLinkReceiver`].

use std::cmp::Reverse;
use std::net::IpAddr;
use std::sync::Arc;

use runnel_delivery::{LeftLink, MAX_NUMBER_LEAP, PairId};
use runnel_rtps::wire::{EntityId, Guid};

use super::Driver;
use super::effect::Effect;
use super::ipc_connections::Orphan;
use super::nodes::NodeKey;
use super::ros2::Ros2;
use super::sockets::{Input, LinkShare, Socket, SubscriptionId, id_of};
use super::table::Key;
use crate::data::{LinkInfo, PairPosition, SubscriptionCore, TopicInput};
use crate::rtps::{ReceivedBatch, pair_id};

/// The publisher of a link: the dual node id from its header, and its address.
#[derive(Clone, Copy)]
struct PublisherEnd {
    dual_node_id: u64,
    address: IpAddr,
}

impl Input {
    fn publisher_end(&self) -> Option<PublisherEnd> {
        Some(PublisherEnd { dual_node_id: self.from.dual_node_id?, address: self.claim.address() })
    }
}

impl Ros2 {
    /// The reader and the writer of a matched pair, and its RTPS link. The writer's node has the publisher's dual node
    /// id, and its participant is at the publisher's address. A link cannot speak for a participant at another address.
    fn pair(&self, publisher_end: PublisherEnd, pair: PairId) -> Option<(EntityId, Guid, &Arc<LinkInfo>)> {
        let reader = EntityId::from_number(pair.reader);
        let (rtps, links) = (self.rtps.as_ref()?, &self.readers.get(&reader)?.links);
        let is_meant = |(writer, from): &(&Guid, &Arc<LinkInfo>)| {
            writer.entity.number() == pair.writer
                && from.dual_node_id == Some(publisher_end.dual_node_id)
                && rtps.is_at(**writer, publisher_end.address)
        };
        links.iter().find(is_meant).map(|(writer, from)| (reader, *writer, from))
    }

    /// The matched pair with this position, wherever its participant is now.
    fn pair_at(
        &self,
        pair: PairId,
        position: &Arc<PairPosition>,
    ) -> Option<(EntityId, Guid, &Arc<LinkInfo>)> {
        let reader = EntityId::from_number(pair.reader);
        let mut links = self.readers.get(&reader)?.links.iter();
        let (writer, from) = links.find(|(_, from)| Arc::ptr_eq(&from.position, position))?;
        Some((reader, *writer, from))
    }

    /// The matched pair that a link follows, or can follow. The publisher's address counts only until the link follows
    /// the pair: its participant may announce others later, while the connection remains.
    fn pair_of(
        &self,
        share: &LinkShare,
        (publisher_end, pair): (PublisherEnd, PairId),
    ) -> Option<(EntityId, Guid, &Arc<LinkInfo>)> {
        let followed = share.returns.position(pair).and_then(|position| self.pair_at(pair, position));
        followed.or_else(|| self.pair(publisher_end, pair))
    }

    /// Lets a link follow a pair, if RTPS has matched it.
    fn follow(&self, share: &mut LinkShare, (publisher_end, pair): (PublisherEnd, PairId)) {
        if let Some((.., from)) = self.pair_of(share, (publisher_end, pair)) {
            share.follow(pair, &from.position);
        }
    }

    /// The pair whose receiver orders the samples counted at this position; `None` if RTPS orders them. The participant
    /// may be lost already.
    fn receiver_at(&self, pair: PairId, position: &Arc<PairPosition>) -> Option<Key> {
        let (reader, writer, _) = self.pair_at(pair, position)?;
        self.readers.get(&reader)?.receiver_of(writer)
    }

    /// Pairs of a subscription's readers with writers of a dual node.
    fn pairs_of(&self, dual_node_id: u64, subscription: SubscriptionId) -> Vec<PairId> {
        let Some(rtps) = &self.rtps else { return Vec::new() };
        let readers = self.readers.iter().filter(|(_, end)| end.core.as_ptr() as usize == subscription);
        let pairs = readers
            .flat_map(|(reader, _)| rtps.matched(*reader).into_iter().map(move |writer| (*reader, writer)));
        let is_of_node = |(_, writer): &(EntityId, Guid)| rtps.dual_node_id_of(*writer) == Some(dual_node_id);
        pairs.filter(is_of_node).map(|(reader, writer)| pair_id(writer.entity, reader)).collect()
    }
}

impl Driver {
    /// Shares a new link to a publisher among the node's subscriptions.
    pub(super) fn share_link(&mut self, key: Key) {
        let Self { sockets, ros2, .. } = self;
        let Some(Socket::Input(input)) = sockets.get_mut(key) else { return };
        let (topic, publisher_end) = (Arc::clone(&input.topic), input.publisher_end());
        let (Some(share), Some(publisher_end)) = (input.share(), publisher_end) else { return };
        topic.for_each(|core| share.receiver.add(id_of(core), true));
        topic.for_each(|core| add_readers(share, ros2, (publisher_end, id_of(core))));
        topic.for_each(|core| add_matched(share, ros2, (publisher_end, id_of(core))));
    }

    /// Handles changes of a link's pairs: informs RTPS which pairs it serves and from which number, then the publisher.
    pub(super) fn link_share_changed(&mut self, key: Key) {
        self.settle_returned(key);
        let Some(Socket::Input(input)) = self.sockets.get_mut(key) else { return };
        let Some(share) = input.share() else { return };
        share.is_settled = false;
        let left = std::mem::take(&mut share.departed_pairs);
        self.update_served_pairs(key);
        for left in left {
            if let Err(why) = self.pair_left_link(key, left) {
                return self.sockets.misbehaved(key, why, &mut self.effects);
            }
        }
        self.resume_pairs(key);
        self.sockets.send_statements(key);
    }

    /// Handles a stated number of a pair: RTPS needs to deliver nothing before it.
    fn pair_left_link(&mut self, key: Key, LeftLink { pair, before }: LeftLink) -> Result<(), String> {
        let Self { sockets, ros2, .. } = self;
        let Some(Socket::Input(input)) = sockets.get_mut(key) else { return Ok(()) };
        let (Some(publisher_end), Some(share)) = (input.publisher_end(), input.share()) else {
            return Ok(());
        };
        let Some((reader, writer, from)) = ros2.pair_of(share, (publisher_end, pair)) else { return Ok(()) };
        let (pair, position) = ((reader, writer), Arc::clone(&from.position));
        let Some(rtps) = self.ros2.rtps.clone() else { return Ok(()) };
        if before <= 1 {
            return Ok(());
        }
        let announced = rtps.last_announced(pair);
        if before > announced.saturating_add(MAX_NUMBER_LEAP) {
            return Err(format!(
                "it states number {before} of a pair, but RTPS has announced only {announced}"
            ));
        }
        position.pass(before);
        let mut received_batch = ReceivedBatch::default();
        rtps.note_received(pair, (1, before), &mut received_batch);
        self.dispatch_rtps(received_batch, &[]);
        Ok(())
    }

    /// Settles pairs that return to a link which waits for that. Messages from shared memory go to the user first, and
    /// RTPS delivers nothing more.
    pub(super) fn settle_returned(&mut self, key: Key) {
        loop {
            let Some(Socket::Input(input)) = self.sockets.get_mut(key) else { return };
            if let Err(fault) = input.resume_link() {
                return self.sockets.misbehaved(key, fault.to_string(), &mut self.effects);
            }
            let Some((pair, position)) = input.share().and_then(|share| share.returns.first_unsettled())
            else {
                return;
            };
            if let Some(receiver) = self.ros2.receiver_at(pair, &position) {
                // It must not hold samples that the link delivers: it would wait for RTPS, which never delivers the
                // missing ones, and drop later ones.
                self.finish_receiver(receiver, true);
            }
            self.ipc_connections.end_orphan(key, pair);
            if let Some(Socket::Input(input)) = self.sockets.get_mut(key) {
                input.settle_pair(pair);
            }
        }
    }

    /// Stops delivery by RTPS for the pairs that a link serves. RTPS keeps their samples. A pair is served only by the
    /// newest link that follows it: the end of an earlier one is only not known yet.
    fn update_served_pairs(&mut self, key: Key) {
        let newer = self.followed_by_newer_links(key);
        let Self { sockets, ros2, .. } = self;
        let Some(Socket::Input(input)) = sockets.get_mut(key) else { return };
        let (Some(publisher_end), Some(share)) = (input.publisher_end(), input.share()) else { return };
        let pairs: Vec<(PairId, bool)> = share.receiver.pairs().collect();
        for (pair, accepts_rtps) in pairs {
            let Some((reader, writer, from)) = ros2.pair_of(share, (publisher_end, pair)) else { continue };
            let by_newest = newer.iter().find(|(position, _)| Arc::ptr_eq(position, &from.position));
            let accepts_rtps = by_newest.map_or(accepts_rtps, |(_, accepts_rtps)| *accepts_rtps);
            from.set_served_by_link(!accepts_rtps);
            if accepts_rtps {
                continue;
            }
            // The link releases what it follows.
            share.follow(pair, &from.position);
            if from.position.set_paused(true)
                && let Some(rtps) = &ros2.rtps
            {
                // A pause delivers nothing.
                drop(rtps.set_paused((reader, writer), true));
            }
        }
    }

    /// RTPS's positions in the pairs that later links of a link's dual node follow, and whether RTPS serves each. Those
    /// of the newest link come first.
    fn followed_by_newer_links(&mut self, key: Key) -> Vec<(Arc<PairPosition>, bool)> {
        let Some(Socket::Input(of)) = self.sockets.get(key) else { return Vec::new() };
        let (node, conn) = ((of.engine, of.from.dual_node_id), of.conn);
        let mut newer =
            self.shared_links(|input| (input.engine, input.from.dual_node_id) == node && input.conn > conn);
        let conn_of = |key: &Key| self.sockets.get(*key).and_then(Socket::conn);
        newer.sort_by_key(|key| Reverse(conn_of(key)));
        let mut followed = Vec::new();
        for key in newer {
            let Some(Socket::Input(input)) = self.sockets.get_mut(key) else { continue };
            let Some(share) = input.share() else { continue };
            followed.extend(
                share
                    .returns
                    .followed()
                    .iter()
                    .map(|(pair, position)| (Arc::clone(position), share.receiver.accepts_rtps(*pair))),
            );
        }
        followed
    }

    /// Delivers the samples that RTPS has kept for pairs that their link no longer serves.
    fn resume_pairs(&mut self, key: Key) {
        let Some(Socket::Input(input)) = self.sockets.get_mut(key) else { return };
        let Some(share) = input.share() else { return };
        let followed = share.returns.followed().to_vec();
        followed.iter().for_each(|(pair, position)| self.resume_pair(*pair, position));
    }

    fn resume_pair(&mut self, pair: PairId, position: &Arc<PairPosition>) {
        let Some((reader, writer, from)) = self.ros2.pair_at(pair, position) else { return };
        if !from.is_served_by_link()
            && from.position.set_paused(false)
            && let Some(rtps) = self.ros2.rtps.clone()
        {
            let received_batch = rtps.set_paused((reader, writer), false);
            self.dispatch_rtps(received_batch, &[]);
        }
    }

    /// Handles a match of a node's reader with a writer, whose node may have a link.
    pub(super) fn reader_matched(&mut self, reader: EntityId, writer: Guid) {
        let Some((dual_node_id, core)) = self.ros2.dual_publisher_of(reader, writer) else { return };
        let pair = pair_id(writer.entity, reader);
        self.change_shares(
            |input| {
                input.from.dual_node_id == Some(dual_node_id) && input.topic.any(|of| Arc::ptr_eq(of, &core))
            },
            |share, (ros2, publisher_end)| {
                ros2.follow(share, (publisher_end, pair));
                share.receiver.matched(pair, id_of(&core));
            },
        );
    }

    /// Handles the end of such a match.
    pub(super) fn reader_unmatched(&mut self, reader: EntityId, writer: Guid) {
        let Some((dual_node_id, _)) = self.ros2.dual_publisher_of(reader, writer) else { return };
        let pair = pair_id(writer.entity, reader);
        self.change_shares(
            |input| input.from.dual_node_id == Some(dual_node_id),
            |share, (ros2, publisher_end)| {
                // It may be a writer of another participant with the same dual node id and entity id.
                if ros2.pair_of(share, (publisher_end, pair)).is_some_and(|(_, of_link, _)| of_link != writer)
                {
                    return;
                }
                share.receiver.note_position(pair, share.returns.next(pair));
                share.receiver.unmatched(pair);
            },
        );
    }

    /// Handles a new subscription of a node.
    pub(super) fn subscription_added(&mut self, topic: &Arc<TopicInput>, core: &Arc<SubscriptionCore>) {
        let name = id_of(core);
        for key in self.shared_links(|input| Arc::ptr_eq(&input.topic, topic)) {
            let Self { sockets, ros2, .. } = self;
            let Some(Socket::Input(input)) = sockets.get_mut(key) else { continue };
            let (publisher_end, latching) = (input.publisher_end(), input.from.latching);
            let (Some(share), Some(publisher_end)) = (input.share(), publisher_end) else { continue };
            // It has received the kept messages, unless these may be outdated.
            let is_fresh = !latching || share.receiver.is_on_standby();
            share.receiver.add(name, is_fresh);
            add_readers(share, ros2, (publisher_end, name));
            add_matched(share, ros2, (publisher_end, name));
            share.receiver.update_standby();
            self.effects.push_back(Effect::LinkShareChanged { key });
        }
    }

    /// Handles a subscription that is about to end.
    pub(super) fn subscription_removed(&mut self, node: NodeKey, topic: &str, core: &Arc<SubscriptionCore>) {
        let input = self.nodes.get_mut(node).and_then(|node| node.inputs.get(topic).cloned());
        let Some(topic) = input else { return };
        let name = id_of(core);
        self.change_shares(|input| Arc::ptr_eq(&input.topic, &topic), |share, _| share.receiver.remove(name));
    }

    /// Ids of the dual nodes whose links to a topic deliver nothing at present.
    pub(super) fn dual_nodes_on_standby(&mut self, topic: &Arc<TopicInput>) -> Vec<u64> {
        let keys = self.shared_links(|input| Arc::ptr_eq(&input.topic, topic));
        let on_standby = |key: Key| match self.sockets.get_mut(key)? {
            Socket::Input(input) => {
                let dual_node_id = input.from.dual_node_id?;
                input.share()?.receiver.is_on_standby().then_some(dual_node_id)
            }
            _ => None,
        };
        keys.into_iter().filter_map(on_standby).collect()
    }

    /// Handles the end of a link that followed these pairs of a dual node. Another link may serve them.
    pub(super) fn shared_link_ended(&mut self, dual_node_id: u64, followed: &[(PairId, Arc<PairPosition>)]) {
        followed.iter().for_each(|(_, position)| position.set_served_by_link(false));
        for key in self.shared_links(|input| input.from.dual_node_id == Some(dual_node_id)) {
            self.update_served_pairs(key);
        }
        followed.iter().for_each(|(pair, position)| self.resume_pair(*pair, position));
    }

    /// Whether a link serves a pair that RTPS loses.
    pub(super) fn has_link_for(&self, dual_node_id: u64, pair: (EntityId, Guid)) -> bool {
        !self.links_for(dual_node_id, pair).is_empty()
    }

    pub(super) fn links_for(&self, dual_node_id: u64, (reader, writer): (EntityId, Guid)) -> Vec<Key> {
        let pair = pair_id(writer.entity, reader);
        self.shared_links(|input| input.from.dual_node_id == Some(dual_node_id) && input.follows(pair))
    }

    /// Remembers a pair that RTPS has lost, by its key in `IpcConnections`.
    pub(super) fn orphan_pair(&mut self, key: Key, (reader, writer): (EntityId, Guid), from: Arc<LinkInfo>) {
        let link = from
            .dual_node_id
            .and_then(|dual_node_id| self.links_for(dual_node_id, (reader, writer)).first().copied());
        if let Some(link) = link
            && let Some(memory) = self.ipc_connections.memory_input(key)
        {
            let orphan = Orphan::new(key, link, pair_id(writer.entity, reader), from, memory);
            self.ipc_connections.orphaned(orphan);
        }
    }

    fn change_shares(
        &mut self,
        is_meant: impl Fn(&Input) -> bool,
        mut change: impl FnMut(&mut LinkShare, (&Ros2, PublisherEnd)),
    ) {
        for key in self.shared_links(is_meant) {
            let Self { sockets, ros2, .. } = self;
            if let Some(Socket::Input(input)) = sockets.get_mut(key)
                && let Some(publisher_end) = input.publisher_end()
                && let Some(share) = input.share()
            {
                change(share, (ros2, publisher_end));
                self.update_served_pairs(key);
                self.effects.push_back(Effect::LinkShareChanged { key });
            }
        }
    }

    fn shared_links(&self, is_meant: impl Fn(&Input) -> bool) -> Vec<Key> {
        let is_shared = |key: &Key| match self.sockets.get(*key) {
            Some(Socket::Input(input)) => input.from.dual_node_id.is_some() && is_meant(input),
            _ => false,
        };
        self.sockets.keys().into_iter().filter(is_shared).collect()
    }
}

/// Adds the readers of a subscription, and RTPS's positions in the pairs that they have lost.
fn add_readers(share: &mut LinkShare, ros2: &Ros2, (publisher_end, name): (PublisherEnd, SubscriptionId)) {
    let of_subscription = ros2.readers.iter().filter(|(_, end)| end.core.as_ptr() as usize == name);
    for (reader, end) in of_subscription {
        share.receiver.add_reader(reader.number(), name);
        for (writer, position) in end.unmatched_writers.of_node(publisher_end.dual_node_id) {
            share.receiver.add_lost_pair(pair_id(writer, *reader), position.next());
        }
    }
}

/// Adds the matched pairs of a subscription.
fn add_matched(share: &mut LinkShare, ros2: &Ros2, (publisher_end, name): (PublisherEnd, SubscriptionId)) {
    for pair in ros2.pairs_of(publisher_end.dual_node_id, name) {
        ros2.follow(share, (publisher_end, pair));
        share.receiver.matched(pair, name);
    }
}

#[cfg(test)]
mod tests;
