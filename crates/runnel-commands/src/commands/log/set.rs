//! `runnel log set`

use runnel::logging::Level;
use runnel::msgs::roscpp::srv::{SetLoggerLevel, SetLoggerLevelRequest};

use super::CALL_TIMEOUT;
use crate::cli_context::CliContext;
use crate::completion;
use crate::error::CliError;

/// Set the level of a logger: less severe lines are not logged
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The node
    #[arg(add = completion::ros1_nodes())]
    node: String,

    /// The logger: ros is the root logger of the node
    logger: String,

    /// debug, info, warn, error or fatal
    level: Level,
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), CliError> {
    let context = cli.query_context()?;
    let service = format!("{}/set_logger_level", cli.resolve(&args.node)?);
    let client = cli.node(&context, "log")?.create_client::<SetLoggerLevel>(&service)?;
    // In lower case, as roscpp and rospy expect it.
    let request =
        SetLoggerLevelRequest { logger: args.logger.clone(), level: args.level.name().to_lowercase() };
    client.call_timeout(&request, CALL_TIMEOUT)?;
    Ok(())
}
