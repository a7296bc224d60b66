//! Publishers.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use runnel_core::Message;
use runnel_core::qos::QoS;
use runnel_core::wire::Encoding;

use super::qos;
use crate::context::steady_time;
use crate::encoding::{encoded, number};
use crate::entity::Entity;
use crate::error::Error;
use crate::host::topics;
use crate::node::Node;
use crate::types::Type;

/// How long publishing waits for a subscriber with keep-all history.
const MAX_BLOCKING: Duration = Duration::from_millis(100);

/// A value that can be published as a message of type `M`: a message, a reference to one, or a shared one.
pub trait Publishable<M> {
    /// The message.
    fn message(&self) -> &M;
}

impl<M: Message> Publishable<M> for M {
    fn message(&self) -> &M {
        self
    }
}

impl<M: Message> Publishable<M> for &M {
    fn message(&self) -> &M {
        self
    }
}

impl<M: Message> Publishable<M> for Arc<M> {
    fn message(&self) -> &M {
        self
    }
}

/// Publishes messages of type `M` to a topic. Clones are handles of the same publisher, which is unregistered when the
/// last one is dropped.
#[must_use = "a publisher is unregistered when it is dropped: bind it to a name, `let chatter = ...`, not `let _ = ...`"]
pub struct Publisher<M> {
    inner: Arc<PublisherInner>,
    message: PhantomData<fn(M)>,
}

struct PublisherInner {
    entity: Entity,
    encoding: Encoding,
    topic: String,
    qos: QoS,
    node: Node,
}

impl Node {
    /// Creates a publisher of messages of type `M` to a topic. With [`QoS::transient_local`] the topic is latched.
    ///
    /// # Errors
    /// If the name is not valid, the node publishes the topic with another type, or the manifest does not allow it.
    pub fn create_publisher<M: Message>(
        &self,
        topic: &str,
        qos: impl Into<QoS>,
    ) -> Result<Publisher<M>, Error> {
        let (encoding, qos) = (self.encoding(), qos.into());
        let record = qos::record(&qos);
        let handle = Type::of_message::<M>(encoding).create(|type_name| {
            topics::create_publisher(self.handle(), topic, type_name, number(encoding), &record)
        })?;
        let entity = Entity::new(handle);
        let topic = self.resolve(topic)?;
        let inner = PublisherInner { entity, encoding, topic, qos, node: self.clone() };
        Ok(Publisher { inner: Arc::new(inner), message: PhantomData })
    }
}

impl<M: Message> Publisher<M> {
    /// Publishes a message.
    ///
    /// # Errors
    /// [`Error::Blocked`] if the history is keep-all and a subscriber accepted no message for 100 ms.
    /// [`Error::TooLong`] if the message is longer than its limit. [`Error::Encode`] if a value in it has no encoding.
    pub fn publish(&self, message: impl Publishable<M>) -> Result<(), Error> {
        self.publish_until(message.message(), MAX_BLOCKING)
    }

    /// Publishes a message without ever waiting.
    ///
    /// # Errors
    /// As [`Publisher::publish`].
    pub fn try_publish(&self, message: impl Publishable<M>) -> Result<(), Error> {
        self.publish_until(message.message(), Duration::ZERO)
    }

    /// The topic's absolute name.
    pub fn topic(&self) -> &str {
        &self.inner.topic
    }

    /// The offered QoS.
    pub fn qos(&self) -> QoS {
        self.inner.qos
    }

    /// The number of connected subscribers.
    pub fn subscription_count(&self) -> usize {
        topics::subscription_count(self.inner.entity.handle()).map_or(0, |count| count as usize)
    }

    /// Waits at most `timeout` until `count` subscribers are connected. False if there are fewer.
    ///
    /// # Errors
    /// [`Error::ShuttingDown`] when the program is to end.
    pub fn wait_for_subscribers(&self, count: usize, timeout: Duration) -> Result<bool, Error> {
        let context = self.inner.node.context();
        context.wait_until(timeout, || Ok(self.subscription_count() >= count))
    }

    fn publish_until(&self, message: &M, timeout: Duration) -> Result<(), Error> {
        let PublisherInner { entity, encoding, topic, .. } = &*self.inner;
        let sent = encoded(message, *encoding, |bytes| send(entity, bytes, timeout));
        sent.unwrap_or_else(|why| Err(Error::Encode { what: format!("topic {topic}"), why }))
    }
}

/// Publishes, again while a subscriber blocks.
fn send(entity: &Entity, bytes: &[u8], timeout: Duration) -> Result<(), Error> {
    let mut end = None;
    loop {
        match topics::publish(entity.handle(), bytes) {
            Err(Error::Blocked(_)) if *end.get_or_insert_with(|| steady_time() + timeout) > steady_time() => {
                thread::sleep(Duration::from_millis(1));
            }
            sent => return sent,
        }
    }
}

impl<M> Clone for Publisher<M> {
    fn clone(&self) -> Self {
        Self { inner: Arc::clone(&self.inner), message: PhantomData }
    }
}

impl<M> fmt::Debug for Publisher<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Publisher").field("topic", &self.inner.topic).finish_non_exhaustive()
    }
}
