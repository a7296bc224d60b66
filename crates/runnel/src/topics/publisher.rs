//! Publishers.

mod bytes;
mod dynamic;
mod subscribers;

use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use runnel_core::Message;
use runnel_core::qos::QoS;
use runnel_core::schema::Schema;
use runnel_core::wire::{Encoding, GrowingSink, NoMemory};
use runnel_io::clock;
#[cfg(feature = "tf")]
use runnel_msgs::tf2_msgs::msg::TFMessage;

use crate::callback_group::CallbackGroup;
use crate::data::outgoing::{Publishable, Typed, convert};
use crate::data::{
    LoanError, LoanedBuffer, Outgoing, Publication, QosEvents, Refused, WriterGroup, WrittenLoan,
};
use crate::error::Error;
use crate::node::Node;
use crate::node::options::PublisherOptions;
use crate::node::publishing::{PublisherEnd, UserPublisher};
use crate::qos_events::{DeadlineMissed, IncompatibleQoS, LivelinessLost, Matched};
use crate::runtime::event_loop::EventLoop;
#[cfg(feature = "tf")]
use crate::sync::Mutex;
use crate::types::announced::Topic;
use crate::types::type_mapping::TypeMapping;
pub(crate) use bytes::BytesPublisher;
pub use dynamic::DynamicPublisher;

/// Default of the time for which publishing waits for a subscriber with keep-all history.
const DEFAULT_MAX_BLOCKING: Duration = Duration::from_millis(100);

/// How long to wait until subscribers have mapped preallocated memory.
const MAPPING_TIMEOUT: Duration = Duration::from_secs(1);

/// Publishes messages of type `M` to a topic, from any thread. Clones are handles of the same publisher, which is
/// unregistered when the last one is dropped.
#[derive(Clone)]
#[must_use = "a publisher is unregistered when it is dropped: bind it to a name, `let chatter = ...`, not `let _ = ...`"]
pub struct Publisher<M> {
    pub(crate) base: PublisherBase,
    message: PhantomData<fn(M)>,
}

/// The part of publishers that does not depend on the message type: [`Publisher`] and [`DynamicPublisher`] dereference
/// to it.
///
/// ```no_run
/// # use runnel::{PublisherBase, msgs::std_msgs::msg::Empty};
/// fn report(publisher: &PublisherBase) {
///     println!("{}: {} subscriptions", publisher.topic(), publisher.subscription_count());
/// }
///
/// # fn on_node(node: &runnel::Node) -> Result<(), runnel::Error> {
/// let bang = node.create_publisher::<Empty>("bang", 1)?;
/// report(&bang);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct PublisherBase {
    end: Arc<PublisherEnd>,
    /// The publication of `end`, which each message uses.
    publication: Arc<Publication>,
    event_loop: Arc<EventLoop>,
    user_publisher: Arc<UserPublisher>,
    max_blocking: Duration,
}

impl<M: Message> Publisher<M> {
    pub(crate) fn new(base: PublisherBase) -> Self {
        let to_ros1 =
            |bytes: &[u8], out: &mut GrowingSink| convert::<M>(bytes, Encoding::Xcdr1, Encoding::Ros1, out);
        base.publication.set_to_ros1(to_ros1);
        Self { base, message: PhantomData }
    }

    /// Publishes a message: it is serialized once for all subscribers.
    ///
    /// # Errors
    /// [`Error::Blocked`] if the history is keep-all and a subscriber accepted no message within the max blocking time,
    /// 100 ms by default (see [`Publisher::set_max_blocking_time`]). With [`QoS::keep_last`], the oldest message is
    /// dropped and counted instead. [`Error::ShuttingDown`] if it would have to wait and the context is ending.
    /// [`Error::TooLong`] if the message is longer than subscribers accept. [`Error::NoMemory`] if there is no memory
    /// to serialize it, or for the copy that subscriptions of this process share. [`Error::Encode`] if a ROS 2
    /// subscriber needs the message and a value in it has no ROS 2 encoding.
    pub fn publish(&self, message: impl Publishable<M>) -> Result<(), Error> {
        self.base.publish(Typed::of(message), self.base.max_blocking)
    }

    /// Publishes a message without ever waiting.
    ///
    /// # Errors
    /// [`Error::Blocked`] if the history is keep-all and a subscriber's queue is full, and otherwise as
    /// [`Publisher::publish`].
    pub fn try_publish(&self, message: impl Publishable<M>) -> Result<(), Error> {
        self.base.publish(Typed::of(message), Duration::ZERO)
    }

    /// Sets how long publishing waits for a subscriber with keep-all history; 100 ms by default. It applies to this
    /// handle and to later clones of it.
    pub fn set_max_blocking_time(&mut self, time: Duration) {
        self.base.max_blocking = time;
    }
}

impl Node {
    /// Creates a publisher of messages of type `M` to a topic. With
    /// [`QoS::transient_local`](crate::QoS::transient_local) the topic is latched.
    ///
    /// In ROS 1 it returns once the master has registered the publisher. If the master cannot be reached, it logs a
    /// warning, returns, and registers later. In ROS 2 it does not wait.
    ///
    /// # Errors
    /// If the name is not valid, the node publishes the topic with another type, or the ROS 1 master refuses.
    pub fn create_publisher<M: Message>(
        &self,
        topic: &str,
        options: impl Into<PublisherOptions>,
    ) -> Result<Publisher<M>, Error> {
        let topic = self.topic_of::<M>(topic)?;
        Ok(Publisher::new(self.publishing(&topic, options)?))
    }

    /// Creates a publisher of messages whose type is known only at run time.
    ///
    /// # Errors
    /// As [`Node::create_publisher`].
    pub fn create_dynamic_publisher(
        &self,
        topic: &str,
        schema: &Arc<Schema>,
        options: impl Into<PublisherOptions>,
    ) -> Result<DynamicPublisher, Error> {
        let mapping = TypeMapping::of(schema);
        let topic = self.topic_of_mapping(topic, &mapping)?;
        Ok(DynamicPublisher::new(self.publishing(&topic, options)?, mapping))
    }

    /// Creates a user's publisher.
    pub(crate) fn publishing(
        &self,
        topic: &Topic,
        options: impl Into<PublisherOptions>,
    ) -> Result<PublisherBase, Error> {
        let PublisherOptions { qos, callbacks, group, overriding, keeps_header_seq } = options.into();
        let unnumbered = keeps_header_seq.then(|| topic.unnumbered());
        let topic = unnumbered.as_ref().unwrap_or(topic);
        let qos = overriding.map_or(Ok(qos), |overriding| overriding(self, &topic.name, qos))?;
        let qos = self.inner.driver().settled_for_publisher(&topic.name, qos);
        let group = CallbackGroup::for_entity(group.as_ref());
        let events = QosEvents::new(callbacks, (self.inner.executor_dispatch(), &group));
        Ok(PublisherBase::new(self.create_user_publisher(topic, qos, Arc::new(events))?))
    }
}

impl PublisherBase {
    /// The topic's absolute name.
    pub fn topic(&self) -> &str {
        &self.end.topic
    }

    /// The number of connected subscribers.
    pub fn subscription_count(&self) -> usize {
        self.end.publication.subscriber_count(&self.user_publisher.group)
    }

    /// The offered QoS, with best-available policies resolved.
    pub fn qos(&self) -> QoS {
        self.user_publisher.group.qos
    }

    /// Asserts the publisher's liveliness, as publishing does. Needed within each lease if its liveliness is manual;
    /// no effect if it is automatic.
    pub fn assert_liveliness(&self) {
        self.user_publisher.group.assert_liveliness();
    }

    /// Counts of matched subscriptions.
    pub fn matched_status(&self) -> Matched {
        self.user_publisher.events.statuses().matched
    }

    /// Number of deadline periods in which nothing was published.
    pub fn deadline_missed_status(&self) -> DeadlineMissed {
        self.user_publisher.events.statuses().deadline
    }

    /// Count of expired liveliness leases of the publisher.
    pub fn liveliness_lost_status(&self) -> LivelinessLost {
        self.user_publisher.events.statuses().liveliness_lost
    }

    /// Count of subscriptions that requested more than the publisher offers.
    pub fn incompatible_qos_status(&self) -> IncompatibleQoS {
        self.user_publisher.events.statuses().incompatible_qos
    }

    /// The number of subscribers in other processes of this host that use shared memory.
    pub fn shared_memory_count(&self) -> usize {
        self.end.publication.shared_memory_count()
    }

    /// The number of messages published since creation, by all publishers of this node on the topic.
    pub fn published(&self) -> u64 {
        self.end.publication.published()
    }

    /// The number of messages dropped since creation because a subscriber was too slow, or because its datagrams could
    /// not carry them (see [`SubscriptionOptions::udpros`](crate::SubscriptionOptions::udpros)). Sum over all
    /// subscribers and all publishers of this node on the topic.
    pub fn dropped(&self) -> u64 {
        self.end.publication.dropped()
    }

    /// The number of messages copied for a subscriber on this host because its process had reached its quota of this
    /// one's shared memory: by messages that it has not handled yet, and by those that it keeps (see
    /// [`Borrowed`](crate::Borrowed)). Sum over all subscribers.
    pub fn shm_fallback_count(&self) -> u64 {
        self.end.publication.shm_fallback_count()
    }

    /// Preallocates shared memory for `messages` messages of up to `bytes` serialized bytes each. Waits at most one
    /// second until subscribers on this host have mapped it, and returns `Ok` also if they have not; later subscribers
    /// map it when they connect. Does nothing if IPC is disabled. Without it, memory is allocated for the first
    /// messages, at about a millisecond for 4 MB, and the first messages are copied. The memory is freed when the
    /// topic's publishers are unregistered, and comes on top of
    /// [`ContextOptions::shared_memory`](crate::ContextOptions::shared_memory). Messages below 4 KiB need none.
    ///
    /// # Errors
    /// [`Error::Io`] if there is too little memory, or the operating system refuses to wait.
    pub fn preallocate(&self, messages: usize, bytes: usize) -> Result<(), Error> {
        let context = &self.end.node.context.shared;
        if context.settings.ipc.is_none() {
            return Ok(());
        }
        let publication = &self.end.publication;
        let what = || format!("topic {}: memory for {messages} messages of {bytes} bytes", self.end.topic);
        publication.preallocate(messages, bytes).map_err(|error| Error::io(what(), &error))?;
        context.wait(MAPPING_TIMEOUT, |_| publication.is_preallocation_mapped())?;
        Ok(())
    }

    /// Waits at most `timeout` until `count` subscribers get everything published from now on. False if there are
    /// fewer. A ROS 2 subscriber counts once its process has confirmed the match. Before that, a best-effort one may
    /// miss messages, although [`subscription_count`](Self::subscription_count) already counts it.
    ///
    /// # Errors
    /// [`Error::ShuttingDown`] when the context ends first; [`Error::Io`] if the operating system refuses to wait.
    pub fn wait_for_subscribers(&self, count: usize, timeout: Duration) -> Result<bool, Error> {
        let shared = &self.end.node.context.shared;
        let (publication, group) = (&self.end.publication, &self.user_publisher.group);
        shared.wait_while_ok(timeout, |_| publication.ready_count(group) >= count)
    }
}

impl<M> Deref for Publisher<M> {
    type Target = PublisherBase;

    fn deref(&self) -> &PublisherBase {
        &self.base
    }
}

impl<M> fmt::Debug for Publisher<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Publisher").field("topic", &self.base.end.topic).finish_non_exhaustive()
    }
}

impl fmt::Debug for PublisherBase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PublisherBase").field("topic", &self.end.topic).finish_non_exhaustive()
    }
}

impl PublisherBase {
    pub(crate) fn new(user_publisher: Arc<UserPublisher>) -> Self {
        let end = Arc::clone(&user_publisher.end);
        let (publication, event_loop) =
            (Arc::clone(&end.publication), Arc::clone(&end.node.context.shared.event_loop));
        Self { end, publication, event_loop, user_publisher, max_blocking: DEFAULT_MAX_BLOCKING }
    }

    /// What publishes its messages, for parts of the library that may not own the node.
    pub(crate) fn publication_and_group(&self) -> (Arc<Publication>, Arc<WriterGroup>) {
        (Arc::clone(&self.publication), Arc::clone(&self.user_publisher.group))
    }

    /// The static transforms that the node's broadcasters have sent.
    #[cfg(feature = "tf")]
    pub(crate) fn static_transforms(&self) -> &Mutex<TFMessage> {
        &self.end.static_transforms
    }

    /// Whether only ROS 2 subscribers are to get messages.
    pub(crate) fn has_only_ros2_subscribers(&self) -> bool {
        self.publication.has_only_ros2_subscribers(&self.user_publisher.group)
    }

    /// Memory for a message of `bytes` bytes in an encoding.
    pub(crate) fn loan(&self, bytes: usize, encoding: Encoding) -> Result<LoanedBuffer, Error> {
        let buffer = self.publication.loan(bytes, encoding);
        let topic = || self.end.topic.clone();
        buffer.map_err(|why| match why {
            LoanError::TooLong(length) => Error::TooLong { topic: topic(), length },
            LoanError::NoMemory(NoMemory { bytes }) => Error::NoMemory { topic: topic(), bytes },
        })
    }

    /// Publishes a loaned message like [`PublisherBase::publish`].
    pub(crate) fn publish_loan(&self, loan: WrittenLoan<'_>) -> Result<(), Error> {
        self.publish_outgoing(loan, self.max_blocking, |publication, loan| {
            publication.publish_loan(loan, &self.user_publisher.group)
        })
    }

    /// Publishes a message. With keep-all history, waits until no queue would drop a message, at most for `timeout`.
    fn publish(&self, message: impl Outgoing, timeout: Duration) -> Result<(), Error> {
        let group = &*self.user_publisher.group;
        self.publish_outgoing(message, timeout, |publication, message| publication.publish(message, group))
    }

    /// Keeps a message for late subscribers.
    fn keep(&self, message: impl Outgoing) -> Result<(), Error> {
        let kept = self.publication.keep_for_late(&message, &self.user_publisher.group);
        kept.map_err(|error| Error::conversion(self.topic().to_owned(), error))
    }

    fn publish_outgoing<O>(
        &self,
        message: O,
        timeout: Duration,
        publish: impl Fn(&Publication, O) -> Result<(), Refused<O>>,
    ) -> Result<(), Error> {
        let published = self.publish_blocking(message, timeout, publish);
        self.event_loop.ensure_background_thread();
        published
    }

    fn publish_blocking<O>(
        &self,
        mut message: O,
        timeout: Duration,
        publish: impl Fn(&Publication, O) -> Result<(), Refused<O>>,
    ) -> Result<(), Error> {
        let publication = &*self.publication;
        let mut start = None;
        loop {
            let refused = match publish(publication, message) {
                Ok(()) => return Ok(()),
                Err(refused) => refused,
            };
            let topic = || self.end.topic.clone();
            let (subscriber, bytes) = match refused {
                Refused::TooLong(length) => return Err(Error::TooLong { topic: topic(), length }),
                Refused::Conversion(why) => return Err(Error::conversion(topic(), why)),
                Refused::Full { subscriber, message: kept, bytes } => {
                    message = kept;
                    (subscriber, bytes)
                }
            };
            let waited = clock::monotonic().since(*start.get_or_insert_with(clock::monotonic));
            if waited >= timeout {
                return Err(Error::Blocked { topic: topic(), subscriber, waited });
            }
            let context = &self.end.node.context;
            if !context.ok() {
                return Err(Error::ShuttingDown);
            }
            context
                .shared
                .wait(timeout - waited, |_| publication.has_capacity(bytes, &self.user_publisher.group))?;
        }
    }
}
