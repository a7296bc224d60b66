//! `runnel lifecycle`

mod get;
mod list;
mod nodes;
mod query;
mod set;

use clap::Subcommand;

use crate::cli_context::CliContext;
use crate::error::CliError;

/// Show and change the states of ROS 2 lifecycle nodes (ros2 lifecycle)
#[derive(Debug, Subcommand)]
pub enum Command {
    Nodes(nodes::Args),
    Get(get::Args),
    Set(set::Args),
    List(list::Args),
}

pub fn run(command: Command, cli: &CliContext) -> Result<(), CliError> {
    match command {
        Command::Nodes(args) => nodes::run(&args, cli),
        Command::Get(args) => get::run(&args, cli),
        Command::Set(args) => set::run(&args, cli),
        Command::List(args) => list::run(&args, cli),
    }
}
