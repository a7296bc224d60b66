//! `runnel wasm`: nodes that are compiled to WebAssembly.

mod certificate;
mod checkpoint;
mod compiler;
pub mod control;
mod jit;
mod private_folder;
mod restore;
mod ros_arguments;
mod run;
mod serve;
mod trust;

use clap::Subcommand;
pub use serve::PORT;

use crate::cli_context::CliContext;
use crate::error::CliError;

/// Run nodes that are compiled to WebAssembly, and keep them in files while they run
#[derive(Debug, Subcommand)]
pub enum Command {
    Run(run::Args),
    Compile(compiler::Args),
    Checkpoint(checkpoint::Args),
    Restore(restore::Args),
    Serve(serve::Args),
    Certificate(certificate::Args),
    Trust(trust::Args),
}

/// Runs a command.
///
/// # Errors
/// Why it failed.
pub fn run(command: &Command, cli: &CliContext) -> Result<(), CliError> {
    match command {
        Command::Run(args) => run::run(args, cli),
        Command::Compile(args) => compiler::run(args),
        Command::Checkpoint(args) => checkpoint::run(args, cli),
        Command::Restore(args) => restore::run(args, cli),
        Command::Serve(args) => serve::run(args, cli),
        Command::Certificate(_) => certificate::run(cli),
        Command::Trust(args) => trust::run(args, cli),
    }
}
