//! Subscriptions to `/tf` and `/tf_static` that fill a buffer.

use std::any::TypeId;
use std::fmt;
use std::sync::Arc;

use runnel_core::qos::QoS;
use runnel_msgs::tf2_msgs::msg::TFMessage;

use super::buffer::Buffer;
use super::{TF, TF_STATIC};
use crate::callback_group::CallbackGroup;
use crate::data::{Delivery, QosEvents};
use crate::error::Error;
use crate::node::Node;
use crate::ready::Dispatch;
use crate::topics::subscription::{Subscription, Takes};

/// Messages of each topic that wait for the buffer, as in tf2_ros.
const DEPTH: usize = 100;

/// Fills a [`Buffer`] with what nodes broadcast on `/tf` and `/tf_static`, in the graphs of its node, until it is
/// dropped. The program need not spin.
#[must_use = "a listener is unregistered when it is dropped: bind it to a name, `let _listener = ...`, not `let _ = ...`"]
pub struct TransformListener {
    subscriptions: [Subscription; 2],
}

impl TransformListener {
    /// Subscribes to both topics.
    ///
    /// # Errors
    /// As [`Node::create_subscription`].
    pub fn new(node: &Node, buffer: &Buffer) -> Result<Self, Error> {
        Self::with_qos(node, buffer, QoS::keep_last(DEPTH), QoS::keep_last(DEPTH).transient_local())
    }

    /// Subscribes with another QoS: `qos` for `/tf`, `static_qos` for `/tf_static`. Over a radio that loses packets,
    /// best effort may suit `/tf`.
    ///
    /// # Errors
    /// As [`Node::create_subscription`].
    pub fn with_qos(node: &Node, buffer: &Buffer, qos: QoS, static_qos: QoS) -> Result<Self, Error> {
        let subscriptions = [
            subscribe(node, buffer, (TF, qos), false)?,
            subscribe(node, buffer, (TF_STATIC, static_qos), true)?,
        ];
        Ok(Self { subscriptions })
    }

    /// The subscriptions to `/tf` and `/tf_static`, for their counters and QoS.
    pub fn subscriptions(&self) -> &[Subscription; 2] {
        &self.subscriptions
    }
}

impl fmt::Debug for TransformListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TransformListener").field("subscriptions", &self.subscriptions).finish()
    }
}

/// The callback runs inline: it only stores, and a program that waits for a transform need not spin.
fn subscribe(
    node: &Node,
    buffer: &Buffer,
    (topic, qos): (&str, QoS),
    is_static: bool,
) -> Result<Subscription, Error> {
    let topic = node.topic_of::<TFMessage>(topic)?;
    let takes = Takes { by_reference: Some(TypeId::of::<TFMessage>()), info: true };
    let scheduling = (Dispatch::Inline, &CallbackGroup::for_entity(None));
    let store = Arc::clone(buffer.store());
    let mut received = TFMessage::default();
    node.subscribe_as((&topic, qos, takes), scheduling, QosEvents::default(), move |delivery| {
        match delivery {
            Delivery::Bytes { bytes, from, .. } => {
                from.read_into(&mut received, bytes.bytes())?;
                store.receive(&received.transforms, &from.publisher, is_static);
            }
            Delivery::Shared { message, info } => {
                if let Some(message) = message.downcast_ref::<TFMessage>() {
                    let authority = info.map_or("", |(from, _)| from.publisher.as_str());
                    store.receive(&message.transforms, authority, is_static);
                }
            }
        }
        Ok(())
    })
}
