//! `runnel param`

mod delete;
mod dump;
mod get;
mod list;
mod load;
mod set;

use clap::Subcommand;

use crate::error::CliError;
use crate::session::Session;

/// Read and set parameters of ROS 1 (rosparam, ros2 param)
#[derive(Debug, Subcommand)]
pub enum Command {
    List(list::Args),
    Get(get::Args),
    Set(set::Args),
    Delete(delete::Args),
    Dump(dump::Args),
    Load(load::Args),
}

pub fn run(command: Command, session: &Session) -> Result<(), CliError> {
    match command {
        Command::List(args) => list::run(&args, session),
        Command::Get(args) => get::run(&args, session),
        Command::Set(args) => set::run(&args, session),
        Command::Delete(args) => delete::run(&args, session),
        Command::Dump(args) => dump::run(&args, session),
        Command::Load(args) => load::run(&args, session),
    }
}
