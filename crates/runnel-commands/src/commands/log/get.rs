//! `runnel log get`

use serde_json::json;

use super::loggers;
use crate::completion;
use crate::error::CliError;
use crate::output::shown;
use crate::session::Session;

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

pub fn run(args: &Args, session: &Session) -> Result<(), CliError> {
    let context = session.asking()?;
    let node = session.resolve(&args.node)?;
    let loggers = loggers(&session.node(&context, "log")?, &node)?;
    let found = loggers.into_iter().find(|logger| logger.name == args.logger);
    let unknown =
        || CliError::Failed(format!("{node} has no logger {} (see 'runnel log list')", args.logger));
    let level = found.ok_or_else(unknown)?.level;
    session.output.answer(|| shown(&level).into_owned(), || json!(level))
}
