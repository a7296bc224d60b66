//! Metadata of a received message.

use std::fmt;

use runnel_core::time::Time;

use crate::abi::Event;

/// The GID of a publisher in the ROS 2 graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Gid(pub [u8; 16]);

/// Metadata of a received message: its times and its publisher. What is not known is `None`.
#[derive(Clone, Copy)]
pub struct MessageInfo(Event);

impl MessageInfo {
    pub(crate) fn new(event: &Event) -> Self {
        Self(*event)
    }

    /// When the message was published, by the wall clock of the publisher's host.
    pub fn source_timestamp(&self) -> Option<Time> {
        (self.0.source_time != i64::MIN).then(|| Time::from_nanos(self.0.source_time))
    }

    /// When the message was received, by the wall clock of this host, even while time is simulated.
    pub fn received_timestamp(&self) -> Time {
        Time::from_nanos(self.0.received_time.max(0))
    }

    /// The message's sequence number at its publisher, from 1.
    pub fn publication_sequence_number(&self) -> Option<u64> {
        (self.0.sequence != 0).then_some(self.0.sequence)
    }

    /// The publisher's GID in the ROS 2 graph.
    pub fn publisher_gid(&self) -> Option<Gid> {
        let Event { publisher_high: high, publisher_low: low, .. } = self.0;
        let bytes = (u128::from(high) << 64 | u128::from(low)).to_be_bytes();
        (bytes != [0; 16]).then_some(Gid(bytes))
    }
}

impl fmt::Debug for MessageInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MessageInfo")
            .field("source_timestamp", &self.source_timestamp())
            .field("received_timestamp", &self.received_timestamp())
            .field("publication_sequence_number", &self.publication_sequence_number())
            .field("publisher_gid", &self.publisher_gid())
            .finish()
    }
}
