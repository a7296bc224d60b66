//! Publishers of messages that are given as bytes.

use runnel_core::wire::{Encoding, GrowingSink};

use super::PublisherBase;
use crate::data::outgoing::Written;
use crate::error::{ConversionError, Error};
use crate::node::publishing::PublisherEnd;

/// Publishes messages given as bytes only.
pub(crate) struct BytesPublisher(PublisherBase);

impl BytesPublisher {
    pub(crate) fn new(base: PublisherBase) -> Self {
        Self(base)
    }

    /// Publishes the message that `write` appends in the ROS 1 encoding. The topic exists only in ROS 1.
    pub(crate) fn publish(&self, write: impl Fn(&mut GrowingSink)) -> Result<(), Error> {
        self.publish_encoded(|_, out| {
            write(out);
            Ok(())
        })
    }

    /// Publishes the message that `write` appends in an encoding. In ROS 2 it begins with the encapsulation header.
    /// Subscriptions of this process get the ROS 1 encoding.
    pub(crate) fn publish_encoded(
        &self,
        write: impl Fn(Encoding, &mut GrowingSink) -> Result<(), ConversionError>,
    ) -> Result<(), Error> {
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
