//! Publications: one serialization for all subscribers, written to their sockets by the publishing thread. Each link
//! has a bounded queue for what its socket does not accept.

mod addressed;
mod capacity;
mod draining;
mod framed;
mod keeping;
mod leaving;
mod lendable;
mod lifespan;
mod linger_wait;
mod link;
mod links;
mod loaned_buffer;
mod locals;
mod matched_readers;
mod memory_links;
mod memory_path;
mod message_numbers;
mod outgoing;
mod publishing;
mod returned;
mod shared_links;
mod writer;
mod writer_group;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use runnel_core::wire::GrowingSink;
use runnel_io::Reactor;
use runnel_rtps::wire::{EntityId, Guid};

use super::datagrams::DatagramLink;
use super::frames::FramePool;
use super::subscription::LinkInfo;
use super::type_sums::TypeSums;
use crate::error::ConversionError;
use crate::frame::{Frame, Payload, QueueBound};
use crate::ipc::{self, Pool, Reservation};
use crate::sync::{Class, Mutex, lock};
use leaving::LeavingReader;
use link::Link;
pub(crate) use loaned_buffer::{LoanError, LoanedBuffer, WrittenLoan};
use locals::{EarlierFrames, KeptFrame, LocalSubscription};
use memory_links::MemoryLink;
pub(crate) use outgoing::{Outgoing, Refused};
use returned::ToRos1;
pub(crate) use writer::RtpsWriter;
pub(crate) use writer_group::WriterGroup;

/// How a topic is published. Publishers of one node share the largest values requested.
#[derive(Clone, Debug)]
pub(crate) struct PublicationOptions {
    pub(crate) bound: QueueBound,
    /// The last message is kept for late joiners.
    pub(crate) latching: bool,
    /// Messages begin with a header whose `seq` the publication increments.
    pub(crate) has_header: bool,
}

/// One topic as one node publishes it. Fields that each message uses come first.
#[repr(C)]
pub(crate) struct Publication {
    published: AtomicU64,
    /// ROS 1 links whose subscribers read from shared memory.
    channels: AtomicUsize,
    /// ROS 2 subscribers that read from shared memory.
    memory_channels: AtomicUsize,
    state: Mutex<State>,
    dropped: AtomicU64,
    info: Arc<LinkInfo>,
    reactor: Arc<Reactor>,
    pool: Arc<Pool>,
}

/// Fields that each message uses come first.
#[repr(C)]
struct State {
    links: Vec<Link>,
    datagram_links: Vec<DatagramLink>,
    locals: Vec<LocalSubscription>,
    /// One per QoS of its publishers.
    groups: Vec<Arc<WriterGroup>>,
    /// Whether the publication counts as alive, by the liveliness that it offers.
    is_alive: bool,
    /// ROS 2 subscribers that get messages in shared memory.
    memory_links: Vec<MemoryLink>,
    /// Readers of dual nodes whose messages wait until the subscriber has received everything that the link carried.
    leaving: Vec<LeavingReader>,
    options: PublicationOptions,
    seq: u32,
    /// The last message, for late joiners.
    latched: Option<KeptFrame>,
    /// Messages before the last one, if late joiners get these as well.
    earlier: Option<EarlierFrames>,
    pool: FramePool,
    /// The writer of the last message.
    last_writer: Option<EntityId>,
    /// Held readers, each with the IPC connection that requests it.
    memory_requests: Vec<(Guid, Arc<ipc::Sender>)>,
    /// Preallocated memory.
    reserved: Vec<Reservation>,
    /// Messages copied for subscribers that have left since, because these had reached their quota.
    shm_copies: u64,
    /// A wait until the published messages have arrived.
    wait: Option<linger_wait::Wait>,
    /// Converts a message to the ROS 1 encoding, where the type has one.
    to_ros1: Option<ToRos1>,
    /// Subscribers receive what was published, and no more.
    drains: bool,
}

impl Publication {
    pub(crate) fn new(
        options: PublicationOptions,
        info: LinkInfo,
        reactor: Arc<Reactor>,
        pool: Arc<Pool>,
    ) -> Self {
        let state = State {
            options,
            links: Vec::new(),
            datagram_links: Vec::new(),
            locals: Vec::new(),
            groups: Vec::new(),
            is_alive: true,
            memory_links: Vec::new(),
            leaving: Vec::new(),
            last_writer: None,
            memory_requests: Vec::new(),
            latched: None,
            earlier: None,
            pool: FramePool::default(),
            reserved: Vec::new(),
            seq: 0,
            shm_copies: 0,
            wait: None,
            to_ros1: None,
            drains: false,
        };
        let state = Mutex::new(Class::Publication, state);
        let (channels, info) = (AtomicUsize::new(0), Arc::new(info));
        Self {
            reactor,
            pool,
            channels,
            memory_channels: AtomicUsize::new(0),
            state,
            dropped: AtomicU64::new(0),
            published: AtomicU64::new(0),
            info,
        }
    }

    /// The type name of this topic, if it conflicts with this type of a further publisher or a subscription.
    pub(crate) fn conflict(&self, sums: TypeSums<'_>) -> Option<String> {
        (!self.info.type_sums().agrees_with(sums)).then(|| self.info.type_name.clone())
    }

    /// Sets the conversion of messages from the ROS 2 encoding to the ROS 1 encoding.
    pub(crate) fn set_to_ros1(
        &self,
        to_ros1: impl Fn(&[u8], &mut GrowingSink) -> Result<(), ConversionError> + Send + Sync + 'static,
    ) {
        lock(&self.state).to_ros1.get_or_insert_with(|| Box::new(to_ros1));
    }

    /// Applies the options of a further publisher of the node.
    pub(crate) fn apply_options(&self, wanted: &PublicationOptions) {
        let mut state = lock(&self.state);
        let State { options, links, .. } = &mut *state;
        options.latching |= wanted.latching;
        options.bound = options.bound.max(wanted.bound);
        links.iter_mut().for_each(|link| link.set_bound(options.bound));
        let bound = options.bound;
        state.set_bound_in_memory(bound);
    }

    /// Messages dropped because a subscriber was slower than the publisher, or because its datagrams could not carry
    /// them; sum over all subscribers.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Messages copied because a subscriber's process had reached its quota; sum over all subscribers.
    pub(crate) fn shm_fallback_count(&self) -> u64 {
        let state = lock(&self.state);
        state.shm_copies
            + state.links.iter().map(Link::shm_copies).sum::<u64>()
            + state.shm_copies_in_memory()
    }

    /// Published messages.
    pub(crate) fn published(&self) -> u64 {
        self.published.load(Ordering::Relaxed)
    }

    /// Subscribers that get the messages of a writer group, including subscriptions of this process.
    pub(crate) fn subscriber_count(&self, group: &WriterGroup) -> usize {
        lock(&self.state).subscriber_count(group)
    }

    /// Subscribers that read messages in shared memory.
    pub(crate) fn shared_memory_count(&self) -> usize {
        self.channels.load(Ordering::Relaxed) + self.memory_channels.load(Ordering::Relaxed)
    }

    /// Whether a subscriber in another process belongs to the node of this name.
    pub(crate) fn has_subscriber(&self, node: &str) -> bool {
        let state = lock(&self.state);
        state.links.iter().any(|link| link.subscriber == node)
            || state.datagram_links.iter().any(|link| link.subscriber == node)
    }
}

impl Drop for Publication {
    /// Frees memory that only this topic used.
    fn drop(&mut self) {
        let state = self.state.get_mut();
        (state.latched, state.earlier, state.links, state.reserved) = (None, None, Vec::new(), Vec::new());
        state.memory_links = Vec::new();
        self.pool.trim();
    }
}

impl State {
    /// Returns the memory of a frame to the pool.
    pub(super) fn recycle(&mut self, frame: Frame) {
        if let Payload::Own(bytes) = frame.into_payload() {
            self.pool.recycle(bytes);
        }
    }
}

#[cfg(test)]
mod tests;
