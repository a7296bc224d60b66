//! Publishers.

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

use crate::announced::Topic;
use crate::data::{Blank, Filled, NoBlank, Outgoing, Publication, QosEvents, Refused};
use crate::error::Error;
use crate::forms::Forms;
use crate::node::Node;
use crate::node::publishing::{Offering, PublisherEnd};
use crate::options::PublisherOptions;
use crate::outgoing::{Publishable, Typed, Written, translate};
use crate::qos_events::{DeadlineMissed, IncompatibleQoS, LivelinessLost, Matched};
use crate::turning::Turning;
pub use dynamic::DynamicPublisher;

/// How long publishing waits at most for a subscriber when all messages are to be kept.
const MAX_BLOCKING: Duration = Duration::from_millis(100);

/// How long subscribers may take to map what is reserved.
const MAPPING: Duration = Duration::from_secs(1);

/// Publishes messages of type `M` to a topic, from any thread.
#[derive(Clone)]
pub struct Publisher<M> {
    pub(crate) base: PublisherBase,
    message: PhantomData<fn(M)>,
}

/// Publishes messages that are known as bytes only.
pub(crate) struct BytesPublisher(PublisherBase);

impl BytesPublisher {
    pub(crate) fn new(base: PublisherBase) -> Self {
        Self(base)
    }

    /// Publishes the message that `write` appends as ROS 1 has it: the topic is in ROS 1 alone.
    pub(crate) fn publish(&self, write: impl Fn(&mut GrowingSink)) -> Result<(), Error> {
        let write = |_, out: &mut GrowingSink| {
            write(out);
            Ok(())
        };
        self.0.publish(Written::by(write), self.0.max_blocking)
    }

    /// Whether a node of this name is among the subscribers.
    pub(crate) fn reaches(&self, node: &str) -> bool {
        let PublisherEnd { publication, topic, node: mine, .. } = &*self.0.end;
        let input = mine.driver().nodes.input_of(node, topic);
        let local = input.is_some_and(|input| input.any(|subscription| publication.has_local(subscription)));
        local || publication.has_subscriber(node)
    }
}

/// What all publishers have, whatever the type of their messages: [`Publisher`] and [`DynamicPublisher`] dereference to it.
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
    /// Of the end's, at hand for each message.
    publication: Arc<Publication>,
    turning: Arc<Turning>,
    offering: Arc<Offering>,
    max_blocking: Duration,
}

impl<M: Message> Publisher<M> {
    pub(crate) fn new(base: PublisherBase) -> Self {
        let to_ros1 =
            |bytes: &[u8], out: &mut GrowingSink| translate::<M>(bytes, Encoding::Xcdr1, Encoding::Ros1, out);
        base.publication.set_to_ros1(to_ros1);
        Self { base, message: PhantomData }
    }

    /// Publishes a message: serialized once, however many subscribers there are.
    ///
    /// # Errors
    /// [`Error::Blocked`] when all messages are to be kept and a subscriber took none for too long. With
    /// [`QoS::keep_last`] the oldest message is dropped for it instead, and counted. [`Error::TooLong`] when the
    /// message is longer than subscribers accept. [`Error::NoMemory`] when there is no memory for it as it is to be sent, or
    /// for the copy that subscribers of this process share. [`Error::Encode`] when something in it has no form in ROS 2,
    /// where somebody listens.
    pub fn publish(&self, message: impl Publishable<M>) -> Result<(), Error> {
        self.base.publish(Typed::of(message), self.base.max_blocking)
    }

    /// Publishes a message without ever waiting.
    ///
    /// # Errors
    /// [`Error::Blocked`] when all messages are to be kept and a subscriber has no room, and otherwise as
    /// [`Publisher::publish`].
    pub fn try_publish(&self, message: impl Publishable<M>) -> Result<(), Error> {
        self.base.publish(Typed::of(message), Duration::ZERO)
    }

    /// Sets how long publishing waits at most for a subscriber when all messages are to be kept; 100 ms at first. It
    /// holds for this handle and for clones made of it later.
    pub fn set_max_blocking_time(&mut self, time: Duration) {
        self.base.max_blocking = time;
    }
}

impl Node {
    /// Publishes messages of type `M` to a topic. With [`QoS::transient_local`](crate::QoS::transient_local) the topic is latched.
    ///
    /// In ROS 1 it returns once the master knows, or with a warning if that cannot be reached: it is told as soon as it can be. In
    /// ROS 2 nobody is waited for.
    ///
    /// # Errors
    /// When the name is not valid, the node publishes the topic with another type, or the master of ROS 1 refuses.
    pub fn create_publisher<M: Message>(
        &self,
        topic: &str,
        options: impl Into<PublisherOptions>,
    ) -> Result<Publisher<M>, Error> {
        let topic = self.topic_of::<M>(topic)?;
        Ok(Publisher::new(self.publishing(&topic, options)?))
    }

    /// Publishes messages of a type that is known only while the program runs.
    ///
    /// # Errors
    /// As [`Node::create_publisher`].
    pub fn create_dynamic_publisher(
        &self,
        topic: &str,
        schema: &Arc<Schema>,
        options: impl Into<PublisherOptions>,
    ) -> Result<DynamicPublisher, Error> {
        let forms = Forms::of(schema);
        let topic = self.topic_of_forms(topic, &forms)?;
        Ok(DynamicPublisher::new(self.publishing(&topic, options)?, forms))
    }

    /// What a publisher of the user's publishes a topic with.
    pub(crate) fn publishing(
        &self,
        topic: &Topic,
        options: impl Into<PublisherOptions>,
    ) -> Result<PublisherBase, Error> {
        let PublisherOptions { qos, callbacks } = options.into();
        let qos = self.inner.driver().settled_for_publisher(&topic.name, qos);
        let events = QosEvents::new(callbacks, self.inner.spun());
        Ok(PublisherBase::new(self.offering(topic, qos, Arc::new(events))?))
    }
}

impl PublisherBase {
    /// The topic's absolute name.
    pub fn topic(&self) -> &str {
        &self.end.topic
    }

    /// Subscribers that are connected.
    pub fn subscription_count(&self) -> usize {
        self.end.publication.subscriber_count(&self.offering.offer)
    }

    /// The quality of service that is offered, with what was to be the best available settled.
    pub fn qos(&self) -> QoS {
        self.offering.offer.qos
    }

    /// Says that the publisher lives, as publishing does: needed within each lease when its liveliness is manual, of
    /// no effect when it is automatic.
    pub fn assert_liveliness(&self) {
        self.offering.offer.assert_liveliness();
    }

    /// Subscriptions that were met so far, and are now.
    pub fn matched_status(&self) -> Matched {
        self.offering.events.statuses().matched
    }

    /// Deadlines within which nothing was published.
    pub fn deadline_missed_status(&self) -> DeadlineMissed {
        self.offering.events.statuses().deadline
    }

    /// How often the publisher did not show within its lease that it lives.
    pub fn liveliness_lost_status(&self) -> LivelinessLost {
        self.offering.events.statuses().liveliness_lost
    }

    /// Subscriptions that asked for more than is offered.
    pub fn incompatible_qos_status(&self) -> IncompatibleQoS {
        self.offering.events.statuses().incompatible_qos
    }

    /// Subscribers of other processes of this host that get messages by shared memory.
    pub fn shared_memory_count(&self) -> usize {
        self.end.publication.shared_memory_count()
    }

    /// Messages published so far.
    pub fn published(&self) -> u64 {
        self.end.publication.published()
    }

    /// Messages that were dropped because a subscriber was too slow, or that its datagrams could not carry (see
    /// [`SubscriptionOptions::udpros`](crate::SubscriptionOptions::udpros)), all subscribers together.
    pub fn dropped(&self) -> u64 {
        self.end.publication.dropped()
    }

    /// Messages that were copied for a subscriber of this host because its process held as much of this one's shared
    /// memory as it may: what it has not worked on yet, and what it keeps (see [`Borrowed`](crate::Borrowed)). All
    /// subscribers together.
    pub fn copied(&self) -> u64 {
        self.end.publication.copied()
    }

    /// Makes memory ahead for so many messages of up to so many bytes each, as they are serialized, and waits for at
    /// most a second until subscribers of this host have mapped it; later ones do when they come. Otherwise memory is
    /// made when messages first need it, at about a millisecond for 4 MB, and the first messages in it are copied. It
    /// is given back when the topic's publishers end, and comes on top of what
    /// [`ContextOptions::shared_memory`](crate::ContextOptions::shared_memory) allows. Messages below 4 KiB need none.
    ///
    /// # Errors
    /// [`Error::Io`] when there is not so much memory, or the operating system refuses to wait.
    pub fn reserve(&self, messages: usize, bytes: usize) -> Result<(), Error> {
        let context = &self.end.node.context.shared;
        if context.settings.ipc.is_none() {
            return Ok(());
        }
        let publication = &self.end.publication;
        let what = || format!("topic {}: memory for {messages} messages of {bytes} bytes", self.end.topic);
        publication.reserve(messages, bytes).map_err(|error| Error::io(what(), &error))?;
        context.wait(MAPPING, |_| publication.is_reserved_everywhere())?;
        Ok(())
    }

    /// Waits at most `timeout` for so many subscribers that hear what is published from now on; false if they did not
    /// come. One of ROS 2 counts once its process has acknowledged that it knows the publisher: before, it may miss
    /// what is not delivered reliably, though [`subscription_count`](Self::subscription_count) counts it already.
    ///
    /// # Errors
    /// When the operating system refuses to wait.
    pub fn wait_for_subscribers(&self, count: usize, timeout: Duration) -> Result<bool, Error> {
        let shared = &self.end.node.context.shared;
        let (publication, offer) = (&self.end.publication, &self.offering.offer);
        shared.wait(timeout, |_| publication.ready_count(offer) >= count)
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
    pub(crate) fn new(offering: Arc<Offering>) -> Self {
        let end = Arc::clone(&offering.end);
        let (publication, turning) =
            (Arc::clone(&end.publication), Arc::clone(&end.node.context.shared.turning));
        Self { end, publication, turning, offering, max_blocking: MAX_BLOCKING }
    }

    /// Whether nobody but subscribers in the ROS 2 graph is to get messages.
    pub(crate) fn is_for_ros2_alone(&self) -> bool {
        self.publication.is_for_ros2_alone(&self.offering.offer)
    }

    /// Memory for a message of so many bytes in an encoding.
    pub(crate) fn blank(&self, bytes: usize, encoding: Encoding) -> Result<Blank, Error> {
        let blank = self.publication.blank(bytes, encoding);
        let topic = || self.end.topic.clone();
        blank.map_err(|why| match why {
            NoBlank::TooLong(length) => Error::TooLong { topic: topic(), length },
            NoBlank::NoMemory(NoMemory { bytes }) => Error::NoMemory { topic: topic(), bytes },
        })
    }

    /// Publishes what was written there, as [`PublisherBase::publish`] does.
    pub(crate) fn publish_filled(&self, filled: Filled<'_>) -> Result<(), Error> {
        self.attending(filled, self.max_blocking, |publication, filled| {
            publication.publish_filled(filled, &self.offering.offer)
        })
    }

    /// Publishes a message; if all are to be kept, waits until nobody loses one for it, at most so long.
    fn publish(&self, message: impl Outgoing, patience: Duration) -> Result<(), Error> {
        let offer = &*self.offering.offer;
        self.attending(message, patience, |publication, message| publication.publish(message, offer))
    }

    fn attending<O>(
        &self,
        message: O,
        patience: Duration,
        publish: impl Fn(&Publication, O) -> Result<(), Refused<O>>,
    ) -> Result<(), Error> {
        let published = self.patiently(message, patience, publish);
        self.turning.attend();
        published
    }

    fn patiently<O>(
        &self,
        mut message: O,
        patience: Duration,
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
                Refused::Unfit(why) => return Err(Error::unfit(topic(), why)),
                Refused::Full { subscriber, message: kept, bytes } => {
                    message = kept;
                    (subscriber, bytes)
                }
            };
            let waited = clock::monotonic().since(*start.get_or_insert_with(clock::monotonic));
            if waited >= patience {
                return Err(Error::Blocked { topic: topic(), subscriber, waited });
            }
            let shared = &self.end.node.context.shared;
            shared.wait(patience - waited, |_| publication.has_room(bytes, &self.offering.offer))?;
        }
    }
}
