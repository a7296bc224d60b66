//! `runnel interface`

mod find;
mod known;
mod list;
mod md5;
mod package;
mod packages;
mod proto;
mod show;

use clap::Subcommand;

use crate::cli_context::CliContext;
use crate::error::CliError;

pub use known::{Kinds, Only};

/// Inspect message, service and action types (rosmsg, rossrv, ros2 interface)
#[derive(Debug, Subcommand)]
pub enum Command {
    List(list::Args),
    Show(show::Args),
    Package(package::Args),
    Packages(packages::Args),
    Find(find::Args),
    Proto(proto::Args),
    Md5(md5::Args),
}

pub fn run(command: Command, cli: &CliContext) -> Result<(), CliError> {
    match command {
        Command::List(args) => list::run(&args, cli),
        Command::Show(args) => show::run(&args, cli),
        Command::Package(args) => package::run(&args, cli),
        Command::Packages(args) => packages::run(&args, cli),
        Command::Find(args) => find::run(&args, cli),
        Command::Proto(args) => proto::run(&args, cli),
        Command::Md5(args) => md5::run(&args, cli),
    }
}
