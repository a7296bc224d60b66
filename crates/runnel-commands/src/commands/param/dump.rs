//! `runnel param dump`

use std::fs;

use super::query::{Query, Ros2Node};
use crate::cli_context::CliContext;
use crate::completion;
use crate::error::CliError;
use crate::graph::Graph;
use crate::output;
use crate::params::{ros2, yaml};

/// Write parameters as a YAML file
///
/// 'runnel param dump /robot' prints those of the ROS 2 node /robot, for --params-file. Otherwise the first argument is
/// a file, into which all ROS 1 parameters or those below a name are written.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The node, or in ROS 1 the file; standard output if omitted or -
    #[arg(value_name = "NODE", value_hint = clap::ValueHint::FilePath)]
    file: Option<String>,

    /// In ROS 1, only parameters below this name
    #[arg(default_value = "/", add = completion::parameters())]
    namespace: String,

    #[command(flatten)]
    query: Query,
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), CliError> {
    let first = args.file.as_deref().filter(|file| *file != "-");
    let name = first.filter(|name| name.starts_with('/') || args.query.filter.is_only_ros2());
    if let Some(name) = name.map(|name| cli.resolve(name)).transpose().unwrap_or_default()
        && let Some(node) = args.query.ros2_node(cli, &name)?
    {
        return dump_ros2(cli, &node);
    }
    let namespace = cli.resolve(&args.namespace)?;
    let missing = first.unwrap_or(&namespace);
    args.query.in_ros1(cli, missing, |graph| dump_ros1(cli, graph, &namespace, first))
}

fn dump_ros1(
    cli: &CliContext,
    graph: &Graph<'_>,
    namespace: &str,
    file: Option<&str>,
) -> Result<(), CliError> {
    let value = graph.param(namespace)?;
    let value = value.ok_or_else(|| CliError::Failed(format!("no parameter is set below {namespace}")))?;
    output::mark_found();
    let text = yaml::to_text(&value)?;
    match file {
        None => cli.output.answer(|| text, || yaml::to_json(&value)),
        Some(file) => fs::write(file, text).map_err(|error| CliError::Failed(format!("{file}: {error}"))),
    }
}

fn dump_ros2(cli: &CliContext, node: &Ros2Node) -> Result<(), CliError> {
    let mut names = node.client.list_parameters(&[], 0)?.names;
    names.sort_unstable();
    let wanted: Vec<&str> = names.iter().map(String::as_str).collect();
    let values = node.client.get_parameters(&wanted)?;
    let set: Vec<_> =
        names.iter().cloned().zip(values).filter_map(|(name, value)| Some((name, value?))).collect();
    let json = || set.iter().map(|(name, value)| (name.clone(), ros2::to_json(value))).collect();
    cli.output.answer(|| ros2::file_text(node.client.node_name(), &set), json)
}
