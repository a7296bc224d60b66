//! The nodes and graphs whose parameters a command uses.

use std::time::Duration;

use runnel::core::names;
use runnel::{Context, Graphs, ParameterClient, Ros2Graph};

use crate::cli_context::CliContext;
use crate::error::{CliError, unless_interrupted};
use crate::graph::Graph;
use crate::graphs::{Discovery, GraphFilter, visible_nodes};
use crate::originals::command_line::NODE_LIST;
use crate::similar::{meant, meant_or_listed};
use crate::value_parsers;

/// How long a node may take to appear.
const NODE_TIMEOUT: Duration = Duration::from_secs(1);

/// How long the parameter services of a node may take to appear, and to answer.
const SERVICE_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a master may take that no option requires.
const MASTER_TIMEOUT: Duration = Duration::from_secs(1);

/// Options of commands for parameters.
#[derive(Clone, Debug, clap::Args)]
pub struct Query {
    #[command(flatten)]
    pub filter: GraphFilter,

    #[command(flatten)]
    pub discovery: Discovery,

    /// Wait this long for a ROS 2 node to appear [default: 1]
    #[arg(long, value_name = "SECONDS", value_parser = value_parsers::seconds)]
    timeout: Option<Duration>,

    /// Accepted as in ros2; hidden nodes are found by their names
    #[arg(long, hide = true)]
    include_hidden_nodes: bool,
}

/// A ROS 2 node whose parameters a command uses.
pub struct Ros2Node {
    pub client: ParameterClient,
}

impl Query {
    /// The ROS 2 node of this name, if there is one and the command may use ROS 2.
    ///
    /// # Errors
    /// When the node does not answer.
    pub fn ros2_node(&self, cli: &CliContext, name: &str) -> Result<Option<Ros2Node>, CliError> {
        let Some((context, graph)) = self.discover(cli)? else { return Ok(None) };
        match self.wait_for_node(&context, graph, name)? {
            Some(_) => Ros2Node::connect(cli, &context, name).map(Some),
            None => Ok(None),
        }
    }

    /// A discovered graph once it has a node of this name; `None` if none appears in time.
    ///
    /// # Errors
    /// When the operating system refuses to wait.
    pub fn wait_for_node(
        &self,
        context: &Context,
        graph: Ros2Graph,
        name: &str,
    ) -> Result<Option<Ros2Graph>, CliError> {
        let is_it = |graph: &Ros2Graph| graph.nodes.iter().any(|node| node.full_name == name);
        if is_it(&graph) {
            return Ok(Some(graph));
        }
        unless_interrupted(context.wait_for_ros2_graph(self.timeout.unwrap_or(NODE_TIMEOUT), is_it))?;
        Ok(context.ros2_graph()?.filter(is_it))
    }

    /// The ROS 2 node that the absolute name of a parameter begins with, and the parameter's own name.
    ///
    /// # Errors
    /// When the node does not answer, or the name is that of a node: then the argument `missing` is missing.
    pub fn ros2_parameter(
        &self,
        cli: &CliContext,
        absolute: &str,
        missing: &str,
    ) -> Result<Option<(Ros2Node, String)>, CliError> {
        let Some((context, graph)) = self.discover(cli)? else { return Ok(None) };
        if graph.nodes.iter().any(|node| node.full_name == absolute) {
            return Err(CliError::Usage(format!(
                "{absolute} is a ROS 2 node: argument {missing} is missing"
            )));
        }
        let below =
            |node: &str| absolute.strip_prefix(node)?.strip_prefix('/').map(|rest| rest.replace('/', "."));
        let nodes = graph.nodes.iter().map(|node| node.full_name.as_str());
        let longest = nodes.filter(|node| below(node).is_some()).max_by_key(|node| node.len());
        let Some((node, name)) = longest.and_then(|node| Some((node, below(node)?))) else { return Ok(None) };
        Ok(Some((Ros2Node::connect(cli, &context, node)?, name)))
    }

    /// The ROS 2 graph, if the command may use it.
    fn discover(&self, cli: &CliContext) -> Result<Option<(Context, Ros2Graph)>, CliError> {
        if self.filter.is_only_ros1() {
            return Ok(None);
        }
        let context = cli.query_context_in(Graphs::Ros2)?;
        let graph = self.discovery.discover(cli, &context)?;
        Ok(Some((context, graph)))
    }

    /// The ROS 2 graph for suggestions, empty if it cannot be discovered.
    pub fn known_graph(&self, cli: &CliContext) -> Ros2Graph {
        self.discover(cli).ok().flatten().map(|(_, graph)| graph).unwrap_or_default()
    }

    /// Runs a command in ROS 1. Without a master, the error names the ROS 2 node that was not found either.
    ///
    /// # Errors
    /// Those of the command, or that there is no master.
    pub fn in_ros1<T>(
        &self,
        cli: &CliContext,
        missing: &str,
        run: impl FnOnce(&Graph<'_>) -> Result<T, CliError>,
    ) -> Result<T, CliError> {
        if self.filter.is_only_ros2() {
            return Err(node_not_found(cli, missing, &self.known_graph(cli)));
        }
        let context = cli.query_context()?;
        if !self.filter.is_only_ros1() {
            let master = Graph::within(&context, MASTER_TIMEOUT).check_master();
            let missing = || missing_text(missing, &self.known_graph(cli));
            master.map_err(|error| CliError::Failed(format!("{}, and {error}", missing())))?;
        }
        run(&Graph::new(&context))
    }

    /// Whether a master answers that the command may use.
    ///
    /// # Errors
    /// When the environment is malformed.
    pub fn has_master(&self, cli: &CliContext) -> Result<bool, CliError> {
        if self.filter.is_only_ros2() {
            return Ok(false);
        }
        let context = cli.query_context()?;
        Ok(self.filter.is_only_ros1() || Graph::within(&context, MASTER_TIMEOUT).check_master().is_ok())
    }
}

/// The error of a command in ROS 2 for a node that is not in the graph.
pub fn node_not_found(cli: &CliContext, node: &str, graph: &Ros2Graph) -> CliError {
    CliError::Failed(match cli.is_only_in_ros2() {
        true => format!("Node not found{}", meant(node, visible_nodes(graph))),
        false => missing_text(node, graph),
    })
}

/// That the graph has no node of this name.
pub fn missing_text(node: &str, graph: &Ros2Graph) -> String {
    format!("no ROS 2 node {node}{}", meant_or_listed(node, visible_nodes(graph), NODE_LIST))
}

impl Ros2Node {
    /// A client of a discovered node.
    ///
    /// # Errors
    /// When the node has no parameter services.
    pub fn connect(cli: &CliContext, context: &Context, name: &str) -> Result<Self, CliError> {
        let client = cli.node(context, "param")?.create_parameter_client(name)?.timeout(SERVICE_TIMEOUT);
        if !client.wait_for_services(SERVICE_TIMEOUT)? {
            let seconds = SERVICE_TIMEOUT.as_secs();
            let text = format!("node {name} has no parameter services that answer within {seconds} s");
            return Err(CliError::Failed(text));
        }
        Ok(Self { client })
    }
}

/// The absolute name of a parameter that follows its node: `/robot`, `limits.speed`.
pub fn absolute(node: &str, parameter: &str) -> String {
    names::join(node, &parameter.replace('.', "/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn node_may_stand_before_its_parameter() {
        assert_eq!(absolute("/robot", "limits.speed"), "/robot/limits/speed");
    }
}
