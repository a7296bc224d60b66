//! `runnel log list`

use serde_json::{Value as Json, json};

use super::loggers;
use crate::cli_context::CliContext;
use crate::completion;
use crate::error::CliError;
use crate::output::lines;

/// List the loggers of a node with their levels
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The node
    #[arg(add = completion::ros1_nodes())]
    node: String,
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), CliError> {
    let context = cli.query_context()?;
    let loggers = loggers(&cli.node(&context, "log")?, &cli.resolve(&args.node)?)?;
    let text = || lines(loggers.iter().map(|logger| format!("{} {}", logger.name, logger.level)));
    let json = || {
        loggers.iter().map(|logger| json!({ "name": logger.name, "level": logger.level })).collect::<Json>()
    };
    cli.output.answer(text, json)
}
