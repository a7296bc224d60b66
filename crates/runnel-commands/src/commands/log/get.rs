//! `runnel log get`

use serde_json::json;

use super::loggers;
use crate::cli_context::CliContext;
use crate::completion;
use crate::error::CliError;
use crate::output::shown;

/// Print the level of a logger
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The node
    #[arg(add = completion::ros1_nodes())]
    node: String,

    /// The logger
    #[arg(default_value = "ros")]
    logger: String,
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), CliError> {
    let context = cli.query_context()?;
    let node = cli.resolve(&args.node)?;
    let loggers = loggers(&cli.node(&context, "log")?, &node)?;
    let found = loggers.into_iter().find(|logger| logger.name == args.logger);
    let unknown =
        || CliError::Failed(format!("{node} has no logger {} (see 'runnel log list')", args.logger));
    let level = found.ok_or_else(unknown)?.level;
    cli.output.answer(|| shown(&level).into_owned(), || json!(level))
}
