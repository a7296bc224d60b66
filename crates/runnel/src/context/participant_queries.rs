//! Queries of other participants, for Runnel's own diagnostics. Not part of the API.

use crate::context::Context;
use crate::ros2_graph::participant_details::ParticipantDetails;

impl Context {
    /// Details of the other participants of the ROS 2 graph. None if the context is not in it.
    #[doc(hidden)]
    pub fn ros2_participant_details(&self) -> Vec<ParticipantDetails> {
        self.shared.event_loop.driver().ros2.participant_details()
    }
}
