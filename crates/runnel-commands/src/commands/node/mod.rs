//! `runnel node`

mod cleanup;
mod info;
mod kill;
mod list;
mod ping;
mod ros2;

use clap::Subcommand;
pub use ros2::Ros2Info;

use crate::cli_context::CliContext;
use crate::error::CliError;
use crate::originals::command_line::NODE_LIST;
use crate::similar::meant_or_listed;

/// Inspect nodes, and shut them down (rosnode, ros2 node)
#[derive(Debug, Subcommand)]
pub enum Command {
    List(list::Args),
    Info(info::Args),
    Ping(ping::Args),
    Kill(kill::Args),
    Cleanup(cleanup::Args),
}

pub fn run(command: Command, cli: &CliContext) -> Result<(), CliError> {
    match command {
        Command::List(args) => list::run(&args, cli),
        Command::Info(args) => info::run(&args, cli),
        Command::Ping(args) => ping::run(&args, cli),
        Command::Kill(args) => kill::run(&args, cli),
        Command::Cleanup(args) => cleanup::run(&args, cli),
    }
}

/// The error for a node that is not among the known ones.
fn unknown<'a>(node: &str, known: impl IntoIterator<Item = &'a str>) -> CliError {
    CliError::Failed(format!("no node {node}{}", meant_or_listed(node, known, NODE_LIST)))
}

/// The error for a node that the master does not know. It may be in ROS 2.
fn unknown_to_master(node: &str) -> CliError {
    CliError::Failed(format!("no ROS 1 node {node} (see '{NODE_LIST} --ros1')"))
}
