//! `ros2 daemon`: there is none, and scripts that stop it go on.

use clap::Subcommand;

use super::Failure;
use crate::cli_context::CliContext;

/// Control the daemon; there is none here: each command looks at the graph itself
#[derive(Clone, Copy, Debug, Subcommand)]
pub enum Command {
    /// Print that no daemon runs
    Status,
    /// Start no daemon
    Start,
    /// Stop no daemon
    Stop,
}

pub fn run(command: &Command, cli: &CliContext) -> Result<(), Failure> {
    let text = match command {
        Command::Start => "No daemon is needed: each command looks at the graph itself",
        Command::Status | Command::Stop => "The daemon is not running",
    };
    Ok(cli.output.line(text)?)
}
