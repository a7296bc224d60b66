//! Metadata of a received message.

use std::fmt;

use runnel_core::time::Time;

use crate::abi::Event;

/// The first and last eight bytes of a publisher's GID in the ROS 2 graph.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Gid {
    high: u64,
    low: u64,
}

impl Gid {
    /// The 16 bytes.
    pub fn bytes(&self) -> [u8; 16] {
        (u128::from(self.high) << 64 | u128::from(self.low)).to_be_bytes()
    }
}

impl fmt::Debug for Gid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}{:016x}", self.high, self.low)
    }
}

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
        (high != 0 || low != 0).then_some(Gid { high, low })
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
