//! `runnel param list`

use std::collections::BTreeMap;

use runnel::core::names::DdsTopic;
use runnel::{Graphs, ParameterClient, Ros2Graph};
use serde_json::{Map, Value as Json, json};

use super::query::{Query, Ros2Node, node_not_found};
use crate::cli_context::CliContext;
use crate::completion;
use crate::error::CliError;
use crate::graph::is_within;
use crate::graphs::{GraphSnapshot, is_hidden};
use crate::output::lines;

/// List parameters
///
/// First those of ROS 1, then those of each ROS 2 node as ros2 param lists them.
///
/// Exit code: 1 if neither a master nor a ROS 2 participant is found.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only those of this ROS 2 node; in ROS 1 this parameter, and those below it
    #[arg(value_name = "NODE", add = completion::nodes_and_parameters())]
    namespace: Option<String>,

    /// Only ROS 2 parameters with these prefixes
    #[arg(long, value_name = "PREFIX", num_args = 1..)]
    param_prefixes: Vec<String>,

    /// Also print the types of ROS 2 parameters
    #[arg(long)]
    param_type: bool,

    /// Also list hidden ROS 2 nodes, whose names begin with an underscore
    #[arg(short, long)]
    all: bool,

    #[command(flatten)]
    query: Query,
}

/// A ROS 2 node with the names of its parameters, and their types if these are wanted.
struct Listed {
    node: String,
    parameters: Vec<(String, Option<&'static str>)>,
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), CliError> {
    let namespace = args.namespace.as_ref().map(|name| cli.resolve(name)).transpose()?;
    let mut snapshot = GraphSnapshot::open(cli, args.query.filter, &args.query.discovery)?;
    // In ROS 1 the name need not be a node.
    if let Some(name) = namespace.as_ref().filter(|_| args.query.filter.is_only_ros2()) {
        let known = snapshot.ros2.take().unwrap_or_default();
        let graph = args.query.wait_for_node(snapshot.context(), known.clone(), name)?;
        snapshot.ros2 = Some(graph.ok_or_else(|| node_not_found(cli, name, &known))?);
    }
    let mut ros1 = snapshot.ros1().map(|graph| graph.param_names()).transpose()?.unwrap_or_default();
    if let Some(namespace) = &namespace {
        ros1.retain(|name| is_within(name, namespace));
    }
    let nodes =
        snapshot.ros2.as_ref().map(|graph| nodes_of(args, graph, namespace.as_deref())).unwrap_or_default();
    let ros2 = if nodes.is_empty() { Vec::new() } else { ask(args, cli, &nodes)? };
    let text = || lines(&ros1) + &ros2.iter().map(|node| node.text(namespace.is_none())).collect::<String>();
    cli.output.answer(text, || to_json(&ros1, &ros2, snapshot.ros2.is_some()))?;
    snapshot.presence.check()
}

/// The nodes that have parameter services.
fn nodes_of(args: &Args, graph: &Ros2Graph, wanted: Option<&str>) -> Vec<String> {
    let services: Vec<&str> = graph
        .endpoints
        .iter()
        .filter_map(|end| match end.ros_topic() {
            Some(DdsTopic::ServiceRequest(service)) => service.strip_suffix("/list_parameters"),
            _ => None,
        })
        .collect();
    let names = graph.nodes.iter().map(|node| node.full_name.as_str());
    let is_wanted = |name: &str| match wanted {
        Some(wanted) => name == wanted,
        None => args.all || !is_hidden(name),
    };
    let mut names: Vec<String> =
        names.filter(|name| is_wanted(name) && services.contains(name)).map(str::to_owned).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Asks the nodes. A note names each that does not answer.
fn ask(args: &Args, cli: &CliContext, nodes: &[String]) -> Result<Vec<Listed>, CliError> {
    let context = cli.query_context_in(Graphs::Ros2)?;
    let mut listed = Vec::new();
    for node in nodes {
        let parameters =
            Ros2Node::connect(cli, &context, node).and_then(|node| parameters(args, &node.client));
        match parameters {
            Ok(parameters) => listed.push(Listed { node: node.clone(), parameters }),
            Err(error) => cli.output.note(&error.to_string()),
        }
    }
    Ok(listed)
}

fn parameters(
    args: &Args,
    client: &ParameterClient,
) -> Result<Vec<(String, Option<&'static str>)>, CliError> {
    let prefixes: Vec<&str> = args.param_prefixes.iter().map(String::as_str).collect();
    let mut names = client.list_parameters(&prefixes, 0)?.names;
    names.sort_unstable();
    if !args.param_type {
        return Ok(names.into_iter().map(|name| (name, None)).collect());
    }
    let wanted: Vec<&str> = names.iter().map(String::as_str).collect();
    let descriptors = client.describe_parameters(&wanted)?;
    let types: BTreeMap<String, u8> =
        descriptors.into_iter().map(|descriptor| (descriptor.name, descriptor.type_)).collect();
    let typed = |name: String| {
        let kind = types.get(&name).map(|number| runnel::parameter_type_name(*number));
        (name, kind)
    };
    Ok(names.into_iter().map(typed).collect())
}

impl Listed {
    fn text(&self, with_node: bool) -> String {
        let line = |(name, kind): &(String, Option<&str>)| match kind {
            Some(kind) => format!("  {name} (type: {kind})\n"),
            None => format!("  {name}\n"),
        };
        let head = if with_node { format!("{}:\n", self.node) } else { String::new() };
        head + &self.parameters.iter().map(line).collect::<String>()
    }
}

/// A list of names in ROS 1 only; otherwise an object with both.
fn to_json(ros1: &[String], ros2: &[Listed], has_ros2: bool) -> Json {
    if !has_ros2 {
        return json!(ros1);
    }
    let names = |node: &Listed| node.parameters.iter().map(|(name, _)| json!(name)).collect::<Json>();
    let nodes: Map<String, Json> = ros2.iter().map(|node| (node.node.clone(), names(node))).collect();
    json!({ "ros1": ros1, "ros2": nodes })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn node_is_listed_as_by_ros2_param() {
        let parameters = vec![("limits.low".to_owned(), None), ("rate".to_owned(), Some("double"))];
        let listed = Listed { node: "/robot".into(), parameters };
        assert_eq!(listed.text(true), "/robot:\n  limits.low\n  rate (type: double)\n");
        assert_eq!(listed.text(false), "  limits.low\n  rate (type: double)\n");
    }
}
