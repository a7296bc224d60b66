//! `runnel completion`

use std::io::{self, Write};
use std::path::PathBuf;

use clap_complete::env::{CompleteEnv, Shells};

use crate::error::CliError;

/// The variable by which a shell's script requests completions.
const VARIABLE: &str = "RUNNEL_COMPLETE";

/// Print the script for shell completion, with live topics and nodes
///
/// For instance: source <(runnel completion bash)
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The shell
    #[arg(value_parser = ["bash", "zsh", "fish", "elvish", "powershell"])]
    shell: String,
}

pub fn run(args: &Args) -> Result<(), CliError> {
    let shells = Shells::builtins();
    let unknown = || CliError::Usage(format!("no completion for {}", args.shell));
    let shell = shells.completer(&args.shell).ok_or_else(unknown)?;
    let program = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("runnel"));
    let mut script = Vec::new();
    shell.write_registration(VARIABLE, "runnel", "runnel", &program.to_string_lossy(), &mut script)?;
    io::stdout().lock().write_all(&script)?;
    Ok(())
}

/// The completion that a shell requests through the environment.
pub fn environment() -> CompleteEnv<'static, fn() -> clap::Command> {
    let factory: fn() -> clap::Command = super::command;
    CompleteEnv::with_factory(factory).var(VARIABLE)
}
