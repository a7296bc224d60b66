//! `runnel ros1`

use std::path::{Path, PathBuf};

use clap::Subcommand;
use serde_json::Value as Json;

use crate::cli_context::CliContext;
use crate::error::CliError;
use crate::originals;
use crate::output::lines;
use crate::ros1;

/// Run as rostopic, rosnode, rosservice, rosparam, rosmsg, rossrv, rosbag or roscore
///
/// 'runnel ros1 rostopic list' takes the arguments of ROS 1's rostopic, and prints what it prints. So do rosnode,
/// rosservice, rosparam, rosmsg, rossrv, rosbag, roscore and rosmaster. A link to runnel by one of these names does the same.
#[derive(Debug, Subcommand)]
pub enum Command {
    Link(LinkArgs),
}

/// Create links to runnel by the names of these programs
#[derive(Debug, clap::Args)]
pub struct LinkArgs {
    /// The folder, which must exist, such as ~/.local/bin
    #[arg(value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    folder: PathBuf,
}

pub fn run(command: &Command, cli: &CliContext) -> Result<(), CliError> {
    let Command::Link(args) = command;
    let names: Vec<&str> = ros1::Program::ALL.iter().map(|program| program.name()).collect();
    make_links(&args.folder, &names, cli)
}

/// Creates links with these names and prints them, with a note if a shell does not find them.
///
/// # Errors
/// As [`originals::link`].
pub fn make_links(folder: &Path, names: &[&str], cli: &CliContext) -> Result<(), CliError> {
    let links: Vec<String> =
        originals::link(folder, names)?.iter().map(|link| link.display().to_string()).collect();
    if !originals::is_in_path(folder) {
        let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        let folder = folder.display();
        cli.output.note(&format!("{folder} is not in PATH. Try: export PATH={folder}:$PATH"));
    }
    cli.output.answer(|| lines(&links), || links.iter().map(String::as_str).collect::<Json>())
}
