//! Subscriptions to serialized messages of a known type.

use std::sync::Arc;

use runnel_core::schema::Schema;
use runnel_core::wire::{Bytes, Encoding};

use super::{Subscription, Takes};
use crate::data::Delivery;
use crate::error::Error;
use crate::node::Node;
use crate::node::options::SubscriptionOptions;
use crate::topics::message_info::MessageInfo;
use crate::types::type_mapping::TypeMapping;

/// The encapsulation header of XCDR1, little-endian.
const XCDR1_LE: [u8; 2] = [0, 1];

impl Node {
    /// Creates a subscription whose callback gets serialized messages of the type of `schema`: in the ROS 1 encoding if the
    /// schema is from ROS 1, otherwise as little-endian XCDR1 with its header. It is the counterpart of
    /// [`DynamicPublisher::publish_bytes`](crate::DynamicPublisher::publish_bytes).
    ///
    /// Messages in this encoding are passed on unchecked. Others are decoded and encoded, which takes time. A message that
    /// cannot be converted is counted and logged, and the callback does not get it.
    ///
    /// # Errors
    /// As [`Node::create_subscription`].
    pub fn create_bytes_subscription(
        &self,
        topic: &str,
        schema: &Arc<Schema>,
        options: impl Into<SubscriptionOptions>,
        mut callback: impl FnMut(Bytes<'_>, &MessageInfo) + Send + 'static,
    ) -> Result<Subscription, Error> {
        let mapping = TypeMapping::of(schema);
        let topic = self.topic_of_mapping(topic, &mapping)?;
        let own = mapping.own_encoding();
        self.subscribe(&topic, options, Takes { by_reference: None, info: true }, move |delivery| {
            let Delivery::Bytes { bytes, from, info, .. } = delivery else { return Ok(()) };
            let info = MessageInfo::new(from, info, bytes.is_intra_process());
            let bytes = bytes.bytes();
            if is_encoded_as(own, bytes, from.encoding) {
                callback(bytes, &info);
                return Ok(());
            }
            let converted = mapping.decode(bytes, from.encoding)?.to_payload(own)?;
            callback(Bytes::from(&converted), &info);
            Ok(())
        })
    }
}

/// Whether a message from a publisher with an encoding needs no conversion.
fn is_encoded_as(wanted: Encoding, bytes: Bytes<'_>, encoding: Encoding) -> bool {
    if wanted.is_ros1() || encoding.is_ros1() {
        return wanted.is_ros1() && encoding.is_ros1();
    }
    bytes.into_iter().take(2).eq(XCDR1_LE)
}
