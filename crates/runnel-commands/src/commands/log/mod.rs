//! `runnel log`

mod follow;
mod get;
mod list;
mod set;

use std::time::Duration;

use clap::Subcommand;
use runnel::Node;
use runnel::msgs::roscpp::{
    msg::Logger,
    srv::{GetLoggers, GetLoggersRequest},
};

use crate::cli_context::CliContext;
use crate::error::CliError;

/// How long a node may take to answer.
const CALL_TIMEOUT: Duration = Duration::from_secs(5);

/// Follow the log of ROS 1 nodes, and set their log levels (rqt_console, rosconsole)
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

/// The loggers of a node, by name.
fn loggers(asker: &Node, node: &str) -> Result<Vec<Logger>, CliError> {
    let client = asker.create_client::<GetLoggers>(&format!("{node}/get_loggers"))?;
    let mut answer = client.call_timeout(&GetLoggersRequest::default(), CALL_TIMEOUT)?;
    answer.loggers.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(answer.loggers)
}
