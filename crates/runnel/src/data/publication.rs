//! Publications: one serialization for all subscribers, written to their sockets by the publishing thread. Each link
//! has a bounded queue for what its socket does not accept.

mod addressed;
mod capacity;
mod framed;
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
mod returned;
mod shared_links;
mod writer;
mod writer_group;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use runnel_core::wire::GrowingSink;
use runnel_io::{Interest, Reactor};
use runnel_rtps::wire::{EntityId, Guid};

use super::datagrams::{DatagramLink, SendOutcome};
use super::frames::FramePool;
use super::subscription::{Deferred, LinkInfo};
use crate::error::ConversionError;
use crate::frame::{Frame, LengthBeyondLimit, MAX_MESSAGE, Payload, QueueBound};
use crate::ipc::{self, Pool, Reservation};
use crate::log_output::console;
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

    /// The type name of this topic, if it conflicts with a further publisher whose type has this MD5 sum.
    pub(crate) fn conflict(&self, md5: &str) -> Option<String> {
        (self.info.md5 != md5).then(|| self.info.type_name.clone())
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

    /// Publishes a message: as bytes, and by reference to those subscriptions of this process that accept its type. A
    /// keep-all group publishes only if no queue would drop a message.
    ///
    /// # Errors
    /// When no subscriber gets the message.
    pub(crate) fn publish<O: Outgoing>(&self, message: O, group: &WriterGroup) -> Result<(), Refused<O>> {
        // Dropped values can own anything of the user's, which must not run its `Drop` under the lock. The message
        // itself can be among them, if all receivers have already dropped it.
        let shared_message;
        let mut copy = None;
        let mut deferred = Deferred::default();
        let mut warning = None;
        // Datagrams are also sent without the lock.
        let mut unsent = None;
        let lendable = self.lendable(&message);
        let mut state = lock(&self.state);
        let keep_all = group.keeps_all();
        if keep_all && let Some(subscriber) = state.full_for_any_length(group) {
            return Err(Refused::Full { subscriber, message, bytes: 0 });
        }
        let shared_type = message.shared_type();
        let by_reference = |local: &LocalSubscription| shared_type.is_some_and(|id| local.core.takes(id));
        let shared = state.locals.iter().filter(|local| by_reference(local)).count();
        let mut bytes = None;
        if state.is_kept_as_bytes(group) || state.locals.len() > shared {
            let frame = state.written(&message, lendable).map_err(Refused::Conversion)?;
            let length = frame.as_ref().len();
            LengthBeyondLimit::check(length, MAX_MESSAGE).map_err(Refused::TooLong)?;
            if keep_all && let Some(subscriber) = self.slowest_full(&mut state, length) {
                state.recycle(frame);
                return Err(Refused::Full { subscriber, message, bytes: length });
            }
            bytes = Some(frame);
        }
        // All encodings are written before any subscriber gets one.
        let copied = if shared > 0 { message.copy_to_share() } else { Ok(None) };
        let cdr = match copied.and_then(|copied| {
            copy = copied;
            state.written_cdr(&message, group)
        }) {
            Ok(cdr) => cdr,
            Err(error) => {
                bytes.into_iter().for_each(|frame| state.recycle(frame));
                return Err(Refused::Conversion(error));
            }
        };
        if let Some(frame) = cdr {
            unsent = self.send_cdr(&mut state, frame, group);
        }
        // A link that was on standby begins to carry messages.
        if bytes.is_none() && state.has_carrying_link(group) {
            bytes = state.written(&message, None).ok();
            self.count_dropped(u64::from(bytes.is_none()));
        }
        if let Some(frame) = bytes {
            let takes_bytes = |local: &LocalSubscription| !by_reference(local);
            warning = self.publish_frame(&mut state, frame, group, takes_bytes, &mut deferred);
        }
        if shared > 0 {
            shared_message = copy.take().unwrap_or_else(|| message.into_shared());
            let (until, from) = (group.lifespan_end(), group.info(&self.info));
            for local in state.locals.iter().filter(|local| by_reference(local)) {
                local.core.push_shared(Arc::clone(&shared_message), local.until(until), from, &mut deferred);
            }
        }
        state.note_published(group);
        // Only written under this lock.
        self.published.store(self.published() + 1, Ordering::Relaxed);
        drop(state);
        drop(unsent);
        log_warning(warning);
        deferred.run();
        Ok(())
    }

    fn count_dropped(&self, messages: u64) {
        // An atomic addition costs as much as a small message.
        if messages > 0 {
            self.dropped.fetch_add(messages, Ordering::Relaxed);
        }
    }

    fn publish_frame(
        &self,
        state: &mut State,
        frame: Frame,
        group: &WriterGroup,
        takes_bytes: impl Fn(&LocalSubscription) -> bool,
        deferred: &mut Deferred,
    ) -> Option<String> {
        debug_assert!(frame.encoding().is_ros1(), "links and datagrams of ROS 1 carry its encoding");
        let mut warning = None;
        state.seq = state.seq.wrapping_add(1);
        let writer = group.writer_id();
        state.last_writer = writer;
        let yields_to_keep_all = state.yields_to_keep_all(group);
        for link in state.links.iter_mut().filter(|link| link.carries(writer)) {
            if yields_to_keep_all && link.is_full(frame.as_ref().len()) {
                link.count_drop();
                self.count_dropped(1);
                continue;
            }
            link.before_message(&self.reactor, writer);
            self.count_dropped(link.send_or_queue(&self.reactor, &frame));
        }
        let bytes = frame.as_ref();
        for link in state.datagram_links.iter_mut().filter(|link| link.carries(writer)) {
            warning = self.send_datagrams(link, bytes).or(warning);
        }
        let (until, from) = (group.lifespan_end(), group.info(&self.info));
        for local in state.locals.iter().filter(|local| takes_bytes(local)) {
            local.core.push_frame(&frame, local.until(until), from, deferred);
        }
        if state.options.latching {
            state.keep(frame, until);
        } else {
            state.recycle(frame);
        }
        warning
    }

    /// Sends a frame as datagrams, if the socket accepts them. Returns a warning to log without the lock.
    fn send_datagrams(&self, link: &mut DatagramLink, bytes: &[u8]) -> Option<String> {
        if link.refused {
            return None;
        }
        let outcome = link.send(bytes);
        if outcome == SendOutcome::Sent {
            link.stats.count_framed(bytes.len());
            return None;
        }
        link.stats.count_dropped(1);
        self.count_dropped(1);
        match outcome {
            SendOutcome::TooLong(line) => return Some(line),
            SendOutcome::Refused => {
                link.refused = true;
                // The socket has already reported its error to this thread. The driver polls for writability instead.
                let _ = self.reactor.modify(&*link.socket, link.token, Interest::Both);
            }
            SendOutcome::Sent | SendOutcome::Dropped => {}
        }
        None
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
    /// Whether a full queue drops a message of this group, so that it never drops those of a keep-all group.
    fn yields_to_keep_all(&self, group: &WriterGroup) -> bool {
        self.groups.len() > 1 && !group.keeps_all() && self.groups.iter().any(|other| other.keeps_all())
    }

    /// Whether the message is needed as bytes, apart from subscriptions of this process.
    fn is_kept_as_bytes(&self, group: &WriterGroup) -> bool {
        self.options.latching || self.has_carrying_link(group)
    }

    /// Returns the memory of a frame to the pool.
    pub(super) fn recycle(&mut self, frame: Frame) {
        if let Payload::Own(bytes) = frame.into_payload() {
            self.pool.recycle(bytes);
        }
    }
}

/// Logs a line. The caller holds no lock, since a logger may publish.
fn log_warning(warning: Option<String>) {
    if let Some(line) = warning {
        console::warning!("{line}");
    }
}

#[cfg(test)]
mod tests;
