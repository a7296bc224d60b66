//! Publishers.

use std::any::{Any, TypeId};
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use runnel_core::Message;
use runnel_core::dynamic::DynamicMessage;
use runnel_core::qos::{History, QoS};
use runnel_core::schema::Schema;
use runnel_io::clock;

use crate::data::Pushed;
use crate::error::Error;
use crate::node::PublisherEnd;

/// How long publishing waits at most for a subscriber when all messages are to be kept.
const MAX_BLOCKING: Duration = Duration::from_millis(100);

/// What can be published as a message of type `M`: a message, a reference to one, or a shared one. Subscribers of the
/// same process get a shared or owned one by reference; of a borrowed one they share a single clone.
pub trait Publishable<M> {
    /// The message.
    fn message(&self) -> &M;
    /// The message to be shared.
    fn into_shared(self) -> Arc<M>;
}

impl<M: Message> Publishable<M> for M {
    fn message(&self) -> &M {
        self
    }
    fn into_shared(self) -> Arc<M> {
        Arc::new(self)
    }
}

impl<M: Message> Publishable<M> for &M {
    fn message(&self) -> &M {
        self
    }
    fn into_shared(self) -> Arc<M> {
        Arc::new(self.clone())
    }
}

impl<M: Message> Publishable<M> for Arc<M> {
    fn message(&self) -> &M {
        self
    }
    fn into_shared(self) -> Arc<M> {
        self
    }
}

/// Publishes messages of type `M` to a topic, from any thread.
#[derive(Clone)]
pub struct Publisher<M> {
    handle: Handle,
    message: PhantomData<fn(M)>,
}

/// Publishes messages of a type that is known only while the program runs, from any thread.
#[derive(Clone)]
pub struct DynamicPublisher {
    handle: Handle,
    schema: Arc<Schema>,
}

/// What both kinds of publisher do.
#[derive(Clone)]
struct Handle {
    end: Arc<PublisherEnd>,
    keep_all: bool,
    max_blocking: Duration,
}

impl<M: Message> Publisher<M> {
    pub(crate) fn new(end: Arc<PublisherEnd>, qos: QoS) -> Self {
        Self { handle: Handle::new(end, qos), message: PhantomData }
    }

    /// Publishes a message: serialized once, however many subscribers there are.
    ///
    /// # Errors
    /// [`Error::Blocked`] when all messages are to be kept and a subscriber took none for too long. With
    /// [`QoS::keep_last`] the oldest message is dropped for it instead, and counted. [`Error::TooLong`] when the
    /// message is longer than subscribers accept.
    pub fn publish(&self, message: impl Publishable<M>) -> Result<(), Error> {
        self.handle.wait_for_room()?;
        self.send(message)
    }

    /// Publishes a message without ever waiting.
    ///
    /// # Errors
    /// [`Error::Blocked`] when all messages are to be kept and a subscriber has no room, and [`Error::TooLong`].
    pub fn try_publish(&self, message: impl Publishable<M>) -> Result<(), Error> {
        self.handle.check_room()?;
        self.send(message)
    }

    fn send(&self, message: impl Publishable<M>) -> Result<(), Error> {
        let (publication, type_id) = (&self.handle.end.publication, TypeId::of::<M>());
        if self.handle.publish(|out| message.message().write(out), Some(type_id))? {
            let shared: Arc<dyn Any + Send + Sync> = message.into_shared();
            publication.share(&shared, type_id);
        }
        Ok(())
    }
}

impl DynamicPublisher {
    pub(crate) fn new(end: Arc<PublisherEnd>, qos: QoS, schema: Arc<Schema>) -> Self {
        Self { handle: Handle::new(end, qos), schema }
    }

    /// The type of its messages.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// Publishes a message, which must be of the publisher's schema.
    ///
    /// # Errors
    /// As [`Publisher::publish`].
    pub fn publish(&self, message: &DynamicMessage) -> Result<(), Error> {
        self.publish_bytes(|out| message.encode(out))
    }

    /// Publishes the serialized message that `write` appends.
    ///
    /// # Errors
    /// As [`Publisher::publish`].
    pub fn publish_bytes(&self, write: impl FnOnce(&mut Vec<u8>)) -> Result<(), Error> {
        self.handle.wait_for_room()?;
        self.handle.publish(write, None).map(drop)
    }
}

macro_rules! getters {
    () => {
        /// The topic's absolute name.
        pub fn topic(&self) -> &str {
            &self.handle.end.topic
        }

        /// Subscribers that are connected.
        pub fn subscription_count(&self) -> usize {
            self.handle.end.publication.subscriber_count()
        }

        /// Messages published so far.
        pub fn published(&self) -> u64 {
            self.handle.end.publication.published()
        }

        /// Messages that were dropped because a subscriber was too slow, all subscribers together.
        pub fn dropped(&self) -> u64 {
            self.handle.end.publication.dropped()
        }

        /// Waits at most `timeout` for so many subscribers; false if they did not come.
        ///
        /// # Errors
        /// When the operating system refuses to wait.
        pub fn wait_for_subscribers(&self, count: usize, timeout: Duration) -> Result<bool, Error> {
            let shared = &self.handle.end.node.context.shared;
            shared.wait(timeout, |_| self.subscription_count() >= count)
        }

        /// Sets how long publishing waits at most for a subscriber when all messages are to be kept; 100 ms at
        /// first.
        pub fn set_max_blocking_time(&mut self, time: Duration) {
            self.handle.max_blocking = time;
        }
    };
}

impl<M: Message> Publisher<M> {
    getters!();
}

impl DynamicPublisher {
    getters!();
}

impl<M> fmt::Debug for Publisher<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Publisher").field("topic", &self.handle.end.topic).finish_non_exhaustive()
    }
}

impl fmt::Debug for DynamicPublisher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DynamicPublisher").field("topic", &self.handle.end.topic).finish_non_exhaustive()
    }
}

impl Handle {
    fn new(end: Arc<PublisherEnd>, qos: QoS) -> Self {
        Self { end, keep_all: qos.history == History::KeepAll, max_blocking: MAX_BLOCKING }
    }

    /// Publishes what `write` appends; true if subscribers of this process take the message by reference.
    fn publish(&self, write: impl FnOnce(&mut Vec<u8>), type_id: Option<TypeId>) -> Result<bool, Error> {
        let published = self.end.publication.publish(write, type_id);
        self.end.node.context.shared.turning.attend();
        published.map_err(|length| Error::TooLong { topic: self.end.topic.clone(), length })
    }

    fn check_room(&self) -> Result<(), Error> {
        match self.keep_all.then(|| self.end.publication.room()) {
            Some(Pushed::Full { subscriber }) => {
                Err(Error::Blocked { topic: self.end.topic.clone(), subscriber, waited: Duration::ZERO })
            }
            _ => Ok(()),
        }
    }

    /// Waits until no subscriber would lose a message, if all are to be kept.
    fn wait_for_room(&self) -> Result<(), Error> {
        if self.check_room().is_ok() {
            return Ok(());
        }
        let start = clock::monotonic();
        let shared = &self.end.node.context.shared;
        shared.wait(self.max_blocking, |_| self.check_room().is_ok())?;
        self.check_room().map_err(|error| match error {
            Error::Blocked { topic, subscriber, .. } => {
                Error::Blocked { topic, subscriber, waited: clock::monotonic().since(start) }
            }
            other => other,
        })
    }
}
