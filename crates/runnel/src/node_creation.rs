//! Creation of a node: it joins its graphs, then its log, its parameters and its clock are set up.

use std::sync::Arc;

use runnel_core::names;

use crate::context::Context;
use crate::error::Error;
use crate::node::{Node, NodeInner};

impl Context {
    /// Makes a node. `name` may be absolute; arguments can rename it and move it to another namespace. Parameters that they
    /// give are set before this returns, for which it waits for the master, 10 s at most for each.
    ///
    /// # Errors
    /// When the name is not valid, the context has a node of that name in ROS 1 already ([`Error::NodeExists`]), sockets cannot be
    /// opened, the master refuses a parameter, or an argument names a log level that there is none of.
    pub fn create_node(&self, name: &str) -> Result<Node, Error> {
        let absolute = name.starts_with('/');
        let (argument_namespace, name) = self.shared.arguments.node(name)?;
        let namespace = match argument_namespace.as_str() {
            "/" if !absolute => names::clean_namespace(&self.shared.settings.namespace),
            _ => argument_namespace,
        };
        let inner = NodeInner::join(self.clone(), namespace, &name)?;
        inner.advertise_log()?;
        inner.set_argument_params()?;
        inner.follow_sim_time()?;
        if self.shared.settings.ros2.is_some() {
            // Others are answered from now on, also if the program waits for nothing.
            self.shared.event_loop.ensure_background_thread();
        }
        Ok(Node { inner: Arc::new(inner) })
    }
}
