//! The `runnel` command: `rostopic`, `rosnode`, `rosmsg`, `roscore` and their `ros2` counterparts in one program that
//! needs no ROS.
#![forbid(unsafe_code)]

mod actions;
mod arguments;
#[cfg(feature = "bag")]
mod bag;
mod bridge_rules;
#[cfg(any(feature = "bench", feature = "demo"))]
mod child;
mod commands;
mod completion;
mod error;
mod graph;
mod graphs;
mod interfaces;
mod learned_types;
// Only the demo draws on the terminal and buffers log lines meanwhile.
mod cli_context;
mod log_once;
#[cfg_attr(not(feature = "demo"), allow(dead_code))]
mod logging;
mod master;
mod measure;
mod messages;
mod nodes;
mod originals;
mod output;
mod params;
mod python_yaml;
mod received_types;
mod ros1;
mod ros2;
mod ros2_program;
mod services;
mod similar;
mod streaming;
mod types;
mod value_parsers;

#[cfg(test)]
mod help_tests;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches};

use arguments::Arguments;
use cli_context::CliContext;
use commands::{Cli, Ros1Only};
use error::CliError;
use originals::{Original, advise_as};

/// Runs the command of the process's arguments. Returns the exit code.
pub fn main() -> ExitCode {
    // If a shell requests completions, this prints them and exits.
    commands::completion::environment(completed_command()).complete();
    let words = match arguments::of_process() {
        Ok(words) => words,
        Err(error) => return report(error),
    };
    if let Some((program, rest)) = ros1::called(&words) {
        advise_as(Original::Ros1(program.name()), &words);
        return ros1::run(program, rest).into();
    }
    if let Some(rest) = ros2_program::called(&words) {
        advise_as(Original::Ros2, &words);
        return ros2_program::run(&rest).into();
    }
    run(words).map_or_else(report, |()| ExitCode::SUCCESS)
}

/// The parser of the program whose arguments a shell completes.
fn completed_command() -> fn() -> clap::Command {
    let line: Vec<_> = std::env::args_os().collect();
    match commands::completion::program_in(&line) {
        Some("ros2") => ros2_program::command,
        _ => commands::command,
    }
}

/// Prints why a command failed. Returns the exit code.
fn report(error: CliError) -> ExitCode {
    let (code, text) = match error {
        CliError::ClosedPipe => return ExitCode::SUCCESS,
        CliError::Answered => return ExitCode::FAILURE,
        CliError::Parser(error) => {
            // If standard error is closed, nothing can be reported.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
        CliError::Usage(text) => (2, text),
        CliError::Failed(text) => (1, text),
    };
    output::print_error(&format!("error: {text}"));
    ExitCode::from(code)
}

/// Every command as a user types it, such as `topic echo` or `ros1 rostopic echo`, including hidden ones, for tests
/// that must cover all.
#[doc(hidden)]
pub fn command_paths() -> Vec<String> {
    let mut paths = Vec::new();
    add_paths(&commands::command(), "", &mut paths);
    for program in ros1::Program::ALL.iter().copied() {
        add_paths(&program.command(), &format!("ros1 {}", program.name()), &mut paths);
    }
    add_paths(&ros2_program::own_command(), "ros2", &mut paths);
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
    let ros1_only = Ros1Only::typed(&matches);
    let parsed =
        Cli::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut Cli::command()))?;
    logging::install(parsed.verbose.saturating_add(inner_verbose));
    let cli = CliContext::new(arguments, parsed.json, parsed.interfaces)?;
    let command = || commands::run(parsed.command, &cli);
    match ros1_only {
        Some(typed) => typed.run(&cli, command),
        None => command(),
    }
}
