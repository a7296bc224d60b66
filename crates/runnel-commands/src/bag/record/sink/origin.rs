//! Where a message belongs: its topic, its channel, and its publisher if late subscribers get the message.

use runnel::Gid;

use super::arrival::Arrival;

/// Where a message belongs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// Position of the topic.
    pub topic: usize,
    /// Position of the channel among those of the recording.
    pub channel: usize,
    /// The publisher, if it gives its last message to late subscribers.
    pub latched_by: Option<Publisher>,
}

/// A publisher: one node may have several of a topic in ROS 2, but not in ROS 1.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Publisher {
    /// The publisher of a ROS 1 node.
    Node(String),
    /// A publisher in ROS 2.
    Endpoint(Gid),
}

impl Publisher {
    /// The publisher of a message, if it gives its last message to late subscribers.
    pub fn latching(message: &Arrival<'_>) -> Option<Self> {
        message.source.is_latching.then(|| match message.number {
            Some((gid, _)) => Self::Endpoint(gid),
            None => Self::Node(message.source.publisher.to_owned()),
        })
    }
}
