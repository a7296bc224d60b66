//! Metadata of a received message.

use std::fmt;
use std::sync::Arc;

use runnel_core::time::Time;

use crate::data::{Kept, LinkInfo, SampleInfo};
use crate::ros2_graph::Gid;

/// Metadata of a received message: its times and its publisher.
///
/// The available fields depend on the publisher's ROS generation and the message's path. Others are `None`:
///
/// | | ROS 1 | ROS 2, network | ROS 2, shared memory | same process |
/// |---|---|---|---|---|
/// | [`source_timestamp`](Self::source_timestamp) | – | yes | – | yes |
/// | [`received_timestamp`](Self::received_timestamp) | yes | yes | yes | yes |
/// | [`publication_sequence_number`](Self::publication_sequence_number) | – | yes | yes | – |
/// | [`publisher_gid`](Self::publisher_gid) | – | yes | yes | in ROS 2 |
/// | [`publisher`](Self::publisher) | yes | yes | yes | yes |
///
/// A kept message of a late joiner (`transient_local`, a latched topic) may have fewer fields. While a topic switches
/// from the network to shared memory, the source time is not known either.
///
/// ```no_run
/// use runnel::MessageInfo;
/// use runnel::msgs::std_msgs::msg::Header;
///
/// # fn on_node(node: &runnel::Node) -> Result<(), runnel::Error> {
/// let _headers = node.create_subscription_with_info("headers", 10, |_: &Header, info: &MessageInfo| {
///     if let Some(published) = info.source_timestamp() {
///         let age = info.received_timestamp().as_nanos() - published.as_nanos();
///         println!("from {}, {} us ago", info.publisher(), age / 1000);
///     }
/// })?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct MessageInfo {
    from: Arc<LinkInfo>,
    sample: SampleInfo,
    is_intra_process: bool,
}

impl MessageInfo {
    pub(crate) fn new(from: &Arc<LinkInfo>, sample: SampleInfo, is_intra_process: bool) -> Self {
        Self { from: Arc::clone(from), sample, is_intra_process }
    }

    /// Metadata of a kept message.
    pub(crate) fn from_kept(kept: &Kept) -> Self {
        Self::new(kept.from(), kept.info(), kept.is_intra_process())
    }

    /// When the message was published, by the wall clock of the publisher's host. Compare it only with times of the
    /// same host, or of hosts with synchronized clocks.
    pub fn source_timestamp(&self) -> Option<Time> {
        self.sample.source
    }

    /// When the message was received, by the wall clock of this host, even while time is simulated.
    pub fn received_timestamp(&self) -> Time {
        self.sample.received.unwrap_or_default()
    }

    /// The message's sequence number at its publisher, from 1. A gap means that messages were lost or not sent to this
    /// subscription.
    pub fn publication_sequence_number(&self) -> Option<u64> {
        self.sample.number
    }

    /// The publisher's GID in the ROS 2 graph, as in [`EndpointInfo::gid`](crate::EndpointInfo::gid).
    pub fn publisher_gid(&self) -> Option<Gid> {
        self.from.gid
    }

    /// The full name of the publisher's node; in ROS 1 its caller id. In ROS 2 it is the publisher's GID until its
    /// process has announced its nodes.
    pub fn publisher(&self) -> &str {
        &self.from.publisher
    }

    /// Whether the publisher is in this process, so that the message used neither a network nor another process.
    pub fn is_intra_process(&self) -> bool {
        self.is_intra_process
    }
}

impl fmt::Debug for MessageInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MessageInfo")
            .field("source_timestamp", &self.source_timestamp())
            .field("received_timestamp", &self.received_timestamp())
            .field("publication_sequence_number", &self.publication_sequence_number())
            .field("publisher_gid", &self.publisher_gid())
            .field("publisher", &self.publisher())
            .field("is_intra_process", &self.is_intra_process())
            .finish()
    }
}
