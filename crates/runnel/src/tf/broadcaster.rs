//! Broadcasters of transforms on `/tf` and `/tf_static`.

use std::fmt;

use runnel_core::qos::QoS;
use runnel_msgs::geometry_msgs::msg::TransformStamped;
use runnel_msgs::tf2_msgs::msg::TFMessage;

use super::{TF, TF_STATIC};
use crate::error::Error;
use crate::node::Node;
use crate::sync::lock;
use crate::topics::publisher::Publisher;

/// Messages that wait for a slow subscriber, as in tf2_ros.
const DEPTH: usize = 100;

/// Broadcasts transforms that change, on `/tf`. Send each about as often as it changes: listeners interpolate, and keep
/// transforms for 10 s.
///
/// ```no_run
/// use runnel::msgs::geometry_msgs::msg::TransformStamped;
/// use runnel::tf::{Quaternion, Transform, TransformBroadcaster, Vector3};
///
/// # fn on_node(node: &runnel::Node) -> Result<(), runnel::Error> {
/// let broadcaster = TransformBroadcaster::new(node)?;
/// let pose = Transform::new(Vector3::new(1.0, 0.0, 0.0), Quaternion::from_rpy(0.0, 0.0, 0.5));
/// let mut odom_from_base = TransformStamped { transform: pose.into(), ..TransformStamped::default() };
/// odom_from_base.header.stamp = node.now();
/// odom_from_base.header.frame_id = "odom".into();
/// odom_from_base.child_frame_id = "base_link".into();
/// broadcaster.send_transform(&odom_from_base)?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct TransformBroadcaster {
    publisher: Publisher<TFMessage>,
}

impl TransformBroadcaster {
    /// Creates the publisher of `/tf`.
    ///
    /// # Errors
    /// As [`Node::create_publisher`].
    pub fn new(node: &Node) -> Result<Self, Error> {
        Self::with_qos(node, QoS::keep_last(DEPTH))
    }

    /// Creates the publisher of `/tf` with this QoS.
    ///
    /// # Errors
    /// As [`Node::create_publisher`].
    pub fn with_qos(node: &Node, qos: QoS) -> Result<Self, Error> {
        Ok(Self { publisher: node.create_publisher(TF, qos)? })
    }

    /// Broadcasts a transform.
    ///
    /// # Errors
    /// As [`Publisher::publish`].
    pub fn send_transform(&self, transform: &TransformStamped) -> Result<(), Error> {
        self.send_transforms(std::slice::from_ref(transform))
    }

    /// Broadcasts several transforms in one message.
    ///
    /// # Errors
    /// As [`Publisher::publish`].
    pub fn send_transforms(&self, transforms: &[TransformStamped]) -> Result<(), Error> {
        self.publisher.publish(TFMessage { transforms: transforms.to_vec() })
    }

    /// The publisher, for its counters.
    pub fn publisher(&self) -> &Publisher<TFMessage> {
        &self.publisher
    }
}

impl fmt::Debug for TransformBroadcaster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TransformBroadcaster").field("publisher", &self.publisher).finish()
    }
}

/// Broadcasts transforms that never change, on `/tf_static`. Send each once: late listeners get all, because each
/// message has all transforms of the node's static broadcasters, and the last message is kept for them.
#[derive(Clone)]
pub struct StaticTransformBroadcaster {
    publisher: Publisher<TFMessage>,
}

impl StaticTransformBroadcaster {
    /// Creates the publisher of `/tf_static`.
    ///
    /// # Errors
    /// As [`Node::create_publisher`].
    pub fn new(node: &Node) -> Result<Self, Error> {
        Ok(Self { publisher: node.create_publisher(TF_STATIC, QoS::latched())? })
    }

    /// Broadcasts a transform. It replaces an earlier one of the same child frame.
    ///
    /// # Errors
    /// As [`Publisher::publish`].
    pub fn send_transform(&self, transform: &TransformStamped) -> Result<(), Error> {
        self.send_transforms(std::slice::from_ref(transform))
    }

    /// Broadcasts several transforms in one message.
    ///
    /// # Errors
    /// As [`Publisher::publish`].
    pub fn send_transforms(&self, transforms: &[TransformStamped]) -> Result<(), Error> {
        // Held while publishing, so that the last message has all transforms.
        let mut sent = lock(self.publisher.base.static_transforms());
        for transform in transforms {
            let is_same = |other: &&mut TransformStamped| other.child_frame_id == transform.child_frame_id;
            match sent.transforms.iter_mut().find(is_same) {
                Some(before) => before.clone_from(transform),
                None => sent.transforms.push(transform.clone()),
            }
        }
        self.publisher.publish(sent.clone())
    }

    /// The publisher, for its counters.
    pub fn publisher(&self) -> &Publisher<TFMessage> {
        &self.publisher
    }
}

impl fmt::Debug for StaticTransformBroadcaster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StaticTransformBroadcaster").field("publisher", &self.publisher).finish()
    }
}
