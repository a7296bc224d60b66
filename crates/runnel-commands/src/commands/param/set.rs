//! `runnel param set`

use runnel::{Parameter, ParameterClient, ParameterValue, XmlRpcValue};
use serde_json::json;

use super::query::{Query, absolute};
use crate::cli_context::CliContext;
use crate::completion;
use crate::error::CliError;
use crate::graph::Graph;
use crate::params::{ros2, yaml};

const EXAMPLES: &str = "\
Examples:
  runnel param set /robot speed 0.5               a ROS 2 node, or ROS 1
  runnel param set /robot/speed 0.5               ROS 1
  runnel param set /robot '{speed: 0.5, name: adam}'
  runnel param set /robot/offset -- -1";

/// Set a parameter, or several below a name with a YAML mapping
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Args {
    /// The node, or in ROS 1 the parameter
    #[arg(value_name = "NODE", add = completion::nodes_and_parameters())]
    name: String,

    /// The parameter of the node, or in ROS 1 the value
    #[arg(value_name = "NAME", allow_negative_numbers = true, add = completion::parameters_of_node())]
    value: String,

    /// The value, in YAML: 5, 0.5, true, text, [1, 2]; in ROS 1 also {a: 1}
    #[arg(value_name = "VALUE", allow_negative_numbers = true)]
    value_of_node: Option<String>,

    #[command(flatten)]
    query: Query,
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), CliError> {
    let name = cli.resolve(&args.name)?;
    let Some(value) = &args.value_of_node else { return by_absolute_name(args, cli, &name) };
    let parameter = &args.value;
    match args.query.ros2_node(cli, &name)? {
        Some(node) => set_ros2(cli, &node.client, parameter, value),
        None => args.query.in_ros1(cli, &name, |graph| {
            let absolute = absolute(&name, parameter);
            set_ros1(graph, &absolute, value)?;
            if !args.query.filter.is_only_ros1() {
                // The node may be misspelt or not running.
                cli.output.note(&format!("no ROS 2 node {name}: {absolute} was set at the ROS 1 master"));
            }
            Ok(())
        }),
    }
}

fn by_absolute_name(args: &Args, cli: &CliContext, name: &str) -> Result<(), CliError> {
    if !args.query.filter.is_only_ros2() {
        ros1_value(name, &args.value)?;
    }
    if args.query.has_master(cli)? {
        let context = cli.query_context()?;
        return set_ros1(&Graph::new(&context), name, &args.value);
    }
    match args.query.ros2_parameter(cli, name, "<VALUE>")? {
        Some((node, parameter)) => set_ros2(cli, &node.client, &parameter, &args.value),
        None => args.query.in_ros1(cli, name, |graph| set_ros1(graph, name, &args.value)),
    }
}

fn ros1_value(name: &str, text: &str) -> Result<XmlRpcValue, CliError> {
    yaml::from_text(text).map_err(|error| CliError::Usage(format!("parameter {name}: {error}")))
}

fn set_ros1(graph: &Graph<'_>, name: &str, value: &str) -> Result<(), CliError> {
    let value = ros1_value(name, value)?;
    match yaml::leaves(name, value.clone()) {
        // As in rosparam: other parameters below the name stay.
        Ok(leaves) if !leaves.is_empty() => {
            leaves.into_iter().try_for_each(|(name, value)| graph.set_param(&name, value))
        }
        _ => graph.set_param(name, value),
    }
}

fn set_ros2(cli: &CliContext, client: &ParameterClient, name: &str, text: &str) -> Result<(), CliError> {
    let value = fitted(client, name, ros2::from_text(text));
    let result = client.set_parameters(&[Parameter::new(name, value)])?.into_iter().next();
    match result {
        Some(Err(why)) => Err(CliError::Failed(format!("Setting parameter failed: {why}"))),
        _ => cli.output.answer(|| "Set parameter successful".to_owned(), || json!({ "successful": true })),
    }
}

/// The value as the parameter's type asks for it: unlike ros2, 5 is accepted for 5.0.
pub(super) fn fitted(client: &ParameterClient, name: &str, value: ParameterValue) -> ParameterValue {
    let is_clear =
        matches!(value, ParameterValue::Bool(_) | ParameterValue::Double(_) | ParameterValue::String(_));
    let types = if is_clear { Vec::new() } else { client.get_parameter_types(&[name]).unwrap_or_default() };
    types.first().map_or(value.clone(), |declared| value.fitted_to(*declared))
}
