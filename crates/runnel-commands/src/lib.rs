//! The `runnel` command: what `rostopic`, `rosnode`, `rosmsg`, `roscore` and their `ros2` counterparts do, in one
//! program that needs no ROS.
#![forbid(unsafe_code)]

mod arguments;
mod child;
mod commands;
mod completion;
mod error;
mod graph;
mod graphs;
mod logging;
mod output;
mod ros1;
mod session;
mod streaming;
mod types;

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
    completion::environment().complete();
    let words = match arguments::of_process() {
        Ok(words) => words,
        Err(error) => return error.report(),
    };
    if let Some((program, words)) = ros1::called(&words) {
        return ros1::run(program, words).into();
    }
    run(words).map_or_else(CliError::report, |()| ExitCode::SUCCESS)
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
    let mut matches = commands::command().try_get_matches_from(&arguments.own)?;
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
