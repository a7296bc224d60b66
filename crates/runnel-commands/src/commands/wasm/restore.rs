//! `runnel wasm restore`.

use std::env;
use std::path::PathBuf;

use clap::ValueHint;
use runnel::{Context, ContextOptions};
use runnel_wasm::{Checkpoint, Guest};

use super::ros_arguments::RosArguments;
use super::run::{self as run_command, Running, run_guest};
use crate::cli_context::CliContext;
use crate::error::CliError;

/// Run a node on from a checkpoint, until it ends or Ctrl-C
///
/// It is in the graphs in which it was, with the names and parameters that its ROS arguments gave it. Further arguments are
/// added: NAME:=OTHER, __master:=URI.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The checkpoint
    #[arg(value_hint = ValueHint::FilePath)]
    file: PathBuf,

    /// The node: the module from which it ran, or a file that was compiled from it
    #[arg(value_hint = ValueHint::FilePath)]
    node: PathBuf,

    #[command(flatten)]
    running: Running,

    /// Leave out the ROS arguments with which the node ran
    #[arg(long)]
    no_ros_arguments: bool,
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), CliError> {
    let checkpoint = Checkpoint::read(&args.file).map_err(CliError::failed)?;
    let program = args.running.load(&args.node, false)?;
    let kept = if args.no_ros_arguments { &[] } else { checkpoint.ros_arguments() };
    let kept = RosArguments::of_checkpoint(kept);
    if !kept.is_empty() {
        cli.output.note(&format!("ROS arguments of the checkpoint: {kept}"));
    }
    let process = env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned());
    let ros_arguments = kept.before(process.collect());
    let options = ContextOptions::default().arguments(ros_arguments.clone()).graphs(checkpoint.graphs());
    let context = Context::with_options(options)?;
    let ros_arguments = run_command::ros_arguments(ros_arguments, &context);
    let options = args.running.options(&args.node, Vec::new(), ros_arguments, cli)?;
    let guest = Guest::restore(&program, checkpoint, context, options).map_err(CliError::failed)?;
    run_guest(guest)
}
