//! `runnel node`

mod cleanup;
mod info;
mod kill;
mod list;
mod ping;
mod ros2;

use clap::Subcommand;

use crate::error::CliError;
use crate::session::Session;

/// Look at nodes, and end them (rosnode, ros2 node)
#[derive(Debug, Subcommand)]
pub enum Command {
    List(list::Args),
    Info(info::Args),
    Ping(ping::Args),
    Kill(kill::Args),
    Cleanup(cleanup::Args),
}

pub fn run(command: Command, session: &Session) -> Result<(), CliError> {
    match command {
        Command::List(args) => list::run(&args, session),
        Command::Info(args) => info::run(&args, session),
        Command::Ping(args) => ping::run(&args, session),
        Command::Kill(args) => kill::run(&args, session),
        Command::Cleanup(args) => cleanup::run(&args, session),
    }
}

/// The error for a node that nobody knows.
fn unknown(node: &str) -> CliError {
    CliError::Failed(format!("no node {node} (see 'runnel node list')"))
}

/// The error for a node that the master does not know, though it may be in ROS 2.
fn unknown_to_master(node: &str) -> CliError {
    CliError::Failed(format!("no node {node} of ROS 1 (see 'runnel node list --ros1')"))
}
