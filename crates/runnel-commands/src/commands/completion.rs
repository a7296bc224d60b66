//! `runnel completion`

use std::io::{self, Write};
use std::path::PathBuf;

use clap_complete::env::Shells;

use crate::completion::VARIABLE;
use crate::error::CliError;

/// Print the script that teaches a shell to complete this command, with live topics and nodes
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
