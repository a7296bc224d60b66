//! Nodes that take the place of nodes of the same names, and nodes that leave their place.

use std::time::Duration;

use crate::context::Context;
use crate::error::Error;
use crate::node::NodeInner;

/// How long leaving the graphs may take.
const LEAVING: Duration = Duration::from_secs(1);

impl Context {
    /// The nodes take the place of nodes of the same names, which have [left](Self::leave_place) it. Until then they stand
    /// by ([`ContextOptions::standby`](crate::ContextOptions::standby)):
    ///
    /// - A ROS 1 master knows them by another name, since it ends a node when another registers under its name. It does not
    ///   know their services and parameters.
    /// - ROS 2 finds their publishers, subscriptions, clients and services, but not their names. They have no services and
    ///   topics for parameters yet.
    ///
    /// Their links stay as they are. Has no effect on nodes that do not stand by.
    ///
    /// # Errors
    /// If a service that every node has cannot be created.
    pub fn take_over(&self) -> Result<(), Error> {
        let nodes = self.shared.standby.take();
        self.shared.event_loop.driver().take_over_names();
        for node in nodes.into_iter().filter_map(|node| node.downcast::<NodeInner>().ok()) {
            node.set_up_in_ros2()?;
        }
        Ok(())
    }

    /// The nodes leave their place to others: they unregister from a ROS 1 master, and ROS 2 no longer finds their names.
    /// Their links stay, so that what was sent to them is still received and answered. Publishers must be
    /// [drained](crate::PublisherBase::drain) before: the master ends their links.
    ///
    /// # Errors
    /// [`Error::Io`] if the operating system refuses to wait.
    pub fn leave_place(&self) -> Result<(), Error> {
        self.shared.event_loop.driver().leave_names();
        self.shared.wait_through_shutdown(LEAVING, |driver| driver.nodes.are_closed())?;
        Ok(())
    }
}
