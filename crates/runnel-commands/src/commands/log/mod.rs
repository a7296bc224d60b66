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

use crate::error::CliError;
use crate::session::Session;

/// How long a node may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// Follow what nodes of ROS 1 log, and set their levels (rqt_console, rosconsole)
///
/// Without a command, prints lines as nodes log them, until Ctrl-C.
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

pub fn run(args: Args, session: &Session) -> Result<(), CliError> {
    match args.command {
        None => follow::run(&args.follow, session),
        Some(Command::List(args)) => list::run(&args, session),
        Some(Command::Get(args)) => get::run(&args, session),
        Some(Command::Set(args)) => set::run(&args, session),
    }
}

/// The loggers of a node, by name.
fn loggers(asker: &Node, node: &str) -> Result<Vec<Logger>, CliError> {
    let client = asker.create_client::<GetLoggers>(&format!("{node}/get_loggers"))?;
    let mut told = client.call_timeout(&GetLoggersRequest::default(), PATIENCE)?;
    told.loggers.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(told.loggers)
}
