//! The `runnel` command: what `rostopic`, `rosnode`, `rosmsg`, `roscore` and their `ros2` counterparts do, in one
//! program that needs no ROS.
#![forbid(unsafe_code)]

mod actions;
mod arguments;
#[cfg(any(feature = "bench", feature = "demo"))]
mod child;
mod commands;
mod completion;
mod error;
mod graph;
mod graphs;
mod interfaces;
// Only the demo draws on the terminal and holds lines back meanwhile.
#[cfg_attr(not(feature = "demo"), allow(dead_code))]
mod logging;
mod master;
mod measure;
mod messages;
mod nodes;
mod output;
mod params;
mod ros1;
mod services;
mod session;
mod similar;
mod streaming;
mod types;
mod value_parsers;

#[cfg(test)]
mod help_tests;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches};

use arguments::Arguments;
use commands::{Cli, OfRos1};
use error::CliError;
use session::Session;

/// Does what the arguments of the process say; gives its exit code.
pub fn main() -> ExitCode {
    // Where a shell asks for completions, this answers and ends the program.
    commands::completion::environment().complete();
    let words = match arguments::of_process() {
        Ok(words) => words,
        Err(error) => return report(error),
    };
    if let Some((program, words)) = ros1::called(&words) {
        return ros1::run(program, words).into();
    }
    run(words).map_or_else(report, |()| ExitCode::SUCCESS)
}

/// Tells the user why a command failed; gives the exit code.
fn report(error: CliError) -> ExitCode {
    let (code, text) = match error {
        CliError::ClosedPipe => return ExitCode::SUCCESS,
        CliError::Answered => return ExitCode::FAILURE,
        CliError::Parser(error) => {
            // If nobody reads, there is nobody to tell.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
        CliError::Usage(text) => (2, text),
        CliError::Failed(text) => (1, text),
    };
    output::tell(&format!("error: {text}"));
    ExitCode::from(code)
}

/// Every command as a user types it, such as `topic echo` or `ros1 rostopic echo`, hidden ones included: for tests that must not
/// forget one.
#[doc(hidden)]
pub fn command_paths() -> Vec<String> {
    let mut paths = Vec::new();
    add_paths(&commands::command(), "", &mut paths);
    for program in ros1::Program::ALL {
        add_paths(&program.command(), &format!("ros1 {}", program.name()), &mut paths);
    }
    paths
}

fn add_paths(command: &clap::Command, path: &str, paths: &mut Vec<String>) {
    if !path.is_empty() && !command.is_subcommand_required_set() {
        paths.push(path.to_owned());
    }
    for inner in command.get_subcommands() {
        add_paths(inner, format!("{path} {}", inner.get_name()).trim_start(), paths);
    }
}

fn run(words: Vec<String>) -> Result<(), CliError> {
    let arguments = Arguments::split(words)?;
    let matches = commands::command().try_get_matches_from(&arguments.own);
    let mut matches = matches.map_err(commands::unknown::explained)?;
    let inner_verbose = commands::inner_verbose(&matches);
    let of_ros1 = OfRos1::typed(&matches);
    let cli = Cli::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut Cli::command()))?;
    logging::install(cli.verbose.saturating_add(inner_verbose));
    let session = Session::new(arguments, cli.json, cli.interfaces)?;
    let command = || commands::run(cli.command, &session);
    match of_ros1 {
        Some(typed) => typed.run(&session, command),
        None => command(),
    }
}
