//! `runnel log list`

use serde_json::{Value as Json, json};

use super::loggers::Loggers;
use crate::cli_context::CliContext;
use crate::completion;
use crate::error::CliError;
use crate::graphs::Finding;
use crate::output::lines;

/// List the loggers of a node with their levels
///
/// ROS 2 nodes do not list loggers: only that of the node is shown.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The node
    #[arg(add = completion::nodes())]
    node: String,

    #[command(flatten)]
    finding: Finding,
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), CliError> {
    let loggers = Loggers::of(cli, &args.finding, &args.node)?.list()?;
    let text = || lines(loggers.iter().map(|logger| format!("{} {}", logger.name, logger.level)));
    let json = || {
        loggers.iter().map(|logger| json!({ "name": logger.name, "level": logger.level })).collect::<Json>()
    };
    cli.output.answer(text, json)
}
