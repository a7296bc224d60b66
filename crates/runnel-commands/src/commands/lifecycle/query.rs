//! Lifecycle nodes of the ROS 2 graph, and their services.

use std::collections::BTreeSet;
use std::time::Duration;

use runnel::core::message::Service;
use runnel::msgs::lifecycle_msgs::msg::TransitionDescription;
use runnel::msgs::lifecycle_msgs::srv::{GetAvailableTransitions, GetAvailableTransitionsRequest};
use runnel::{Context, Graphs, Node, Ros2Graph};

use crate::cli_context::CliContext;
use crate::error::{CliError, unless_interrupted};
use crate::graphs::{Discovery, is_hidden};
use crate::originals::command_line::LIFECYCLE_NODES;

/// How long a node may take to answer.
const CALL_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a node may take to appear that is not in the graph after discovery.
const NODE_TIMEOUT: Duration = Duration::from_secs(1);

/// Options of commands for lifecycle nodes.
#[derive(Clone, Debug, clap::Args)]
pub struct Query {
    #[command(flatten)]
    discovery: Discovery,

    /// Accepted: only ROS 2 has lifecycle nodes
    #[arg(long, hide = true)]
    ros2: bool,
}

/// The lifecycle nodes of the graph, and a node that calls their services.
pub struct LifecycleNodes {
    context: Context,
    graph: Ros2Graph,
    asker: Node,
}

impl Query {
    /// Discovers the graph.
    ///
    /// # Errors
    /// When sockets cannot be opened.
    pub fn open(&self, cli: &CliContext) -> Result<LifecycleNodes, CliError> {
        let context = cli.query_context_in(Graphs::Ros2)?;
        let graph = self.discovery.discover(cli, &context)?;
        let asker = cli.node(&context, "lifecycle")?;
        Ok(LifecycleNodes { context, graph, asker })
    }
}

impl LifecycleNodes {
    /// The names of the nodes, in order.
    pub fn names(&self, hidden: bool) -> BTreeSet<&str> {
        names(&self.graph, hidden)
    }

    /// The node of this name.
    ///
    /// # Errors
    /// When it is no lifecycle node of the graph.
    pub fn find(&self, cli: &CliContext, typed: &str) -> Result<String, CliError> {
        let name = cli.resolve(typed)?;
        let is_there = |graph: &Ros2Graph| names(graph, true).contains(name.as_str());
        if is_there(&self.graph)
            || unless_interrupted(self.context.wait_for_ros2_graph(NODE_TIMEOUT, is_there))?
        {
            return Ok(name);
        }
        let is_node = self.graph.nodes.iter().any(|node| node.full_name == name);
        let why = if is_node { "it is no lifecycle node" } else { "no ROS 2 node has this name" };
        Err(CliError::Failed(format!("Node not found: {name}: {why} (see '{LIFECYCLE_NODES}')")))
    }

    /// Calls a service of a node.
    ///
    /// # Errors
    /// When the node does not answer in time.
    pub fn call<S: Service>(
        &self,
        node: &str,
        service: &str,
        request: &S::Request,
    ) -> Result<S::Response, CliError> {
        let client = self.asker.create_client::<S>(&format!("{node}/{service}"))?;
        Ok(client.call_timeout(request, CALL_TIMEOUT)?)
    }

    /// The transitions of a node: those that are possible now, or all.
    ///
    /// # Errors
    /// As [`LifecycleNodes::call`].
    pub fn transitions(&self, node: &str, all: bool) -> Result<Vec<TransitionDescription>, CliError> {
        let service = if all { "get_transition_graph" } else { "get_available_transitions" };
        let request = GetAvailableTransitionsRequest::default();
        Ok(self.call::<GetAvailableTransitions>(node, service, &request)?.available_transitions)
    }
}

fn names(graph: &Ros2Graph, hidden: bool) -> BTreeSet<&str> {
    let services = graph.service_names_and_types();
    let is_one = |node: &str| {
        let types = services.get(&format!("{node}/get_state"));
        types.is_some_and(|types| types.contains("lifecycle_msgs/srv/GetState"))
    };
    let nodes = graph.nodes.iter().map(|node| node.full_name.as_str());
    nodes.filter(|node| (hidden || !is_hidden(node)) && is_one(node)).collect()
}

/// A transition or a state as ros2 prints it.
pub fn labelled(label: &str, id: u8) -> String {
    format!("{label} [{id}]")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graphs::tests::graph;
    use runnel::NodeInfo;

    #[test]
    fn lifecycle_nodes_have_get_state() {
        let mut graph = graph(&[
            ("rq/a/get_stateRequest", 2, false),
            ("rq/_b/get_stateRequest", 2, false),
            ("rq/c/get_stateRequest", 2, false),
        ]);
        for end in &mut graph.endpoints[..2] {
            end.dds_type = "lifecycle_msgs::srv::dds_::GetState_Request_".to_owned();
        }
        let participant = graph.participants[0].gid;
        let node = |name: &str| NodeInfo { full_name: name.to_owned(), participant };
        graph.nodes = ["/a", "/_b", "/c", "/d"].map(node).into();
        assert_eq!(names(&graph, true).into_iter().collect::<Vec<_>>(), ["/_b", "/a"]);
        assert_eq!(names(&graph, false).into_iter().collect::<Vec<_>>(), ["/a"]);
    }
}
