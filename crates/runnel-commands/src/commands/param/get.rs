//! `runnel param get`

use super::query::{Query, absolute};
use crate::cli_context::CliContext;
use crate::completion;
use crate::error::CliError;
use crate::graph::Graph;
use crate::originals::command_line::PARAM_LIST;
use crate::params::{ros2, yaml};
use crate::similar::meant_or_listed;

/// Print a parameter
///
/// 'runnel param get /robot speed' prints the parameter of a ROS 2 node as ros2 param does, and else that of ROS 1.
/// 'runnel param get /robot/speed' prints the ROS 1 parameter, or all below a name, as YAML.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The node, or in ROS 1 the parameter
    #[arg(value_name = "NODE", add = completion::nodes_and_parameters())]
    name: String,

    /// The parameter of the node
    #[arg(value_name = "NAME", add = completion::parameters_of_node())]
    of_node: Option<String>,

    /// Print only the value of a ROS 2 parameter
    #[arg(long)]
    hide_type: bool,

    #[command(flatten)]
    query: Query,
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), CliError> {
    let name = cli.resolve(&args.name)?;
    let Some(parameter) = &args.of_node else { return by_absolute_name(args, cli, &name) };
    match args.query.ros2_node(cli, &name)? {
        Some(node) => print_ros2(args, cli, &node.client, parameter),
        None => args.query.in_ros1(cli, &name, |graph| print_ros1(cli, graph, &absolute(&name, parameter))),
    }
}

fn by_absolute_name(args: &Args, cli: &CliContext, name: &str) -> Result<(), CliError> {
    if args.query.has_master(cli)? {
        let context = cli.query_context()?;
        return print_ros1(cli, &Graph::new(&context), name);
    }
    match args.query.ros2_parameter(cli, name, "<NAME>")? {
        Some((node, parameter)) => print_ros2(args, cli, &node.client, &parameter),
        None => args.query.in_ros1(cli, name, |graph| print_ros1(cli, graph, name)),
    }
}

fn print_ros1(cli: &CliContext, graph: &Graph<'_>, name: &str) -> Result<(), CliError> {
    let Some(value) = graph.param(name)? else {
        let known = graph.param_names()?;
        let hint = meant_or_listed(name, known.iter().map(String::as_str), PARAM_LIST);
        return Err(CliError::Failed(format!("parameter {name} is not set{hint}")));
    };
    let text = yaml::to_text(&value)?;
    cli.output.answer(|| text, || yaml::to_json(&value))
}

fn print_ros2(
    args: &Args,
    cli: &CliContext,
    client: &runnel::ParameterClient,
    name: &str,
) -> Result<(), CliError> {
    let unknown = |why: &str| {
        let node = client.node_name();
        let known = client.list_parameters(&[], 0).map(|listed| listed.names).unwrap_or_default();
        let known = known.iter().map(String::as_str);
        let hint = meant_or_listed(name, known, format_args!("{PARAM_LIST} {node}"));
        CliError::Failed(format!("parameter {name} of {node} {why}{hint}"))
    };
    let value = match client.get_parameter(name) {
        Err(runnel::Error::NodeParameter(_)) => return Err(unknown("is not declared")),
        value => value?.ok_or_else(|| unknown("is not set"))?,
    };
    let text = || match args.hide_type {
        true => ros2::python_text(&value),
        false => format!("{} {}", ros2::label(&value), ros2::python_text(&value)),
    };
    cli.output.answer(text, || ros2::to_json(&value))
}
