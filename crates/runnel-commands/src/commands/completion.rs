//! `runnel completion`

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap_complete::env::{CompleteEnv, Shells};

use crate::error::CliError;

/// The variable by which a shell's script requests completions.
const VARIABLE: &str = "RUNNEL_COMPLETE";

/// Print the script for shell completion, with live topics and nodes
///
/// For instance: source <(runnel completion bash). With --program ros2 for the link of that name.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The shell
    #[arg(value_parser = ["bash", "zsh", "fish", "elvish", "powershell"])]
    shell: String,

    /// The program whose arguments are completed; ros2 is a link to this program
    #[arg(long, value_parser = ["runnel", "ros2"], default_value = "runnel")]
    program: String,
}

pub fn run(args: &Args) -> Result<(), CliError> {
    let shells = Shells::builtins();
    let unknown = || CliError::Usage(format!("no completion for {}", args.shell));
    let shell = shells.completer(&args.shell).ok_or_else(unknown)?;
    let program = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("runnel"));
    let mut script = Vec::new();
    let (name, completer) = (&args.program, program.to_string_lossy());
    shell.write_registration(VARIABLE, name, name, &completer, &mut script)?;
    io::stdout().lock().write_all(&script)?;
    Ok(())
}

/// The completion that a shell requests through the environment, of the program that this creates.
pub fn environment(factory: fn() -> clap::Command) -> CompleteEnv<'static, fn() -> clap::Command> {
    CompleteEnv::with_factory(factory).var(VARIABLE)
}

/// The program in the shell's line, by its name: the line stands after `--`.
pub fn program_in(line: &[OsString]) -> Option<&str> {
    let word = line.iter().skip_while(|word| *word != "--").nth(1)?;
    Path::new(word).file_name()?.to_str()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn completed_program_stands_after_two_hyphens() {
        let program = |line: &str| {
            let line: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            program_in(&line).map(str::to_owned)
        };
        assert_eq!(program("/bin/runnel -- ros2 topic"), Some("ros2".into()));
        assert_eq!(program("/bin/runnel -- /usr/bin/ros2"), Some("ros2".into()));
        assert_eq!(program("/bin/runnel -- runnel topic"), Some("runnel".into()));
        assert_eq!(program("/bin/runnel topic ros2"), None);
    }
}
