//! `runnel log list`

use serde_json::{Value as Json, json};

use super::loggers;
use crate::completion;
use crate::error::CliError;
use crate::output::lines;
use crate::session::Session;

/// List the loggers of a node with their levels
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The node
    #[arg(add = completion::ros1_nodes())]
    node: String,
}

pub fn run(args: &Args, session: &Session) -> Result<(), CliError> {
    let context = session.asking()?;
    let loggers = loggers(&session.node(&context, "log")?, &session.resolve(&args.node)?)?;
    let text = || lines(loggers.iter().map(|logger| format!("{} {}", logger.name, logger.level)));
    let json = || {
        loggers.iter().map(|logger| json!({ "name": logger.name, "level": logger.level })).collect::<Json>()
    };
    session.output.answer(text, json)
}
