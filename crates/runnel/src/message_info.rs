//! What is known of a message besides its content.

use std::fmt;
use std::sync::Arc;

use runnel_core::time::Time;

use crate::data::{Kept, LinkInfo, SampleInfo};
use crate::ros2_graph::Gid;

/// What is known of a message besides its content: when it was published, when it came, and from whom.
///
/// It has what the publisher's generation and the message's path tell, and `None` for the rest:
///
/// | | ROS 1 | ROS 2, network | ROS 2, shared memory | same process |
/// |---|---|---|---|---|
/// | [`source_timestamp`](Self::source_timestamp) | – | yes | – | yes |
/// | [`received_timestamp`](Self::received_timestamp) | yes | yes | yes | yes |
/// | [`publication_sequence_number`](Self::publication_sequence_number) | – | yes | yes | – |
/// | [`publisher_gid`](Self::publisher_gid) | – | yes | yes | in ROS 2 |
/// | [`publisher`](Self::publisher) | yes | yes | yes | yes |
///
/// A message that waited at its publisher for this subscription (`transient_local`, a latched topic) may have less. While a message
/// changes from the network to shared memory its source time is not known either.
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

    /// Of a message that is kept.
    pub(crate) fn from_kept(kept: &Kept) -> Self {
        Self::new(kept.from(), kept.info(), kept.is_intra_process())
    }

    /// When the message was published, by the wall clock of the publisher's host. Subtract it from times of the same host, or of
    /// hosts whose clocks are synchronized.
    pub fn source_timestamp(&self) -> Option<Time> {
        self.sample.source
    }

    /// When the message came, by the wall clock of this host, also while time is simulated.
    pub fn received_timestamp(&self) -> Time {
        self.sample.received.unwrap_or_default()
    }

    /// The number of the message among those of its publisher, which counts them from 1. A gap means messages that were lost,
    /// or that the publisher did not send to this subscription.
    pub fn publication_sequence_number(&self) -> Option<u64> {
        self.sample.number
    }

    /// The publisher's identity in the ROS 2 graph, as [`EndpointInfo::gid`](crate::EndpointInfo::gid) has it.
    pub fn publisher_gid(&self) -> Option<Gid> {
        self.from.gid
    }

    /// The full name of the publisher's node: in ROS 1 its caller id. In ROS 2 the identity of the publisher stands for it until its
    /// process has announced its nodes.
    pub fn publisher(&self) -> &str {
        &self.from.publisher
    }

    /// Whether the publisher is of this process, so that the message went by no network and no other process.
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
