//! The receiving side: a bounded queue between the sockets and the user's callback.

mod deferred;
mod link_info;
mod pair_position;
mod push;
mod queue;
mod room;
mod spares;
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

use super::qos_events::QosEvents;
use super::received::Received;
use super::sample_info::SampleInfo;
use super::watch::{Pulse, Watched};
use crate::callback_group::{ExclusiveGroup, Turn};
use crate::frame::QueueBound;
use crate::log_output::console;
use crate::ready::When;
use crate::sync::{Class, Mutex, TryMutex, lock};
pub(crate) use deferred::Deferred;
pub(crate) use link_info::LinkInfo;
pub(crate) use pair_position::PairPosition;
pub(crate) use queue::Queue;
use room::Room;
pub(crate) use take::Taken;

/// One message on its way to a callback.
pub(crate) enum Delivery<'a> {
    /// As its bytes, which the callback may take along: see [`Kept`](super::Kept).
    Bytes { bytes: &'a mut Received, from: &'a Arc<LinkInfo>, info: SampleInfo, queue: &'a Arc<Mutex<Queue>> },
    /// By reference from a publisher of this process, with what is known of it where the subscription asks for that.
    Shared { message: &'a (dyn Any + Send + Sync), info: Option<(&'a Arc<LinkInfo>, SampleInfo)> },
}

/// A message that cannot be read.
pub(crate) enum Unreadable {
    /// As one of a type that is known.
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

/// It fails on a message that cannot be read.
type Callback = Box<dyn FnMut(Delivery<'_>) -> Result<(), Unreadable> + Send>;

/// What a subscription is to. What each message is held against comes first.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct SubscriptionSpec {
    /// What may wait for the callback.
    pub(crate) bound: QueueBound,
    /// The longest time between two messages.
    pub(crate) deadline: Option<Duration>,
    /// It is to be noted when messages come and, of those that come by reference, from whom.
    pub(crate) wants_info: bool,
    /// Publishers that keep all are to wait when there is no room.
    pub(crate) keeps_all: bool,
    pub(crate) topic: String,
    pub(crate) type_name: String,
    /// MD5 sum of the type; `*` takes any.
    pub(crate) md5: String,
    /// The type that it takes by reference; `None` takes bytes only.
    pub(crate) takes: Option<TypeId>,
    /// Bytes of every message of the type in ROS 1, if that is fixed.
    pub(crate) fixed_len: Option<usize>,
}

/// One subscription of the user's. What each message touches comes first.
#[repr(C)]
pub(crate) struct SubscriptionCore {
    queue: Arc<Mutex<Queue>>,
    turn: Turn,
    received: AtomicU64,
    deadline: Pulse,
    room: Room,
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
        when: When,
        events: QosEvents,
        callback: impl FnMut(Delivery<'_>) -> Result<(), Unreadable> + Send + 'static,
    ) -> Arc<Self> {
        Self::in_group(options, (when, &Arc::new(ExclusiveGroup::new())), events, callback)
    }

    /// A subscription whose callback is of a group.
    pub(crate) fn in_group(
        options: SubscriptionSpec,
        (when, group): (When, &Arc<ExclusiveGroup>),
        events: QosEvents,
        callback: impl FnMut(Delivery<'_>) -> Result<(), Unreadable> + Send + 'static,
    ) -> Arc<Self> {
        Arc::new_cyclic(|myself| Self {
            queue: Arc::new(Mutex::new(Class::SubscriptionQueue, Queue::default())),
            turn: Turn::in_group(when, group, myself),
            received: AtomicU64::new(0),
            deadline: Pulse::new(options.deadline),
            room: Room::default(),
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

    /// What the user is told of it.
    pub(crate) fn events(&self) -> &QosEvents {
        &self.events
    }

    pub(super) fn type_name(&self) -> &str {
        &self.options.type_name
    }

    pub(super) fn md5(&self) -> &str {
        &self.options.md5
    }

    /// Bytes of every message that a publisher of this MD5 sum sends by ROS 1, if that is fixed.
    pub(super) fn fixed_len(&self, md5: &str) -> Option<usize> {
        self.options.fixed_len.filter(|_| self.options.md5 == md5)
    }

    /// What may wait for the callback.
    pub(super) fn bound(&self) -> QueueBound {
        self.options.bound
    }

    /// True if messages of this MD5 sum can be read here.
    pub(super) fn agrees_with(&self, md5: &str) -> bool {
        let mine = self.options.md5.as_str();
        mine == md5 || mine == "*" || md5 == "*"
    }

    /// True if messages of all types are taken.
    pub(crate) fn takes_any(&self) -> bool {
        self.options.md5 == "*"
    }

    /// Compares types with a publisher, as the headers do for those of other processes: with these it is another
    /// subscription of the node's that takes any type and let the publisher in. Says so if they differ.
    pub(super) fn reads(&self, publisher: &LinkInfo) -> bool {
        let mismatch = self.mismatch(publisher);
        mismatch.iter().for_each(|line| console::error!("{line}"));
        mismatch.is_none()
    }

    /// What is to be said if the types differ.
    pub(super) fn mismatch(&self, publisher: &LinkInfo) -> Option<String> {
        if self.agrees_with(&publisher.md5) {
            return None;
        }
        let SubscriptionSpec { topic, type_name, md5, .. } = &self.options;
        let LinkInfo { publisher, type_name: theirs, md5: their_md5, .. } = publisher;
        let [publisher, theirs, their_md5] = [publisher, theirs, their_md5].map(|words| sanitize(words));
        Some(format!(
            "topic {topic}: publisher [{publisher}] has {theirs} [{their_md5}], this subscription {type_name} [{md5}]"
        ))
    }

    /// Messages that were dropped because the callback was slower than the publishers.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Messages that arrived, those dropped included.
    pub(crate) fn received(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }

    /// Messages that did not arrive whole, and will not.
    pub(crate) fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// Messages did not arrive whole.
    pub(super) fn lose(&self, messages: u64) {
        self.lost.fetch_add(messages, Ordering::Relaxed);
        self.events.messages_lost(messages);
    }

    /// Messages that could not be read.
    pub(crate) fn malformed(&self) -> u64 {
        self.malformed.load(Ordering::Relaxed)
    }

    /// Counts a message that cannot be read, and says so: each time twice as many have come, since a publisher may
    /// send nothing else.
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

    /// True if messages of this type are taken by reference.
    pub(super) fn takes(&self, message: TypeId) -> bool {
        self.options.takes == Some(message)
    }

    /// The user has dropped the subscription: what waits is for nobody.
    pub(crate) fn end(&self) {
        let unheard = lock(&self.queue).end();
        // A shared message may hold anything of the user's, whose end must not happen under that lock.
        drop(unheard);
    }

    /// A buffer to receive the next message into; what it holds does not matter.
    pub(super) fn spare(&self) -> Vec<u8> {
        lock(&self.queue).spare()
    }
}

impl Watched for SubscriptionCore {
    fn look(&self, now: Instant) -> Option<Instant> {
        let (missed, next) = self.deadline.look(now)?;
        if missed > 0 {
            self.events.deadline_missed(missed);
        }
        Some(next)
    }
}
