//! The programs of ROS 1 by their own names: a link to this executable called `rostopic` takes the arguments of the
//! original and prints its output.
//!
//! The originals' output differs from that of `runnel` in details that scripts may depend on: the master's order,
//! empty lines, wording, exit codes. So the programs here have their own arguments and their own output, based on the
//! same graph, types and statistics.

mod front;
#[cfg(feature = "bag")]
mod rosbag;
mod roscore;
mod rosmsg;
mod rosnode;
mod rosparam;
mod rosservice;
mod rostopic;

use clap::CommandFactory;

use crate::cli_context::CliContext;
use crate::error::CliError;
use crate::graph::is_within;
use crate::originals::{self, Failure};
use crate::output::{print_error, shown};
use front::Front;

pub use front::Program;

impl Program {
    /// The parser of its arguments.
    pub fn command(self) -> clap::Command {
        let command = match self {
            Self::Rostopic => rostopic::Cli::command(),
            Self::Rosnode => rosnode::Cli::command(),
            Self::Rosservice => rosservice::Cli::command(),
            Self::Rosparam => rosparam::Cli::command(),
            Self::Rosmsg => rosmsg::Cli::command().name("rosmsg").about(rosmsg::ABOUT_MESSAGES),
            Self::Rossrv => rosmsg::Cli::command().name("rossrv").about(rosmsg::ABOUT_SERVICES),
            Self::Roscore => roscore::Args::command_of(roscore::Logs::Collected),
            Self::Rosmaster => roscore::Args::command_of(roscore::Logs::Ignored),
            #[cfg(feature = "bag")]
            Self::Rosbag => rosbag::Cli::command(),
        };
        originals::as_originals_parse(command)
    }

    fn run(self, front: &Front) -> Result<(), Failure> {
        let cli = &front.cli;
        match self {
            Self::Rostopic => rostopic::run(front.parsed()?, cli),
            Self::Rosnode => rosnode::run(front.parsed()?, cli),
            Self::Rosservice => rosservice::run(front.parsed()?, cli),
            Self::Rosparam => rosparam::run(front.parsed()?, cli),
            Self::Rosmsg => rosmsg::run(front.parsed()?, rosmsg::Mode::Messages, cli),
            Self::Rossrv => rosmsg::run(front.parsed()?, rosmsg::Mode::Services, cli),
            Self::Roscore => roscore::run(&front.parsed()?, cli, roscore::Logs::Collected),
            Self::Rosmaster => roscore::run(&front.parsed()?, cli, roscore::Logs::Ignored),
            #[cfg(feature = "bag")]
            Self::Rosbag => rosbag::run(front.parsed()?, cli),
        }
    }
}

/// The program that a command line calls, by the name of a link or as `runnel ros1 NAME`, and its arguments.
pub fn called(words: &[String]) -> Option<(Program, Vec<String>)> {
    originals::called(words, "ros1", Program::of_name)
}

/// Runs a program with the arguments after its name. Returns its exit code.
pub fn run(program: Program, words: Vec<String>) -> u8 {
    let done = Front::new(program, words).and_then(|front| program.run(&front));
    let failed = |failure: Failure| failure.report(program.name(), "ERROR: ", program.failure_code());
    done.map_or_else(failed, |()| 0)
}

/// Prints as `'\n'.join(..)` does: an empty line if there are none.
fn print_joined<T: AsRef<str>>(cli: &CliContext, lines: &[T]) -> Result<(), CliError> {
    let lines: Vec<_> = lines.iter().map(|line| shown(line.as_ref())).collect();
    cli.output.paragraph(&lines.join("\n"))
}

/// Whether a name is the typed one or below it; with a slash at its end only below it.
fn lies_in(cli: &CliContext, typed: &str) -> impl Fn(&str) -> bool {
    let place = cli.absolute(typed);
    let itself = place == "/" || !typed.ends_with('/');
    move |name| is_within(name, &place) && (itself || name != place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn program_is_called_by_link_or_after_ros1() {
        let called = |line: &str| {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            called(&words).map(|(program, words)| (program, words.join(" ")))
        };
        assert_eq!(called("rostopic list -v"), Some((Program::Rostopic, "list -v".into())));
        assert_eq!(called("/usr/bin/rosmsg"), Some((Program::Rosmsg, String::new())));
        assert_eq!(called("./links/roscore -p 1"), Some((Program::Roscore, "-p 1".into())));
        assert_eq!(called("runnel ros1 rosnode list"), Some((Program::Rosnode, "list".into())));
        for line in
            ["runnel", "/opt/rostopic/runnel list", "rostopic.sh", "runnel ros1 link x", "runnel rosnode"]
        {
            assert_eq!(called(line), None, "{line}");
        }
    }

    #[test]
    fn every_command_line_is_sound() {
        for program in Program::ALL.iter().copied() {
            program.command().debug_assert();
            assert_eq!(program.command().get_name(), program.name());
        }
    }
}
