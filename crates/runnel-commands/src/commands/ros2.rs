//! `runnel ros2`

use std::path::PathBuf;

use clap::Subcommand;

use super::ros1::make_links;
use crate::cli_context::CliContext;
use crate::error::CliError;

/// Run as the command ros2
///
/// 'runnel ros2 topic list' takes the arguments of the original ros2, and prints what it prints. A link to runnel by
/// the name ros2 does the same. Groups: topic, node, service, action, param, interface, lifecycle, doctor, bag, run.
#[derive(Debug, Subcommand)]
pub enum Command {
    Link(LinkArgs),
}

/// Create a link to runnel by the name ros2
#[derive(Debug, clap::Args)]
pub struct LinkArgs {
    /// The folder, which must exist, such as ~/.local/bin
    #[arg(value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    folder: PathBuf,
}

pub fn run(command: &Command, cli: &CliContext) -> Result<(), CliError> {
    let Command::Link(args) = command;
    make_links(&args.folder, &["ros2"], cli)
}
