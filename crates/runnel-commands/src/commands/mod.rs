//! The commands: one file each, an `Args` whose comments are the help, and `run`.

mod action;
#[cfg(feature = "bench")]
mod bench;
mod bridge;
pub mod completion;
#[cfg(feature = "demo")]
mod demo;
mod doctor;
mod event_echo;
pub mod interface;
mod lifecycle;
#[cfg(feature = "demo")]
mod line_trace;
mod log;
mod master;
#[cfg(feature = "wasm")]
mod migrate;
pub mod node;
mod param;
#[cfg(feature = "wasm")]
mod place;
mod ros1;
mod ros1_only;
mod ros2;
mod service;
mod tf;
pub mod topic;
pub mod unknown;
#[cfg(feature = "wasm")]
mod wasm;

use std::path::PathBuf;

use clap::{Arg, ArgAction, ArgMatches, CommandFactory, Parser, Subcommand};
pub use ros1_only::Ros1Only;

#[cfg(feature = "bag")]
use crate::bag;
use crate::cli_context::CliContext;
use crate::error::CliError;

/// Maximum width of help, in columns.
const WIDTH: usize = 80;

/// Heading of options that all commands take.
const GLOBAL: &str = "Global options";

/// Inspect and run ROS 1 and ROS 2 nodes, topics and messages, with no ROS installed
///
/// ROS 1 uses the master of ROS_MASTER_URI, by default http://localhost:11311. ROS 2 uses the domain of
/// ROS_DOMAIN_ID, by default 0. ROS arguments may stand anywhere: NAME:=OTHER, __ns:=/robot,
/// __master:=http://robot:11311, --ros-args -r NAME:=OTHER.
#[derive(Debug, Parser)]
#[command(name = "runnel", version, after_help = EXIT_CODES)]
pub struct Cli {
    /// Print JSON: one value, or one per line for a stream
    #[arg(long, global = true, help_heading = GLOBAL)]
    pub json: bool,

    /// Also read message definitions below this folder (may be repeated)
    #[arg(long, global = true, help_heading = GLOBAL, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub interfaces: Vec<PathBuf>,

    /// Log more: -v info, -vv debug, -vvv everything (also RUNNEL_LOG=info, ..)
    #[arg(short, long, action = ArgAction::Count)]
    pub verbose: u8,

    #[command(subcommand)]
    pub command: Command,
}

const EXIT_CODES: &str = "Exit codes: 0 success, or a running command ended by Ctrl-C; 1 failure, or no graph found to list; 2 wrong usage.";

#[derive(Debug, Subcommand)]
pub enum Command {
    #[cfg(feature = "demo")]
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
    #[command(subcommand)]
    Lifecycle(lifecycle::Command),
    #[command(subcommand)]
    Tf(tf::Command),
    Log(log::Args),
    #[cfg(feature = "bag")]
    #[command(subcommand)]
    Bag(bag::Command),
    Bridge(bridge::Args),
    Doctor(doctor::Args),
    #[command(subcommand, visible_alias = "msg")]
    Interface(interface::Command),
    #[cfg(feature = "wasm")]
    #[command(subcommand)]
    Wasm(wasm::Command),
    #[cfg(feature = "wasm")]
    Migrate(migrate::Args),
    #[cfg(feature = "wasm")]
    Place(place::Args),
    #[command(subcommand)]
    Ros1(ros1::Command),
    #[command(subcommand)]
    Ros2(ros2::Command),
    #[cfg(feature = "bench")]
    Bench(bench::Args),
    Completion(completion::Args),
    #[cfg(feature = "demo")]
    #[command(hide = true)]
    LineTrace(line_trace::Args),
    #[cfg(feature = "bench")]
    #[command(hide = true)]
    BenchPeer(runnel_bench_ends::Args),
}

/// Id of the flag below.
const INNER_VERBOSE: &str = "inner_verbose";

/// The parser of the command line.
pub fn command() -> clap::Command {
    ros1_only::with_flags(Cli::command().max_term_width(WIDTH).mut_subcommands(with_verbose))
}

/// Accepts `-v` also after a group, `runnel topic -v list`, and after a command that has no `-v` of its own.
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

/// Runs a command.
///
/// # Errors
/// When it fails; the error says what the user can do.
pub fn run(command: Command, cli: &CliContext) -> Result<(), CliError> {
    match command {
        #[cfg(feature = "demo")]
        Command::Demo(args) => demo::run(&args, cli),
        #[cfg(feature = "demo")]
        Command::LineTrace(args) => line_trace::run(&args),
        Command::Master(args) => master::run(args, cli),
        Command::Topic(command) => topic::run(command, cli),
        Command::Node(command) => node::run(command, cli),
        Command::Service(command) => service::run(command, cli),
        Command::Action(command) => action::run(command, cli),
        Command::Param(command) => param::run(command, cli),
        Command::Lifecycle(command) => lifecycle::run(command, cli),
        Command::Tf(command) => tf::run(command, cli),
        #[cfg(feature = "bag")]
        Command::Bag(command) => bag::run(command, cli),
        #[cfg(feature = "wasm")]
        Command::Wasm(command) => wasm::run(&command, cli),
        #[cfg(feature = "wasm")]
        Command::Migrate(args) => migrate::run(&args, cli),
        #[cfg(feature = "wasm")]
        Command::Place(args) => place::run(&args, cli),
        Command::Bridge(args) => bridge::run(args, cli),
        Command::Doctor(args) => doctor::run(&args, cli),
        Command::Log(args) => log::run(args, cli),
        Command::Interface(command) => interface::run(command, cli),
        Command::Ros1(command) => ros1::run(&command, cli),
        Command::Ros2(command) => ros2::run(&command, cli),
        #[cfg(feature = "bench")]
        Command::Bench(args) => bench::run(&args, cli),
        #[cfg(feature = "bench")]
        Command::BenchPeer(args) => runnel_bench_ends::run(&args).map_err(CliError::failed),
        Command::Completion(args) => completion::run(&args),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verbose_flag_is_accepted_after_group_and_command() {
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
