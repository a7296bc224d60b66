//! Subscriptions of one node to one topic, and the links that they share.

use std::sync::Arc;

use runnel_core::wire::Bytes;

use super::received::Received;
use super::sample_info::SampleInfo;
use super::subscription::{LinkInfo, SubscriptionCore};
use super::type_sums::TypeSums;
use crate::ipc::BorrowedSlot;
use crate::sync::{Class, Mutex, lock};

/// All subscriptions of one node to one topic. They share the links to the publishers.
pub(crate) struct TopicInput {
    readers: Mutex<Readers>,
    links: Mutex<Vec<Link>>,
}

#[derive(Default)]
struct Readers {
    /// The only subscription, if it can read all messages.
    only: Option<Arc<SubscriptionCore>>,
    all: Vec<Arc<SubscriptionCore>>,
    /// Not all subscriptions can read the type of some publisher, so each message is checked against their types.
    mixed: bool,
}

/// A link to a publisher in another process.
struct Link {
    from: Arc<LinkInfo>,
    /// The last message of a latched topic, for late subscriptions.
    latched: Option<Vec<u8>>,
}

impl Default for TopicInput {
    fn default() -> Self {
        let readers = Mutex::new(Class::TopicReaders, Readers::default());
        Self { readers, links: Mutex::new(Class::TopicLinks, Vec::new()) }
    }
}

impl TopicInput {
    /// The type of a subscription that cannot read messages of this type.
    pub(crate) fn conflict(&self, sums: TypeSums<'_>) -> Option<String> {
        let readers = lock(&self.readers);
        let other = readers.all.iter().find(|other| !other.agrees_with(sums))?;
        Some(other.type_name().to_owned())
    }

    /// Adds a subscription. It gets the last messages of latched publishers, except those of the dual nodes `served_by_ros2`,
    /// whose messages come by ROS 2 now: what they last sent here may be outdated, and ROS 2 delivers what they keep.
    pub(crate) fn add(&self, subscription: Arc<SubscriptionCore>, served_by_ros2: &[u64]) {
        let mut mixed = false;
        let links = lock(&self.links);
        for link in links.iter() {
            subscription.events().linked(&link.from, 1);
            if subscription.reads(&link.from) {
                let is_last =
                    link.from.dual_node_id.is_none_or(|dual_node_id| !served_by_ros2.contains(&dual_node_id));
                let latched = link.latched.iter().filter(|_| is_last);
                latched.for_each(|latched| {
                    subscription.push_copy(latched.into(), &link.from, SampleInfo::default());
                });
            } else {
                mixed = true;
            }
        }
        drop(links);
        let mut readers = lock(&self.readers);
        readers.mixed |= mixed;
        readers.all.push(subscription);
        readers.find_only();
    }

    /// Removes a subscription. True if none is left.
    pub(crate) fn remove(&self, subscription: &Arc<SubscriptionCore>) -> bool {
        let mut readers = lock(&self.readers);
        readers.all.retain(|other| !Arc::ptr_eq(other, subscription));
        readers.find_only();
        readers.all.is_empty()
    }

    /// A link to a publisher is established.
    pub(crate) fn join(&self, from: &Arc<LinkInfo>) {
        let mut readers = lock(&self.readers);
        let Readers { all, mixed, .. } = &mut *readers;
        all.iter().for_each(|subscription| *mixed |= !subscription.reads(from));
        readers.find_only();
        report_links(&readers, from, 1);
        drop(readers);
        lock(&self.links).push(Link { from: Arc::clone(from), latched: None });
    }

    /// A link to a publisher has ended.
    pub(crate) fn leave(&self, from: &Arc<LinkInfo>) {
        let mut links = lock(&self.links);
        let before = links.len();
        links.retain(|link| !Arc::ptr_eq(&link.from, from));
        let left = before - links.len();
        drop(links);
        report_links(&lock(&self.readers), from, -(left as i64));
    }

    /// The publisher at the other end of a link has another name.
    pub(crate) fn rename(&self, from: &Arc<LinkInfo>, named: &Arc<LinkInfo>) {
        let mut links = lock(&self.links);
        if let Some(link) = links.iter_mut().find(|link| Arc::ptr_eq(&link.from, from)) {
            link.from = Arc::clone(named);
        }
    }

    /// Descriptions of the connected publishers in other processes.
    pub(crate) fn publishers(&self) -> Vec<Arc<LinkInfo>> {
        lock(&self.links).iter().map(|link| Arc::clone(&link.from)).collect()
    }

    /// Connected publishers in other processes.
    pub(crate) fn link_count(&self) -> usize {
        lock(&self.links).len()
    }

    /// Connected publishers that `other`, the input of the other graph, does not have as well.
    pub(crate) fn link_count_without(&self, other: &Self) -> usize {
        let others: Vec<u64> = lock(&other.links).iter().filter_map(|link| link.from.dual_node_id).collect();
        let is_other =
            |link: &&Link| link.from.dual_node_id.is_some_and(|dual_node_id| others.contains(&dual_node_id));
        lock(&self.links).iter().filter(|link| !is_other(link)).count()
    }

    /// Connected publishers whose messages come by shared memory.
    pub(crate) fn shared_memory_count(&self) -> usize {
        lock(&self.links).iter().filter(|link| link.from.stats.is_by_memory()).count()
    }

    /// Whether a connected publisher in another process belongs to the node of this name.
    pub(crate) fn has_publisher(&self, node: &str) -> bool {
        lock(&self.links).iter().any(|link| link.from.publisher == node)
    }

    /// Whether this holds for any subscription.
    pub(crate) fn any(&self, is_so: impl FnMut(&Arc<SubscriptionCore>) -> bool) -> bool {
        lock(&self.readers).all.iter().any(is_so)
    }

    /// Length of every message of this publisher, if its type has a fixed size here.
    pub(crate) fn fixed_len(&self, from: &LinkInfo) -> Option<usize> {
        lock(&self.readers).all.iter().find_map(|subscription| subscription.fixed_len(&from.md5))
    }

    /// A buffer for the next message, with unspecified content.
    pub(crate) fn spare(&self) -> Vec<u8> {
        lock(&self.readers).all.first().map(|first| first.spare()).unwrap_or_default()
    }

    /// Delivers a received message to every subscription. Only the first gets it without a copy.
    pub(crate) fn push(&self, message: Vec<u8>, from: &Arc<LinkInfo>) {
        self.push_sample(Received::Own(message), from, SampleInfo::default());
    }

    /// Delivers a message with its metadata.
    pub(crate) fn push_sample(&self, message: Received, from: &Arc<LinkInfo>, info: SampleInfo) {
        self.deliver(message, (from, info), |_| true);
    }

    /// Delivers a message to some subscriptions.
    pub(crate) fn push_to(
        &self,
        message: Vec<u8>,
        from: &Arc<LinkInfo>,
        is_for: impl Fn(&Arc<SubscriptionCore>) -> bool,
    ) {
        self.deliver(Received::Own(message), (from, SampleInfo::default()), is_for);
    }

    /// Delivers a message of `len` bytes, which `fill` writes into a buffer, to every subscription.
    pub(crate) fn push_filled(
        &self,
        len: usize,
        (from, info): (&Arc<LinkInfo>, SampleInfo),
        fill: impl FnOnce(&mut Vec<u8>),
    ) {
        let readers = lock(&self.readers);
        if let Some(only) = &readers.only
            && !from.latching
        {
            from.stats.count_framed(len);
            return only.push_filled(len, (from, info), fill);
        }
        drop(readers);
        let mut message = self.spare();
        fill(&mut message);
        self.push_sample(Received::Own(message), from, info);
    }

    /// Delivers a message in the memory of another process.
    pub(crate) fn push_borrowed(&self, message: BorrowedSlot, from: &Arc<LinkInfo>) {
        self.push_sample(Received::Borrowed(message), from, SampleInfo::default());
    }

    fn deliver(
        &self,
        message: Received,
        (from, info): (&Arc<LinkInfo>, SampleInfo),
        is_for: impl Fn(&Arc<SubscriptionCore>) -> bool,
    ) {
        from.stats.count_framed(message.bytes().len());
        if from.latching {
            self.keep(message.bytes(), from);
        }
        let readers = lock(&self.readers);
        let mut readers = readers.of(from).filter(|subscription| is_for(subscription));
        let Some(first) = readers.next() else { return };
        readers.for_each(|other| other.push_copy(message.bytes(), from, info));
        first.push_bytes(message, from, info);
    }

    /// Counts messages of a publisher that were lost.
    pub(crate) fn lose(&self, messages: u64, from: &LinkInfo) {
        self.lose_for(messages, from, |_| true);
    }

    /// Counts messages that were lost for some subscriptions.
    pub(crate) fn lose_for(
        &self,
        messages: u64,
        from: &LinkInfo,
        is_for: impl Fn(&Arc<SubscriptionCore>) -> bool,
    ) {
        from.stats.count_dropped(messages);
        for subscription in lock(&self.readers).of(from).filter(|subscription| is_for(subscription)) {
            subscription.lose(messages);
        }
    }

    /// Keeps a message for late subscriptions, which get none if there is no memory for it.
    fn keep(&self, message: Bytes<'_>, from: &Arc<LinkInfo>) {
        if let Some(link) = lock(&self.links).iter_mut().find(|link| Arc::ptr_eq(&link.from, from)) {
            let mut latched = link.latched.take().unwrap_or_default();
            latched.clear();
            link.latched = message.append_to(&mut latched).is_ok().then_some(latched);
        }
    }

    /// Calls `each` for every subscription.
    pub(crate) fn for_each(&self, each: impl FnMut(&Arc<SubscriptionCore>)) {
        lock(&self.readers).all.iter().for_each(each);
    }
}

/// Reports a change in the number of links to a publisher.
fn report_links(readers: &Readers, from: &LinkInfo, by: i64) {
    readers.all.iter().for_each(|subscription| subscription.events().linked(from, by));
}

impl Readers {
    /// Determines whether there is an only subscription.
    fn find_only(&mut self) {
        self.only = match self.all.as_slice() {
            [only] if !self.mixed => Some(Arc::clone(only)),
            _ => None,
        };
    }

    /// The subscriptions that can read messages of this publisher.
    fn of(&self, from: &LinkInfo) -> impl Iterator<Item = &Arc<SubscriptionCore>> {
        self.all.iter().filter(|subscription| !self.mixed || subscription.agrees_with(from.type_sums()))
    }
}
