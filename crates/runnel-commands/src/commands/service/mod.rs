//! `runnel service`

mod call;
mod echo;
mod endpoints;
mod find;
mod hidden;
mod info;
mod list;
mod type_name;

use clap::Subcommand;

use crate::cli_context::CliContext;
use crate::error::CliError;

/// Inspect services, call them and follow their calls (rosservice, ros2 service)
#[derive(Debug, Subcommand)]
pub enum Command {
    List(list::Args),
    Info(info::Args),
    Type(type_name::Args),
    Find(find::Args),
    Call(call::Args),
    Echo(echo::Args),
}

pub fn run(command: Command, cli: &CliContext) -> Result<(), CliError> {
    match command {
        Command::List(args) => list::run(&args, cli),
        Command::Info(args) => info::run(&args, cli),
        Command::Type(args) => type_name::run(&args, cli),
        Command::Find(args) => find::run(&args, cli),
        Command::Call(args) => call::run(&args, cli),
        Command::Echo(args) => echo::run(&args, cli),
    }
}
