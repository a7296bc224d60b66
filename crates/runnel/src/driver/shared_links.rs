//! Links of ROS 1 to publishers in both graphs: which of a node's subscriptions RTPS serves instead.
//!
//! A pair of a writer and a reader that RTPS has matched is asked for on the link. It is served by RTPS once the publisher has
//! stated so on the link: all that came before is with the subscription then. See [`SharedLinkReceiver`].

use std::sync::Arc;

use runnel_delivery::PairId;
use runnel_rtps::wire::{EntityId, Guid};

use super::Driver;
use super::effect::Effect;
use super::nodes::NodeKey;
use super::ros2::Ros2;
use super::sessions::{LinkShare, Name, Orphan, name_of};
use super::sockets::{Input, Socket};
use super::table::Key;
use crate::data::{LinkInfo, PairPosition, SubscriptionCore, TopicInput};
use crate::rtps::Brought;

fn number_of(entity: EntityId) -> u32 {
    u32::from_be_bytes(entity.0)
}

fn pair_of(reader: EntityId, writer: Guid) -> PairId {
    PairId { writer: number_of(writer.entity), reader: number_of(reader) }
}

impl Ros2 {
    /// The reader and the writer of a pair that have matched, if the writer's node is of this origin, and the link of RTPS.
    fn pair(&self, origin: u64, pair: PairId) -> Option<(EntityId, Guid, &Arc<LinkInfo>)> {
        let reader = EntityId(pair.reader.to_be_bytes());
        let links = &self.readers.get(&reader)?.links;
        let is_meant = |(writer, from): &(&Guid, &Arc<LinkInfo>)| {
            number_of(writer.entity) == pair.writer && from.origin == Some(origin)
        };
        links.iter().find(is_meant).map(|(writer, from)| (reader, *writer, from))
    }

    /// How far RTPS is with a pair.
    fn position_of(&self, origin: u64, pair: PairId) -> Option<Arc<PairPosition>> {
        self.pair(origin, pair).map(|(.., from)| Arc::clone(&from.position))
    }

    /// Where the session's messages of a pair are put in order, if that is needed.
    fn delivery_of(&self, reader: EntityId, writer: Guid) -> Option<Key> {
        self.readers.get(&reader)?.delivery_of(writer)
    }

    /// The writers of nodes of this origin with which RTPS has matched readers of a subscription.
    fn pairs_of(&self, origin: u64, subscription: Name) -> Vec<PairId> {
        let Some(rtps) = &self.rtps else { return Vec::new() };
        let readers = self.readers.iter().filter(|(_, end)| end.core.as_ptr() as usize == subscription);
        let pairs = readers
            .flat_map(|(reader, _)| rtps.matched(*reader).into_iter().map(move |writer| (*reader, writer)));
        let is_of_node = |(_, writer): &(EntityId, Guid)| rtps.origin_of(*writer) == Some(origin);
        pairs.filter(is_of_node).map(|(reader, writer)| pair_of(reader, writer)).collect()
    }
}

impl Driver {
    /// A link to a publisher stands: its node's subscriptions share it.
    pub(super) fn share_link(&mut self, key: Key) {
        let Self { sockets, ros2, .. } = self;
        let Some(Socket::Input(input)) = sockets.get_mut(key) else { return };
        let (topic, origin) = (Arc::clone(&input.topic), input.from.origin);
        let (Some(share), Some(origin)) = (input.share(), origin) else { return };
        topic.for_each(|core| share.receiver.add(name_of(core), true));
        topic.for_each(|core| add_matched(share, ros2, (origin, name_of(core))));
    }

    /// What has changed of the pairs of a link: RTPS is told which of them it serves from where on, then the publisher.
    pub(super) fn share_changed(&mut self, key: Key) {
        self.settle_returned(key);
        let Some(Socket::Input(input)) = self.sockets.get_mut(key) else { return };
        let Some(origin) = input.from.origin else { return };
        let left = input.share().map(|share| std::mem::take(&mut share.left)).unwrap_or_default();
        self.note_served(key);
        for left in left {
            let pair = self.ros2.pair(origin, left.pair).map(|(reader, writer, from)| {
                from.position.pass(left.before);
                (reader, writer)
            });
            if let (Some(pair), Some(rtps)) = (pair, self.ros2.rtps.clone()) {
                let mut brought = Brought::default();
                rtps.note_received(pair, (1, left.before), &mut brought);
                self.give_brought(brought, &[]);
            }
        }
        self.sockets.send_statements(key);
    }

    /// Pairs come back to a link, which waits for that: what memory has brought of them goes to the user first, and RTPS gives
    /// nothing more.
    fn settle_returned(&mut self, key: Key) {
        loop {
            let Some(Socket::Input(input)) = self.sockets.get_mut(key) else { return };
            if let Err(fault) = input.resume_link() {
                return self.misbehaved(key, &fault.to_string());
            }
            let (origin, share) = (input.from.origin, input.share());
            let unsettled = share.and_then(|share| share.returns.first_unsettled());
            let (Some(pair), Some(origin)) = (unsettled, origin) else { return };
            let ends = self.ros2.pair(origin, pair).map(|(reader, writer, _)| (reader, writer));
            let delivery = ends.and_then(|(reader, writer)| self.ros2.delivery_of(reader, writer));
            if let Some(delivery) = delivery {
                self.take_delivered(delivery, true);
            }
            self.end_orphan(key, pair);
            if let Some(Socket::Input(input)) = self.sockets.get_mut(key) {
                input.settle_pair(pair);
            }
        }
    }

    /// Of the pairs of a link, those that it serves get nothing by RTPS.
    fn note_served(&mut self, key: Key) {
        let Self { sockets, ros2, .. } = self;
        let Some(Socket::Input(input)) = sockets.get_mut(key) else { return };
        let (Some(origin), Some(share)) = (input.from.origin, input.share()) else { return };
        for (pair, takes_rtps) in share.receiver.pairs() {
            if let Some((.., from)) = ros2.pair(origin, pair) {
                from.set_served_by_link(!takes_rtps);
            }
        }
    }

    /// RTPS has matched a reader of a node with a writer, whose node may have a link to it.
    pub(super) fn reader_matched(&mut self, reader: EntityId, writer: Guid) {
        let Some((origin, core)) = self.ros2.shared_by(reader, writer) else { return };
        let pair = pair_of(reader, writer);
        let position = self.ros2.position_of(origin, pair);
        self.change_shares(
            |input| input.from.origin == Some(origin) && input.topic.any(|of| Arc::ptr_eq(of, &core)),
            |share| {
                position.iter().for_each(|position| share.returns.follow(pair, Arc::clone(position)));
                share.receiver.matched(pair, name_of(&core));
            },
        );
    }

    /// It has lost it.
    pub(super) fn reader_unmatched(&mut self, reader: EntityId, writer: Guid) {
        let Some((origin, _)) = self.ros2.shared_by(reader, writer) else { return };
        self.change_shares(
            |input| input.from.origin == Some(origin),
            |share| {
                let pair = pair_of(reader, writer);
                share.receiver.note_position(pair, share.returns.next(pair));
                share.receiver.unmatched(pair);
            },
        );
    }

    /// A subscription to a topic of a node has been added.
    pub(super) fn subscription_added(&mut self, topic: &Arc<TopicInput>, core: &Arc<SubscriptionCore>) {
        let name = name_of(core);
        for key in self.shared_links(|input| Arc::ptr_eq(&input.topic, topic)) {
            let Self { sockets, ros2, .. } = self;
            let Some(Socket::Input(input)) = sockets.get_mut(key) else { continue };
            let (origin, latching) = (input.from.origin, input.from.latching);
            let (Some(share), Some(origin)) = (input.share(), origin) else { continue };
            // What was kept of it, it has got, unless that may be outdated.
            let is_fresh = !latching || share.receiver.stands_by();
            share.receiver.add(name, is_fresh);
            add_matched(share, ros2, (origin, name));
            share.receiver.review();
            self.effects.push_back(Effect::LinkShared { key });
        }
    }

    /// A subscription is about to end.
    pub(super) fn subscription_removed(&mut self, node: NodeKey, topic: &str, core: &Arc<SubscriptionCore>) {
        let input = self.nodes.get_mut(node).and_then(|node| node.inputs.get(topic).cloned());
        let Some(topic) = input else { return };
        let name = name_of(core);
        self.change_shares(|input| Arc::ptr_eq(&input.topic, &topic), |share| share.receiver.remove(name));
    }

    /// The publishers in both graphs whose links bring nothing to a node's subscriptions.
    pub(super) fn origins_on_standby(&mut self, topic: &Arc<TopicInput>) -> Vec<u64> {
        let keys = self.shared_links(|input| Arc::ptr_eq(&input.topic, topic));
        let on_standby = |key: Key| match self.sockets.get_mut(key)? {
            Socket::Input(input) => {
                let origin = input.from.origin?;
                input.share()?.receiver.stands_by().then_some(origin)
            }
            _ => None,
        };
        keys.into_iter().filter_map(on_standby).collect()
    }

    /// A link has ended that served pairs of nodes of this origin.
    pub(super) fn link_unshared(&mut self, origin: u64, pairs: &[PairId]) {
        for pair in pairs {
            if let Some((.., from)) = self.ros2.pair(origin, *pair) {
                from.set_served_by_link(false);
            }
        }
    }

    /// Whether a link carries what RTPS loses of a pair.
    pub(super) fn has_link_for(&self, origin: u64, pair: (EntityId, Guid)) -> bool {
        self.link_for(origin, pair).is_some()
    }

    fn link_for(&self, origin: u64, (reader, writer): (EntityId, Guid)) -> Option<Key> {
        let pair = pair_of(reader, writer);
        let keys = self.shared_links(|input| input.from.origin == Some(origin));
        keys.into_iter().find(|key| match self.sockets.get(*key) {
            Some(Socket::Input(input)) => input.follows(pair),
            _ => false,
        })
    }

    /// RTPS has lost a pair, which was known to sessions by this key.
    pub(super) fn orphan_pair(&mut self, key: Key, (reader, writer): (EntityId, Guid), from: Arc<LinkInfo>) {
        let link = from.origin.and_then(|origin| self.link_for(origin, (reader, writer)));
        if let Some(link) = link {
            self.orphaned(Orphan::new(key, link, pair_of(reader, writer), from));
        }
    }

    fn change_shares(&mut self, is_meant: impl Fn(&Input) -> bool, mut change: impl FnMut(&mut LinkShare)) {
        for key in self.shared_links(is_meant) {
            if let Some(Socket::Input(input)) = self.sockets.get_mut(key)
                && let Some(share) = input.share()
            {
                change(share);
                self.note_served(key);
                self.effects.push_back(Effect::LinkShared { key });
            }
        }
    }

    fn shared_links(&self, is_meant: impl Fn(&Input) -> bool) -> Vec<Key> {
        let is_shared = |key: &Key| match self.sockets.get(*key) {
            Some(Socket::Input(input)) => input.from.origin.is_some() && is_meant(input),
            _ => false,
        };
        self.sockets.keys().into_iter().filter(is_shared).collect()
    }
}

/// What RTPS has matched a subscription with.
fn add_matched(share: &mut LinkShare, ros2: &Ros2, (origin, name): (u64, Name)) {
    for pair in ros2.pairs_of(origin, name) {
        ros2.position_of(origin, pair).into_iter().for_each(|position| share.returns.follow(pair, position));
        share.receiver.matched(pair, name);
    }
}

#[cfg(test)]
mod tests;
