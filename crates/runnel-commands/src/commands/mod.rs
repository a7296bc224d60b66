//! The commands: one file each, an `Args` whose comments are the help, and `run`.

mod action;
#[cfg(feature = "bench")]
mod bench;
#[cfg(not(feature = "bench"))]
#[path = "absent/bench.rs"]
mod bench;
pub mod completion;
#[cfg(feature = "demo")]
mod demo;
#[cfg(not(feature = "demo"))]
#[path = "absent/demo.rs"]
mod demo;
mod doctor;
mod interface;
#[cfg(feature = "demo")]
mod line_trace;
mod log;
mod master;
mod node;
mod of_ros1;
mod param;
mod ros1;
mod service;
mod topic;
pub mod unknown;

use std::path::PathBuf;

use clap::{Arg, ArgAction, ArgMatches, CommandFactory, Parser, Subcommand};
pub use of_ros1::OfRos1;

use crate::error::CliError;
use crate::session::Session;

/// How wide help is printed at most, in columns.
const WIDTH: usize = 80;

/// What options are listed under that all commands take.
const GLOBAL: &str = "Global options";

/// Nodes, topics and messages of ROS, with no ROS installed.
///
/// The master is the one that ROS_MASTER_URI names, or http://localhost:11311; of ROS 2 it is the domain of ROS_DOMAIN_ID, or
/// 0. ROS arguments may stand anywhere: NAME:=OTHER, __ns:=/robot, __master:=http://robot:11311, --ros-args -r NAME:=OTHER.
#[derive(Debug, Parser)]
#[command(name = "runnel", version, after_help = EXIT_CODES)]
pub struct Cli {
    /// Answer in JSON: one value, or for a stream one a line
    #[arg(long, global = true, help_heading = GLOBAL)]
    pub json: bool,

    /// Also look for message definitions below this folder (may be given again)
    #[arg(long, global = true, help_heading = GLOBAL, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub interfaces: Vec<PathBuf>,

    /// Log more: -v info, -vv debug, -vvv everything (also RUNNEL_LOG=info, ..)
    #[arg(short, long, action = ArgAction::Count)]
    pub verbose: u8,

    #[command(subcommand)]
    pub command: Command,
}

const EXIT_CODES: &str = "Exit codes: 0 done, or ended by Ctrl-C where a command runs until then, 1 it could not be done, or no graph is there to list, 2 wrong usage.";

#[derive(Debug, Subcommand)]
pub enum Command {
    Demo(demo::Args),
    Master(master::Args),
    #[command(subcommand)]
    Topic(topic::Command),
    #[command(subcommand)]
    Node(node::Command),
    #[command(subcommand)]
    Service(service::Command),
    #[command(subcommand)]
    Action(action::Command),
    #[command(subcommand)]
    Param(param::Command),
    Log(log::Args),
    Doctor(doctor::Args),
    #[command(subcommand, visible_alias = "msg")]
    Interface(interface::Command),
    #[command(subcommand)]
    Ros1(ros1::Command),
    Bench(bench::Args),
    Completion(completion::Args),
    #[cfg(feature = "demo")]
    #[command(hide = true)]
    LineTrace(line_trace::Args),
    #[cfg(feature = "bench")]
    #[command(hide = true)]
    BenchPeer(runnel_bench_ends::Args),
}

/// The name of the flag below.
const INNER_VERBOSE: &str = "inner_verbose";

/// The parser of the command line.
pub fn command() -> clap::Command {
    of_ros1::with_flags(Cli::command().max_term_width(WIDTH).mut_subcommands(with_verbose))
}

/// The flag that asks for more of the log may also stand behind a group, `runnel topic -v list`, and behind a command that
/// has no such flag of its own.
fn with_verbose(inner: clap::Command) -> clap::Command {
    let inner = inner.mut_subcommands(with_verbose);
    let own = |arg: &Arg| arg.get_short() == Some('v') || arg.get_long() == Some("verbose");
    if inner.get_arguments().any(own) {
        return inner;
    }
    inner.arg(Arg::new(INNER_VERBOSE).short('v').long("verbose").action(ArgAction::Count).hide(true))
}

/// How often that flag was given.
pub fn inner_verbose(matches: &ArgMatches) -> u8 {
    let Some((_, inner)) = matches.subcommand() else { return 0 };
    let count = inner.try_get_one::<u8>(INNER_VERBOSE).ok().flatten();
    count.copied().unwrap_or_default().saturating_add(inner_verbose(inner))
}

/// Carries out a command.
///
/// # Errors
/// When it cannot be done; the error says what the user can do.
pub fn run(command: Command, session: &Session) -> Result<(), CliError> {
    match command {
        Command::Demo(args) => demo::run(&args, session),
        #[cfg(feature = "demo")]
        Command::LineTrace(args) => line_trace::run(&args),
        Command::Master(args) => master::run(args, session),
        Command::Topic(command) => topic::run(command, session),
        Command::Node(command) => node::run(command, session),
        Command::Service(command) => service::run(command, session),
        Command::Action(command) => action::run(command, session),
        Command::Param(command) => param::run(command, session),
        Command::Doctor(args) => doctor::run(&args, session),
        Command::Log(args) => log::run(args, session),
        Command::Interface(command) => interface::run(command, session),
        Command::Ros1(command) => ros1::run(&command, session),
        Command::Bench(args) => bench::run(&args, session),
        #[cfg(feature = "bench")]
        Command::BenchPeer(args) => runnel_bench_ends::run(&args).map_err(CliError::failed),
        Command::Completion(args) => completion::run(&args),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flag_for_the_log_may_stand_behind_a_group_and_a_command() {
        let given = |line: &str| {
            let matches = command().try_get_matches_from(line.split(' ')).expect("a good line");
            matches.get_count("verbose") + inner_verbose(&matches)
        };
        assert_eq!(given("runnel topic -v list"), 1);
        assert_eq!(given("runnel -v topic -vv list -v"), 3);
        assert_eq!(given("runnel node list"), 0);
        assert_eq!(given("runnel -v node list -vv"), 3);
        assert_eq!(given("runnel topic echo /x --verbose --once"), 1);
        assert_eq!(given("runnel master"), 0);
    }
}
