//! `runnel param`

mod delete;
mod describe;
mod dump;
mod get;
mod list;
mod load;
mod query;
mod set;

use clap::Subcommand;

use crate::cli_context::CliContext;
use crate::error::CliError;

/// Read and set parameters (rosparam, ros2 param)
#[derive(Debug, Subcommand)]
pub enum Command {
    List(list::Args),
    Get(get::Args),
    Set(set::Args),
    Describe(describe::Args),
    Delete(delete::Args),
    Dump(dump::Args),
    Load(load::Args),
}

pub fn run(command: Command, cli: &CliContext) -> Result<(), CliError> {
    match command {
        Command::List(args) => list::run(&args, cli),
        Command::Get(args) => get::run(&args, cli),
        Command::Set(args) => set::run(&args, cli),
        Command::Describe(args) => describe::run(&args, cli),
        Command::Delete(args) => delete::run(&args, cli),
        Command::Dump(args) => dump::run(&args, cli),
        Command::Load(args) => load::run(&args, cli),
    }
}
