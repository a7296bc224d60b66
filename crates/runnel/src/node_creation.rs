//! Creation of a node: it joins its graphs, then its log, parameters and clock are set up.

use std::sync::Arc;

use runnel_core::names;

use crate::context::Context;
use crate::error::Error;
use crate::node::{Node, NodeInner};

impl Context {
    /// Creates a node. `name` may be absolute. Arguments can rename the node and change its namespace. Parameters from
    /// arguments are set before this returns; each waits at most 10 s for the master.
    ///
    /// # Errors
    /// When the name is not valid, the context already has a ROS 1 node of that name ([`Error::NodeExists`]), sockets
    /// cannot be opened, the master refuses a parameter, or an argument names an unknown log level.
    pub fn create_node(&self, name: &str) -> Result<Node, Error> {
        let absolute = name.starts_with('/');
        let (argument_namespace, name) = self.shared.arguments.node(name)?;
        let namespace = match argument_namespace.as_str() {
            "/" if !absolute => names::clean_namespace(&self.shared.settings.namespace),
            _ => argument_namespace,
        };
        let inner = Arc::new(NodeInner::join(self.clone(), namespace, &name)?);
        inner.advertise_log()?;
        inner.set_argument_params()?;
        inner.follow_sim_time()?;
        if self.shared.settings.ros2.is_some() {
            inner.declare_sim_time()?;
            if self.shared.rosout {
                inner.publish_parameter_events()?;
                inner.start_parameter_services()?;
            }
            // Peers get answers from now on, even if the program never waits.
            self.shared.event_loop.ensure_background_thread();
        }
        Ok(Node { inner })
    }
}
