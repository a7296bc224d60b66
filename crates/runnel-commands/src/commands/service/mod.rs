//! `runnel service`

mod call;
mod find;
mod info;
mod list;
mod type_name;

use clap::Subcommand;

use crate::error::CliError;
use crate::session::Session;

/// Look at services of ROS 1, and call them (rosservice, ros2 service)
#[derive(Debug, Subcommand)]
pub enum Command {
    List(list::Args),
    Info(info::Args),
    Type(type_name::Args),
    Find(find::Args),
    Call(call::Args),
}

pub fn run(command: Command, session: &Session) -> Result<(), CliError> {
    match command {
        Command::List(args) => list::run(&args, session),
        Command::Info(args) => info::run(&args, session),
        Command::Type(args) => type_name::run(&args, session),
        Command::Find(args) => find::run(&args, session),
        Command::Call(args) => call::run(&args, session),
    }
}
