//! Nodes that stand by to take the place of nodes of the same names, and nodes that leave their place.

use std::sync::{Arc, Weak};
use std::time::Duration;

use super::Context;
use crate::error::Error;
use crate::node::NodeInner;
use crate::sync::{Class, Mutex, lock};

/// How long leaving the graphs may take.
const LEAVING: Duration = Duration::from_secs(1);

/// The nodes that stand by. `None` if nodes do not, or no longer.
pub(crate) struct StandbyNodes(Mutex<Option<Vec<Weak<NodeInner>>>>);

impl StandbyNodes {
    pub(crate) fn new(stand_by: bool) -> Self {
        Self(Mutex::new(Class::StandbyNodes, stand_by.then(Vec::new)))
    }

    /// Whether nodes stand by.
    pub(crate) fn stand_by(&self) -> bool {
        lock(&self.0).is_some()
    }

    /// Adds a node. False if nodes do not stand by.
    pub(crate) fn add(&self, node: &Arc<NodeInner>) -> bool {
        lock(&self.0).as_mut().map(|nodes| nodes.push(Arc::downgrade(node))).is_some()
    }
}

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
        let nodes = lock(&self.shared.standby.0).take().unwrap_or_default();
        let nodes: Vec<Arc<NodeInner>> = nodes.iter().filter_map(Weak::upgrade).collect();
        self.shared.event_loop.driver().take_over_names();
        for node in nodes {
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
