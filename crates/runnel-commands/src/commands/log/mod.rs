//! `runnel log`

mod follow;
mod get;
mod line;
mod list;
mod loggers;
mod set;

use clap::Subcommand;

use crate::cli_context::CliContext;
use crate::error::CliError;

/// Follow what nodes log, and set their log levels (rqt_console, rosconsole)
///
/// Without a subcommand, prints lines as nodes log them, until Ctrl-C.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Args {
    #[command(subcommand)]
    command: Option<Command>,

    #[command(flatten)]
    follow: follow::Follow,
}

#[derive(Debug, Subcommand)]
enum Command {
    List(list::Args),
    Get(get::Args),
    Set(set::Args),
}

pub fn run(args: Args, cli: &CliContext) -> Result<(), CliError> {
    match args.command {
        None => follow::run(&args.follow, cli),
        Some(Command::List(args)) => list::run(&args, cli),
        Some(Command::Get(args)) => get::run(&args, cli),
        Some(Command::Set(args)) => set::run(&args, cli),
    }
}
