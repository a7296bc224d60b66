//! What is known of one message besides its bytes and its publisher.

use runnel_core::time::Time;

/// See the module's documentation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SampleInfo {
    /// When it was published, by the wall clock of its publisher.
    pub(crate) source: Option<Time>,
    /// The sequence number that its RTPS writer gave it.
    pub(crate) number: Option<u64>,
    /// When it came, by the wall clock, where the subscription asks for that.
    pub(crate) received: Option<Time>,
}

impl SampleInfo {
    /// Of a message of ROS 2 that has come by RTPS or by shared memory.
    pub(crate) fn numbered(number: u64) -> Self {
        Self { number: Some(number), ..Self::default() }
    }
}
