//! The programs of ROS 1 by their own names: a link to this executable called `rostopic` takes what the original of
//! that name takes, and prints what that prints.
//!
//! What the originals print differs from what `runnel` prints in small things that scripts may hang on: the master's
//! order, empty lines, wording, exit codes. So the programs here have their own arguments and their own print, over
//! the same graph, types and statistics.

mod failure;
mod front;
mod link;
mod roscore;
mod rosmsg;
mod rosnode;
mod rosparam;
mod rosservice;
mod rostopic;

use std::path::Path;

use clap::CommandFactory;

use crate::error::CliError;
use crate::graph::is_within;
use crate::output::{shown, tell};
use crate::session::Session;
use failure::Failure;
use front::Front;

pub use front::Program;
pub use link::link;

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
            Self::Roscore => roscore::Args::command_of(roscore::Logs::Gathered),
            Self::Rosmaster => roscore::Args::command_of(roscore::Logs::Left),
        };
        front::as_originals_parse(command)
    }

    fn carry_out(self, front: &Front) -> Result<(), Failure> {
        let session = &front.session;
        match self {
            Self::Rostopic => rostopic::run(front.parsed()?, session),
            Self::Rosnode => rosnode::run(front.parsed()?, session),
            Self::Rosservice => rosservice::run(front.parsed()?, session),
            Self::Rosparam => rosparam::run(front.parsed()?, session),
            Self::Rosmsg => rosmsg::run(front.parsed()?, rosmsg::Mode::Messages, session),
            Self::Rossrv => rosmsg::run(front.parsed()?, rosmsg::Mode::Services, session),
            Self::Roscore => roscore::run(&front.parsed()?, session, roscore::Logs::Gathered),
            Self::Rosmaster => roscore::run(&front.parsed()?, session, roscore::Logs::Left),
        }
    }
}

/// The program that a command line calls, by a link's name or as `runnel ros1 NAME`, and the words that are for it.
pub fn called(words: &[String]) -> Option<(Program, Vec<String>)> {
    let (path, rest) = words.split_first()?;
    let by_link = Path::new(path).file_name().and_then(|name| Program::of_name(name.to_str()?));
    if let Some(program) = by_link {
        return Some((program, rest.to_vec()));
    }
    let (name, rest) = rest.strip_prefix(&["ros1".to_owned()])?.split_first()?;
    Some((Program::of_name(name)?, rest.to_vec()))
}

/// Runs a program with the words that stand behind its name, to its end; gives its exit code.
pub fn run(program: Program, words: Vec<String>) -> u8 {
    let done = Front::new(program, words).and_then(|front| program.carry_out(&front));
    done.map_or_else(|failure| failure.report(program), |()| 0)
}

/// Prints as `'\n'.join(..)` does: an empty line where there is nothing.
fn print_joined<T: AsRef<str>>(session: &Session, lines: &[T]) -> Result<(), CliError> {
    let lines: Vec<_> = lines.iter().map(|line| shown(line.as_ref())).collect();
    session.output.paragraph(&lines.join("\n"))
}

/// Whether a name is the one that was typed or lies below it; behind a slash it must lie below.
fn lies_in(session: &Session, typed: &str) -> impl Fn(&str) -> bool {
    let place = session.absolute(typed);
    let itself = place == "/" || !typed.ends_with('/');
    move |name| is_within(name, &place) && (itself || name != place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_called_by_its_link_or_behind_ros1() {
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
        for program in Program::ALL {
            program.command().debug_assert();
            assert_eq!(program.command().get_name(), program.name());
        }
    }
}
