//! The command `ros2` by its own name: a link to this executable called `ros2` takes the arguments of the original and
//! prints its output.
//!
//! Topics, nodes, interfaces and bags have their own arguments and output here, based on the same graph, types and statistics
//! as the commands of `runnel`. Other groups are those commands themselves, restricted to ROS 2.

#[cfg(feature = "bag")]
mod bag;
mod daemon;
mod discovery;
mod front;
mod help;
mod interface;
mod node;
mod not_here;
mod run;
mod shared;
mod topic;

use std::path::PathBuf;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::cli_context::CliContext;
use crate::commands;
use crate::originals::{self, Failure};
use front::Front;

/// The name of the program.
const NAME: &str = "ros2";

/// Inspect and use nodes, topics, services, actions and parameters, like ros2 of ROS 2
#[derive(Debug, Parser)]
#[command(name = NAME)]
struct Cli {
    /// Also read message definitions below this folder (may be repeated)
    #[arg(long, global = true, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    interfaces: Vec<PathBuf>,

    #[command(subcommand)]
    group: Group,
}

#[derive(Debug, Subcommand)]
enum Group {
    Topic(topic::Args),
    Node(node::Args),
    #[command(subcommand)]
    Interface(interface::Command),
    Run(run::Args),
    #[command(subcommand)]
    Daemon(daemon::Command),
    #[cfg(feature = "bag")]
    #[command(subcommand)]
    Bag(bag::Command),
}

/// The parser of all arguments.
pub fn command() -> clap::Command {
    originals::as_originals_parse(own_command().subcommands(shared::groups()))
}

/// The same without the groups that are commands of `runnel`.
pub fn own_command() -> clap::Command {
    originals::as_originals_parse(Cli::command())
}

/// The arguments of a command line that calls this program: by the name of a link, or as `runnel ros2 GROUP`.
pub fn called(words: &[String]) -> Option<Vec<String>> {
    let named = |name: &str| (name == NAME).then_some(());
    if let Some(((), rest)) = originals::called_by_link(words, named) {
        return Some(rest);
    }
    let rest = words.get(1..)?.strip_prefix(&[NAME.to_owned()])?;
    let first = rest.first()?;
    let is_of_runnel = matches!(first.as_str(), "link" | "help") || first.starts_with('-');
    (!is_of_runnel).then(|| rest.to_vec())
}

/// Runs the program with the arguments after its name. Returns its exit code.
pub fn run(words: &[String]) -> u8 {
    let front = Front::new(words);
    let done =
        not_here::check(words).and_then(|()| front.matches()).and_then(|matches| dispatch(matches, words));
    done.map_or_else(|failure| failure.report(&front.path(), "", 1), |()| 0)
}

fn dispatch(mut matches: clap::ArgMatches, words: &[String]) -> Result<(), Failure> {
    let folders = matches.get_many::<PathBuf>("interfaces").into_iter().flatten();
    let cli = front::context(folders.cloned().collect())?;
    if matches.subcommand_name().is_some_and(Group::has_subcommand) {
        let parsed = Cli::from_arg_matches_mut(&mut matches).map_err(Failure::usage)?;
        return run_group(parsed.group, &cli);
    }
    let command = commands::Command::from_arg_matches_mut(&mut matches).map_err(Failure::usage)?;
    log::debug!("as runnel {}", words.join(" "));
    Ok(commands::run(command, &cli)?)
}

fn run_group(group: Group, cli: &CliContext) -> Result<(), Failure> {
    match group {
        Group::Topic(args) => topic::run(args, cli),
        Group::Node(args) => node::run(&args, cli),
        Group::Interface(command) => interface::run(&command, cli),
        Group::Run(args) => run::run(&args),
        Group::Daemon(command) => daemon::run(&command, cli),
        #[cfg(feature = "bag")]
        Group::Bag(command) => bag::run(command, cli),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn program_is_called_by_link_or_after_ros2() {
        let called = |line: &str| called(&words(line)).map(|words| words.join(" "));
        assert_eq!(called("ros2 topic list -t"), Some("topic list -t".into()));
        assert_eq!(called("/usr/bin/ros2"), Some(String::new()));
        assert_eq!(called("runnel ros2 topic list"), Some("topic list".into()));
        for line in
            ["runnel", "runnel ros2", "runnel ros2 link /x", "runnel ros2 --help", "runnel topic list"]
        {
            assert_eq!(called(line), None, "{line}");
        }
    }

    #[test]
    fn command_line_is_sound() {
        command().debug_assert();
    }

    #[test]
    fn groups_of_runnel_are_parsed_as_there() {
        for line in [
            "service list -t",
            "service list -s",
            "param list -s",
            "action list",
            "param list",
            "doctor --report",
            "wtf",
        ] {
            let parsed = command().try_get_matches_from(["ros2".to_owned()].into_iter().chain(words(line)));
            let mut matches = parsed.unwrap_or_else(|error| panic!("{line}: {error}"));
            assert!(commands::Command::from_arg_matches_mut(&mut matches).is_ok(), "{line}");
        }
    }
}
