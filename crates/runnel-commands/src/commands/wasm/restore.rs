//! `runnel wasm restore`.

use std::path::PathBuf;

use clap::ValueHint;
use runnel::{Context, ContextOptions};
use runnel_wasm::{Checkpoint, Guest};

use super::run::{self as run_command, Running, run_guest};
use crate::cli_context::CliContext;
use crate::error::CliError;

/// Run a node on from a checkpoint, until it ends or Ctrl-C
///
/// It is in the graphs in which it was, with the ROS arguments that it had. Further ones are added: NAME:=OTHER,
/// __master:=URI.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The checkpoint
    #[arg(value_hint = ValueHint::FilePath)]
    file: PathBuf,

    /// The node: the module from which it ran, or a file that was compiled from it [default: where it was]
    #[arg(value_hint = ValueHint::FilePath)]
    node: Option<PathBuf>,

    #[command(flatten)]
    running: Running,
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), CliError> {
    let checkpoint = Checkpoint::read(&args.file).map_err(CliError::failed)?;
    let node = args.node.clone().unwrap_or_else(|| checkpoint.program().into());
    if !node.exists() {
        return Err(CliError::failed(format!(
            "{}: it does not exist, and it is the node of the checkpoint. Try: runnel wasm restore {} NODE.wasm",
            node.display(),
            args.file.display()
        )));
    }
    let program = args.running.load(&node, false)?;
    let process = std::env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned());
    let ros_arguments = [checkpoint.ros_arguments().to_vec(), process.collect()].concat();
    let options = ContextOptions::default().arguments(ros_arguments.clone()).graphs(checkpoint.graphs());
    let context = Context::with_options(options)?;
    let ros_arguments = run_command::ros_arguments(ros_arguments, &context);
    let options = args.running.options(&node, Vec::new(), ros_arguments, cli)?;
    let guest = Guest::restore(&program, checkpoint, context, options).map_err(CliError::failed)?;
    run_guest(guest)
}
