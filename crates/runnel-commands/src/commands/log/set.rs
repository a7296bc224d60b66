//! `runnel log set`

use runnel::logging::Level;

use super::loggers::Loggers;
use crate::cli_context::CliContext;
use crate::completion;
use crate::error::CliError;
use crate::graphs::Finding;

/// Set the level of a logger: less severe lines are not logged
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The node
    #[arg(add = completion::nodes())]
    node: String,

    /// The logger: in ROS 1 ros is the root logger of the node, in ROS 2 the node's name is that of its logger
    logger: String,

    /// debug, info, warn, error or fatal
    level: Level,

    #[command(flatten)]
    finding: Finding,
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), CliError> {
    let loggers = Loggers::of(cli, &args.finding, &args.node)?;
    loggers.set(&loggers.name(&args.logger), args.level)
}
