//! `runnel wasm`: nodes that are compiled to WebAssembly.

mod compiler;
mod jit;
mod run;

use clap::Subcommand;

use crate::cli_context::CliContext;
use crate::error::CliError;

/// Run nodes that are compiled to WebAssembly
#[derive(Debug, Subcommand)]
pub enum Command {
    Run(run::Args),
    Compile(compiler::Args),
}

/// Runs a command.
///
/// # Errors
/// Why it failed.
pub fn run(command: &Command, cli: &CliContext) -> Result<(), CliError> {
    match command {
        Command::Run(args) => run::run(args, cli),
        Command::Compile(args) => compiler::run(args),
    }
}
