//! `runnel param dump`

use std::fs::OpenOptions;
use std::io::{self, IsTerminal, Write};
use std::path::Path;

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
/// a file, into which all ROS 1 parameters or those below a name are written. A file that exists is overwritten only
/// after a question, or with --force.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The node, or in ROS 1 the file; standard output if omitted or -
    #[arg(value_name = "NODE", add = completion::nodes_or_files())]
    file: Option<String>,

    /// In ROS 1, only parameters below this name
    #[arg(default_value = "/", add = completion::ros1_parameters())]
    namespace: String,

    /// Overwrite the file without asking
    #[arg(long)]
    force: bool,

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
    args.query.in_ros1(cli, missing, |graph| dump_ros1(args, cli, graph, (&namespace, first)))
}

fn dump_ros1(
    args: &Args,
    cli: &CliContext,
    graph: &Graph<'_>,
    (namespace, file): (&str, Option<&str>),
) -> Result<(), CliError> {
    let value = graph.param(namespace)?;
    let value = value.ok_or_else(|| CliError::Failed(format!("no parameter is set below {namespace}")))?;
    output::mark_found();
    let text = yaml::to_text(&value)?;
    match file {
        None => cli.output.answer(|| text, || yaml::to_json(&value)),
        Some(file) => write(cli, file, &text, args.force),
    }
}

/// Writes a file. One that exists is only overwritten if the user agrees.
fn write(cli: &CliContext, file: &str, text: &str, force: bool) -> Result<(), CliError> {
    let overwrites = force || (Path::new(file).is_file() && is_agreed(cli, file)?);
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(overwrites).create_new(!overwrites);
    let written = options.open(file).and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            CliError::Failed(format!("{file}: the file exists. Try: --force, or another name"))
        }
        _ => CliError::Failed(format!("{file}: {error}")),
    })
}

/// Asks whether a file may be overwritten; false if nobody can answer.
fn is_agreed(cli: &CliContext, file: &str) -> Result<bool, CliError> {
    if !io::stdin().is_terminal() || cli.output.json {
        return Ok(false);
    }
    cli.output.unended(&format!("{file} exists. Overwrite it? [y/N] "))?;
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    Ok(["y", "yes"].contains(&answer.trim().to_lowercase().as_str()))
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
