//! `runnel interface`

mod known;
mod list;
mod md5;
mod package;
mod packages;
mod show;

use clap::Subcommand;

use crate::error::CliError;
use crate::session::Session;

pub use known::Only;

/// Look at message, service and action types (rosmsg, rossrv, ros2 interface)
#[derive(Debug, Subcommand)]
pub enum Command {
    List(list::Args),
    Show(show::Args),
    Package(package::Args),
    Packages(packages::Args),
    Md5(md5::Args),
}

pub fn run(command: Command, session: &Session) -> Result<(), CliError> {
    match command {
        Command::List(args) => list::run(&args, session),
        Command::Show(args) => show::run(&args, session),
        Command::Package(args) => package::run(&args, session),
        Command::Packages(args) => packages::run(&args, session),
        Command::Md5(args) => md5::run(&args, session),
    }
}
