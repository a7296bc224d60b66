//! `runnel param delete`

use runnel::Parameter;
use serde_json::json;

use super::query::{Query, Ros2Node, absolute};
use crate::cli_context::CliContext;
use crate::completion;
use crate::error::CliError;

/// Delete parameters, in ROS 1 each with all below it
///
/// 'runnel param delete /robot speed' deletes the parameter of a ROS 2 node, if its type is dynamic. Otherwise each
/// name is a ROS 1 parameter.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The node and its parameter, or the ROS 1 parameters
    #[arg(required = true, value_name = "NAME", add = completion::node_and_its_parameters())]
    names: Vec<String>,

    #[command(flatten)]
    query: Query,
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), CliError> {
    let first = cli.resolve(&args.names[0])?;
    if let [_, parameter] = args.names.as_slice()
        && !parameter.starts_with('/')
        && let Some(node) = args.query.ros2_node(cli, &first)?
    {
        return delete_ros2(cli, &node, parameter);
    }
    if let [_] = args.names.as_slice()
        && !args.query.has_master(cli)?
        && let Some((node, parameter)) = args.query.ros2_parameter(cli, &first, "<NAME>")?
    {
        return delete_ros2(cli, &node, &parameter);
    }
    args.query.in_ros1(cli, &first, |graph| {
        let names = args.names.iter().map(|name| cli.resolve(name)).collect::<Result<Vec<_>, CliError>>()?;
        if let [node, _] = names.as_slice()
            && !args.names[1].starts_with('/')
            && graph.param(&absolute(node, &args.names[1]))?.is_some()
        {
            return graph.delete_param(&absolute(node, &args.names[1]));
        }
        names.iter().try_for_each(|name| graph.delete_param(name))
    })
}

fn delete_ros2(cli: &CliContext, node: &Ros2Node, name: &str) -> Result<(), CliError> {
    let result = node.client.set_parameters(&[Parameter::not_set(name)])?.into_iter().next();
    match result {
        Some(Err(why)) => Err(CliError::Failed(format!("Deleting parameter failed: {why}"))),
        _ => cli
            .output
            .answer(|| "Deleted parameter successfully".to_owned(), || json!({ "successful": true })),
    }
}
