//! Options of a context that choose its graphs. Only a program that chooses ROS 2 links what nodes have there.

use std::any::Any;
use std::sync::Arc;

use crate::context::ContextOptions;
use crate::error::Error;
use crate::node::NodeInner;
use crate::runtime::shared::NodeSetup;
use crate::settings::environment::{GRAPHS_VARIABLE, Graphs, chosen_graphs};
use crate::settings::variables::variable;

impl ContextOptions {
    /// The default options with the graphs that the user chooses: by one of the arguments `--ros1`, `--ros2` and
    /// `--both`, or by the variable `RUNNEL_GRAPHS` with the value `ros1`, `ros2` or `both`. The argument has
    /// priority, and [`Context::arguments`](crate::Context::arguments) omits it. Without either it is ROS 1.
    ///
    /// ```no_run
    /// # use runnel::{Context, ContextOptions};
    /// # fn main() -> Result<(), runnel::Error> {
    /// let context = Context::with_options(ContextOptions::from_args()?)?;     // hello --ros2
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If the variable has an unknown value.
    pub fn from_args() -> Result<Self, Error> {
        let mut options = Self::default();
        let arguments = std::mem::take(&mut options.arguments);
        let (graphs, rest) = chosen_graphs(arguments, variable(GRAPHS_VARIABLE).as_deref())?;
        options.arguments = rest;
        Ok(options.graphs(graphs.unwrap_or_default()))
    }

    /// The graphs in which nodes are; ROS 1 by default.
    #[must_use]
    pub fn graphs(mut self, graphs: Graphs) -> Self {
        self.graphs = graphs;
        self.ros2_setup = (graphs != Graphs::Ros1).then_some(NodeSetup(set_up_in_ros2));
        self
    }
}

fn set_up_in_ros2(node: Arc<dyn Any + Send + Sync>) -> Result<(), Error> {
    let Ok(node) = node.downcast::<NodeInner>() else { return Ok(()) };
    node.declare_sim_time()?;
    if node.context.shared.standby.stand_by() {
        return Ok(());
    }
    node.start_parameters_in_ros2()?;
    node.start_node_services()?;
    // Peers get answers from now on, even if the program never waits.
    node.context.shared.event_loop.ensure_background_thread();
    Ok(())
}
