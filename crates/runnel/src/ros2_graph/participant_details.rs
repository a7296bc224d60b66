//! Details of ROS 2 participants, for Runnel's own diagnostics. Not part of the API.

use std::time::Duration;

use runnel_core::time::Time;

use crate::ros2_graph::Gid;

/// Details of another participant of the ROS 2 graph.
#[derive(Clone, Debug)]
pub struct ParticipantDetails {
    /// Its id.
    pub gid: Gid,
    /// The number of its DDS implementation.
    pub vendor_id: [u8; 2],
    /// How long it is kept after it was last received; `None` if endlessly.
    pub lease: Option<Duration>,
    /// The time since a datagram of it was last received.
    pub silent_for: Duration,
    /// The length of the ids in its announcement of nodes, in bytes: 16 from Iron on, 24 before.
    pub id_length: Option<usize>,
    /// When it sent the last reply that this process received, by its own clock.
    pub last_reply: Option<Time>,
}
