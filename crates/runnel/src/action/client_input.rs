//! Topic of an action server as its client receives it.

use std::sync::Arc;

use runnel_core::qos::QoS;
use runnel_core::wire::{Bytes, DecodeError};

use crate::callback_group::ExclusiveGroup;
use crate::data::{Delivery, LinkInfo, SubscriptionCore};
use crate::error::Error;
use crate::node::Node;
use crate::topics::subscription::{Subscription, Takes};
use crate::types::announced::Topic;

/// Handler of a message, with its publisher.
pub(super) type MessageHandler = Arc<dyn Fn(&LinkInfo, Bytes<'_>) -> Result<(), DecodeError> + Send + Sync>;

/// See the module's documentation. No user code runs when a message is processed, so a thread that waits for a goal can
/// do so itself.
#[derive(Clone)]
pub(super) struct Input {
    subscription: Arc<Subscription>,
    /// Group of the callback, or of the thread that takes messages in its place.
    group: Arc<ExclusiveGroup>,
    handler: MessageHandler,
}

impl Input {
    pub(super) fn new(
        node: &Node,
        topic: &Topic,
        qos: QoS,
        group: &Arc<ExclusiveGroup>,
        handler: MessageHandler,
    ) -> Result<Self, Error> {
        let callback = Arc::clone(&handler);
        let update = move |delivery: Delivery<'_>| match delivery {
            Delivery::Bytes { bytes, from, .. } => Ok(callback(from, bytes.bytes())?),
            Delivery::Shared { .. } => Ok(()),
        };
        let subscription = node.subscribe_in_group(topic, qos, (Takes::default(), group), update)?;
        Ok(Self { subscription: Arc::new(subscription), group: Arc::clone(group), handler })
    }

    pub(super) fn core(&self) -> &Arc<SubscriptionCore> {
        self.subscription.core()
    }

    pub(super) fn subscription(&self) -> &Subscription {
        &self.subscription
    }

    /// Processes the waiting messages. The caller is in the group.
    pub(super) fn take_all(&self) {
        self.subscription.take_each(&*self.handler);
    }

    /// Processes the waiting messages. False if more wait, or another thread processes them.
    pub(super) fn process_received(&self) -> bool {
        let Ok(_entered) = self.group.try_enter() else { return false };
        self.take_all();
        !self.subscription.is_ready()
    }
}
