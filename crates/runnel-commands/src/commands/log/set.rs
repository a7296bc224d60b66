//! `runnel log set`

use runnel::logging::Level;
use runnel::msgs::roscpp::srv::{SetLoggerLevel, SetLoggerLevelRequest};

use super::PATIENCE;
use crate::completion;
use crate::error::CliError;
use crate::session::Session;

/// Set the level of a logger: what is less grave is not logged
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The node
    #[arg(add = completion::ros1_nodes())]
    node: String,

    /// The logger: ros is that of the whole node
    logger: String,

    /// debug, info, warn, error or fatal
    level: Level,
}

pub fn run(args: &Args, session: &Session) -> Result<(), CliError> {
    let context = session.asking()?;
    let service = format!("{}/set_logger_level", session.resolve(&args.node)?);
    let client = session.node(&context, "log")?.create_client::<SetLoggerLevel>(&service)?;
    // In lower case, as both originals read it.
    let request =
        SetLoggerLevelRequest { logger: args.logger.clone(), level: args.level.name().to_lowercase() };
    client.call_timeout(&request, PATIENCE)?;
    Ok(())
}
