//! Membership of the process in the ROS 2 graph, and queries of it.

use std::io;
use std::sync::Arc;

use runnel_rtps::wire::EntityId;

use crate::data::{SubscriptionCore, WriterGroup};
use crate::driver::Driver;
use crate::log_output::console;
use crate::ros2_graph::Ros2Graph;
use crate::rtps::Rtps;

impl Driver {
    /// Joins the ROS 2 graph when the first node needs it.
    pub(crate) fn join_ros2(&mut self) -> io::Result<()> {
        let Some(settings) = self.ros2.wants_to_join() else { return Ok(()) };
        let rtps = Arc::new(Rtps::open(settings, self.sockets.reactor.waker().clone())?);
        if !rtps.has_interface() {
            console::warning!(
                "no network interface is up: no other ROS 2 process is discovered until one is"
            );
        }
        self.sockets.add_participant(&rtps)?;
        self.ros2.join(rtps, &mut self.effects);
        Ok(())
    }

    /// Announces that the process leaves the ROS 2 graph, and closes its sockets there.
    pub(crate) fn leave_ros2(&mut self) {
        if self.ros2.leave(&mut self.effects) {
            self.sockets.remove_participant(&mut self.effects);
        }
    }

    /// Removes the RTPS writers of these offers.
    pub(super) fn remove_writers(&mut self, groups: &[Arc<WriterGroup>]) {
        let ids: Vec<EntityId> = groups.iter().filter_map(|group| group.writer_id()).collect();
        self.end_endpoints(&ids);
    }

    /// Removes the RTPS readers of a subscription.
    pub(super) fn remove_reader(&mut self, core: &Arc<SubscriptionCore>) {
        let ids = self.ros2.end_subscription(core);
        self.end_endpoints(&ids);
    }

    /// Snapshot of the ROS 2 graph; `None` if the process has not joined it.
    pub(crate) fn ros2_graph(&self) -> Option<Ros2Graph> {
        self.ros2.snapshot(&self.nodes)
    }
}
