//! Metadata of one message.

use runnel_core::time::Time;

/// See the module's documentation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SampleInfo {
    /// When it was published, by the publisher's wall clock.
    pub(crate) source: Option<Time>,
    /// The sequence number that its RTPS writer assigned.
    pub(crate) number: Option<u64>,
    /// When it was received, by the wall clock, if the subscription requests that.
    pub(crate) received: Option<Time>,
}

impl SampleInfo {
    /// For a ROS 2 message that came by RTPS or by shared memory.
    pub(crate) fn numbered(number: u64) -> Self {
        Self { number: Some(number), ..Self::default() }
    }
}
