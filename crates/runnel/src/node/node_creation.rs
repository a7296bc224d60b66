//! Creation of a node: it joins its graphs, then its log, parameters and clock are set up.

use std::sync::Arc;

use runnel_core::names;

use crate::context::Context;
use crate::error::Error;
use crate::node::node_options::NodeOptions;
use crate::node::{Node, NodeInner};
use crate::settings::variables::variable;

impl NodeInner {
    /// Adds what every node has in ROS 2; to one that stands by only what it needs before.
    ///
    /// # Errors
    /// If it cannot be created.
    pub(crate) fn set_up_in_ros2(self: &Arc<Self>) -> Result<(), Error> {
        let setup = self.context.shared.ros2_setup;
        setup.map_or(Ok(()), |setup| (setup.0)(Arc::<Self>::clone(self)))
    }
}

impl Context {
    /// Creates a node. `name` may be absolute. Arguments can rename the node and change its namespace. Parameters from
    /// arguments are set before this returns; each waits at most 10 s for the master.
    ///
    /// # Errors
    /// When the name is not valid, the context already has a ROS 1 node of that name ([`Error::NodeExists`]), sockets
    /// cannot be opened, the master refuses a parameter, or an argument names an unknown log level.
    pub fn create_node(&self, name: &str) -> Result<Node, Error> {
        self.create_node_with_options(name, NodeOptions::default())
    }

    /// Creates a node as [`Context::create_node`], with options.
    ///
    /// # Errors
    /// As [`Context::create_node`].
    pub fn create_node_with_options(&self, name: &str, options: NodeOptions) -> Result<Node, Error> {
        let absolute = name.starts_with('/');
        let (argument_namespace, name) = options.arguments(&self.shared).node(name)?;
        let namespace = match argument_namespace.as_str() {
            "/" if !absolute && options.use_global_arguments => self.shared.settings.namespace.clone(),
            "/" if !absolute => variable("ROS_NAMESPACE").unwrap_or_default(),
            _ => argument_namespace,
        };
        let namespace = names::clean_namespace(&namespace);
        let inner = Arc::new(NodeInner::join(self.clone(), namespace, &name, options)?);
        inner.advertise_log()?;
        inner.follow_sim_time()?;
        if let Some(setup) = inner.options.parameter_setup {
            (setup.0)(Arc::<NodeInner>::clone(&inner))?;
        }
        // The node whose place it takes has set its parameters at the master.
        let weak = Arc::downgrade(&inner);
        if !self.shared.standby.add(weak) {
            inner.set_argument_params()?;
        }
        inner.set_up_in_ros2()?;
        Ok(Node { inner })
    }
}
