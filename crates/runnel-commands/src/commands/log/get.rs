//! `runnel log get`

use serde_json::json;

use super::loggers::Loggers;
use crate::cli_context::CliContext;
use crate::completion;
use crate::error::CliError;
use crate::graphs::Finding;
use crate::output::shown;

/// Print the level of a logger
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The node
    #[arg(add = completion::nodes())]
    node: String,

    /// The logger [default: ros in ROS 1, that of the node in ROS 2]
    logger: Option<String>,

    #[command(flatten)]
    finding: Finding,
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), CliError> {
    let loggers = Loggers::of(cli, &args.finding, &args.node)?;
    let name = args.logger.as_deref().map_or_else(|| loggers.main(), |typed| loggers.name(typed));
    let unknown = || CliError::Failed(format!("{} has no logger {name} (see 'runnel log list')", args.node));
    let level = loggers.get(&name)?.ok_or_else(unknown)?.level;
    cli.output.answer(|| shown(&level).into_owned(), || json!(level))
}
