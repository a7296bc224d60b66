//! Subscriptions: a bounded queue between the sockets and the user's callback.

mod buffer_pool;
mod capacity;
mod deferred;
mod link_info;
mod pair_position;
mod push;
mod queue;
mod take;

use std::any::{Any, TypeId};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use runnel_core::dynamic::DynamicError;
use runnel_core::time::Instant;
use runnel_core::wire::DecodeError;
use runnel_ros1::peer_text::sanitize;

use super::deadline_monitor::{DeadlineMonitor, Monitored};
use super::qos_events::QosEvents;
use super::received::Received;
use super::sample_info::SampleInfo;
use super::type_sums::TypeSums;
use crate::callback_group::{CallbackScheduler, ExclusiveGroup};
use crate::frame::QueueBound;
use crate::log_output::console;
use crate::ready::Dispatch;
use crate::sync::{Class, Mutex, TryMutex, lock};
use capacity::Capacity;
pub(crate) use deferred::Deferred;
pub(crate) use link_info::LinkInfo;
pub(crate) use pair_position::PairPosition;
pub(crate) use queue::Queue;
pub(crate) use take::Taken;

/// One message for a callback.
pub(crate) enum Delivery<'a> {
    /// As bytes, which the callback may keep: see [`Kept`](super::Kept).
    Bytes { bytes: &'a mut Received, from: &'a Arc<LinkInfo>, info: SampleInfo, queue: &'a Arc<Mutex<Queue>> },
    /// By reference from a publisher of this process, with its publisher and metadata if the subscription requests
    /// these.
    Shared { message: &'a (dyn Any + Send + Sync), info: Option<(&'a Arc<LinkInfo>, SampleInfo)> },
}

/// Why a message cannot be read.
pub(crate) enum Unreadable {
    /// As a message of a known type.
    Typed(DecodeError),
    /// By a schema.
    Dynamic(DynamicError),
}

impl From<DecodeError> for Unreadable {
    fn from(error: DecodeError) -> Self {
        Self::Typed(error)
    }
}

impl From<DynamicError> for Unreadable {
    fn from(error: DynamicError) -> Self {
        Self::Dynamic(error)
    }
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Typed(error) => error.fmt(f),
            Self::Dynamic(error) => error.fmt(f),
        }
    }
}

/// Fails if the message cannot be read.
type Callback = Box<dyn FnMut(Delivery<'_>) -> Result<(), Unreadable> + Send>;

/// Parameters of a subscription. Fields that each message uses come first.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct SubscriptionSpec {
    /// Queue limit.
    pub(crate) bound: QueueBound,
    /// The longest time between two messages.
    pub(crate) deadline: Option<Duration>,
    /// Whether to record reception times and, for messages by reference, publishers.
    pub(crate) wants_info: bool,
    /// Keep-all history: keep-all publishers wait while the queue is full.
    pub(crate) keeps_all: bool,
    pub(crate) topic: String,
    pub(crate) type_name: String,
    /// MD5 sum of the type; the type hash if the topic is only in ROS 2; `*` accepts any type.
    pub(crate) md5: String,
    /// The ROS 2 type hash; empty if it is unknown or the topic is only in ROS 1.
    pub(crate) type_hash: String,
    /// The type that it accepts by reference; `None` accepts only bytes.
    pub(crate) takes: Option<TypeId>,
    /// Length of every message of the type in ROS 1, if that is fixed.
    pub(crate) fixed_len: Option<usize>,
}

/// One subscription of the user. Fields that each message uses come first.
#[repr(C)]
pub(crate) struct SubscriptionCore {
    queue: Arc<Mutex<Queue>>,
    scheduler: CallbackScheduler,
    received: AtomicU64,
    deadline: DeadlineMonitor,
    capacity: Capacity,
    callback: TryMutex<Callback>,
    options: SubscriptionSpec,
    dropped: AtomicU64,
    lost: AtomicU64,
    malformed: AtomicU64,
    events: QosEvents,
}

impl SubscriptionCore {
    pub(crate) fn new(
        options: SubscriptionSpec,
        dispatch: Dispatch,
        events: QosEvents,
        callback: impl FnMut(Delivery<'_>) -> Result<(), Unreadable> + Send + 'static,
    ) -> Arc<Self> {
        Self::in_group(options, (dispatch, &Arc::new(ExclusiveGroup::new())), events, callback)
    }

    /// A subscription whose callback belongs to a callback group.
    pub(crate) fn in_group(
        options: SubscriptionSpec,
        (dispatch, group): (Dispatch, &Arc<ExclusiveGroup>),
        events: QosEvents,
        callback: impl FnMut(Delivery<'_>) -> Result<(), Unreadable> + Send + 'static,
    ) -> Arc<Self> {
        Arc::new_cyclic(|myself| Self {
            queue: Arc::new(Mutex::new(Class::SubscriptionQueue, Queue::default())),
            scheduler: CallbackScheduler::in_group(dispatch, group, myself),
            received: AtomicU64::new(0),
            deadline: DeadlineMonitor::new(options.deadline),
            capacity: Capacity::default(),
            callback: TryMutex::new(Box::new(callback)),
            options,
            dropped: AtomicU64::new(0),
            lost: AtomicU64::new(0),
            malformed: AtomicU64::new(0),
            events,
        })
    }

    pub(super) fn topic(&self) -> &str {
        &self.options.topic
    }

    /// Its QoS events.
    pub(crate) fn events(&self) -> &QosEvents {
        &self.events
    }

    pub(super) fn type_name(&self) -> &str {
        &self.options.type_name
    }

    pub(crate) fn type_sums(&self) -> TypeSums<'_> {
        TypeSums { md5: &self.options.md5, type_hash: &self.options.type_hash }
    }

    /// Length of every ROS 1 message of a publisher with this MD5 sum, if that is fixed.
    pub(super) fn fixed_len(&self, md5: &str) -> Option<usize> {
        self.options.fixed_len.filter(|_| self.options.md5 == md5)
    }

    /// Queue limit.
    pub(super) fn bound(&self) -> QueueBound {
        self.options.bound
    }

    /// True if it can read messages of this type.
    pub(super) fn agrees_with(&self, other: TypeSums<'_>) -> bool {
        self.type_sums().agrees_with(other)
    }

    /// True if it accepts messages of all types.
    pub(crate) fn takes_any(&self) -> bool {
        self.type_sums().is_any()
    }

    /// Whether it can read the messages of a publisher; logs an error if not. The headers compare types too, but
    /// another subscription of the node that accepts any type lets such a publisher in.
    pub(super) fn reads(&self, publisher: &LinkInfo) -> bool {
        let mismatch = self.mismatch(publisher);
        mismatch.iter().for_each(|line| console::error!("{line}"));
        mismatch.is_none()
    }

    /// The error text if the types differ.
    pub(super) fn mismatch(&self, publisher: &LinkInfo) -> Option<String> {
        if self.agrees_with(publisher.type_sums()) {
            return None;
        }
        let SubscriptionSpec { topic, type_name, md5, .. } = &self.options;
        let LinkInfo { publisher, type_name: theirs, md5: their_md5, .. } = publisher;
        let [publisher, theirs, their_md5] = [publisher, theirs, their_md5].map(|words| sanitize(words));
        Some(format!(
            "topic {topic}: publisher [{publisher}] has {theirs} [{their_md5}], this subscription {type_name} [{md5}]"
        ))
    }

    /// Messages dropped because the callback was slower than the publishers.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Received messages, including dropped ones.
    pub(crate) fn received(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }

    /// Lost messages, of which at least a part never arrived.
    pub(crate) fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// Counts lost messages.
    pub(super) fn lose(&self, messages: u64) {
        self.lost.fetch_add(messages, Ordering::Relaxed);
        self.events.messages_lost(messages);
    }

    /// Messages that could not be read.
    pub(crate) fn malformed(&self) -> u64 {
        self.malformed.load(Ordering::Relaxed)
    }

    /// Counts a message that cannot be read, and logs it. Since a publisher may send nothing else, only counts that
    /// are powers of two are logged.
    fn note_malformed(&self, from: &LinkInfo, error: &Unreadable) {
        self.malformed.fetch_add(1, Ordering::Relaxed);
        from.stats.count_dropped(1);
        let (topic, publisher) = (&self.options.topic, sanitize(&from.publisher));
        match from.malformed.fetch_add(1, Ordering::Relaxed) + 1 {
            1 => console::error!("topic {topic}: message of publisher [{publisher}] cannot be read: {error}"),
            count if count.is_power_of_two() => {
                console::error!(
                    "topic {topic}: {count} messages of publisher [{publisher}] cannot be read, the last: {error}"
                );
            }
            _ => {}
        }
    }

    /// True if it accepts messages of this type by reference.
    pub(super) fn takes(&self, message: TypeId) -> bool {
        self.options.takes == Some(message)
    }

    /// Ends the subscription when the user has dropped it, with the messages in its queue.
    pub(crate) fn end(&self) {
        let dropped = lock(&self.queue).end();
        // A shared message can own anything of the user's, which must not be dropped under that lock.
        drop(dropped);
    }

    /// A buffer for the next message, with unspecified content.
    pub(super) fn spare(&self) -> Vec<u8> {
        lock(&self.queue).spare()
    }
}

impl Monitored for SubscriptionCore {
    fn check(&self, now: Instant) -> Option<Instant> {
        let (missed, next) = self.deadline.check(now)?;
        if missed > 0 {
            self.events.deadline_missed(missed);
        }
        Some(next)
    }
}
