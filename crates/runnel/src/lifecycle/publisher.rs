//! Publishers that are silent while their lifecycle node is inactive.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use runnel_core::Message;

use crate::data::outgoing::Publishable;
use crate::error::Error;
use crate::node_log::Logger;
use crate::topics::publisher::{Publisher, PublisherBase};

/// Whether a publisher publishes.
#[derive(Debug, Default)]
pub(super) struct Activation {
    is_active: AtomicBool,
    /// A message was discarded since the last change, and that was logged.
    is_reported: AtomicBool,
}

impl Activation {
    pub(super) fn set(&self, active: bool) {
        self.is_active.store(active, Ordering::SeqCst);
        self.is_reported.store(false, Ordering::SeqCst);
    }
}

/// A publisher of a lifecycle node, created by
/// [`LifecycleNode::create_lifecycle_publisher`](crate::LifecycleNode::create_lifecycle_publisher). It discards messages
/// while the node is not active. The first one that it discards is logged.
#[derive(Clone)]
pub struct LifecyclePublisher<M> {
    publisher: Publisher<M>,
    activation: Arc<Activation>,
    logger: Logger,
}

impl<M: Message> LifecyclePublisher<M> {
    pub(super) fn new(publisher: Publisher<M>, activation: Arc<Activation>, logger: Logger) -> Self {
        Self { publisher, activation, logger }
    }

    /// Publishes a message if the node is active, else discards it.
    ///
    /// # Errors
    /// As [`Publisher::publish`].
    pub fn publish(&self, message: impl Publishable<M>) -> Result<(), Error> {
        if self.is_activated() {
            return self.publisher.publish(message);
        }
        if !self.activation.is_reported.swap(true, Ordering::SeqCst) {
            let topic = self.publisher.topic();
            crate::log_warn!(
                self.logger,
                "topic {topic}: message discarded: the lifecycle node is not active"
            );
        }
        Ok(())
    }
}

impl<M> LifecyclePublisher<M> {
    /// Whether messages are published: the node is active, or about to become so or to stop.
    pub fn is_activated(&self) -> bool {
        self.activation.is_active.load(Ordering::SeqCst)
    }
}

impl<M: Message> Deref for LifecyclePublisher<M> {
    type Target = PublisherBase;

    fn deref(&self) -> &PublisherBase {
        &self.publisher
    }
}

impl<M> fmt::Debug for LifecyclePublisher<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LifecyclePublisher")
            .field("topic", &self.publisher.base.topic())
            .field("is_activated", &self.is_activated())
            .finish_non_exhaustive()
    }
}
