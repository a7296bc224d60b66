//! Commands for ROS 1 only, and their errors and notes for users of ROS 2. The doctor is one of them for its flags: it
//! checks both graphs.

use std::time::Duration;

use clap::{Arg, ArgAction, ArgMatches};

use crate::cli_context::CliContext;
use crate::error::CliError;
use crate::graph::Graph;
use crate::graphs::DiscoveredRos2;
use crate::output;

/// The commands, each with its text for ROS 2.
const COMMANDS: [(&[&str], &str); 4] = [
    (DOCTOR, "the doctor checks both graphs"),
    (&["node", "ping"], "ROS 2 nodes cannot be pinged"),
    (&["node", "kill"], "ROS 2 nodes cannot be shut down by a command"),
    (&["node", "cleanup"], "ROS 2 has no registrations to clean up"),
];

const DOCTOR: &[&str] = &["doctor"];

/// What to type in place of `--ros2`.
const FOR_ROS1: &str = "without --ros2, for ROS 1";
const FOR_ROS2: &str = "runnel ros2 doctor, for ROS 2 only";

/// Ids of the flags that restrict other commands to one graph. Here they are accepted too, hidden from help.
const ROS1: &str = "only_ros1";
const ROS2: &str = "only_ros2";

/// How long the master may take to answer after a command has failed.
const MASTER_TIMEOUT: Duration = Duration::from_secs(1);

/// Such a command as it was typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ros1Only {
    /// Its text for ROS 2.
    not_supported: &'static str,
    /// What to type in place of `--ros2`.
    advice: &'static str,
    /// Whether failures are explained: not with `--ros1`, nor for the doctor, which does so itself.
    explains: bool,
    ros2: bool,
}

/// Adds the hidden flags to those commands.
pub fn with_flags(whole: clap::Command) -> clap::Command {
    flagged_subcommands(whole, &[])
}

fn flagged_subcommands(command: clap::Command, path: &[String]) -> clap::Command {
    command.mut_subcommands(|inner| {
        let path = [path, &[inner.get_name().to_owned()]].concat();
        let is_one = COMMANDS.iter().any(|(of, _)| path[..] == **of);
        if is_one { flagged(inner) } else { flagged_subcommands(inner, &path) }
    })
}

fn flagged(command: clap::Command) -> clap::Command {
    let flag =
        |id: &'static str, long: &'static str| Arg::new(id).long(long).action(ArgAction::SetTrue).hide(true);
    let command = command.mut_subcommands(flagged);
    command.arg(flag(ROS1, "ros1").conflicts_with(ROS2)).arg(flag(ROS2, "ros2"))
}

impl Ros1Only {
    /// The command, if the typed one is for ROS 1 only.
    pub fn typed(matches: &ArgMatches) -> Option<Self> {
        let mut levels = Vec::new();
        let mut level = matches;
        while let Some((name, inner)) = level.subcommand() {
            levels.push((name, inner));
            level = inner;
        }
        let begins = |path: &[&str]| {
            path.len() <= levels.len() && path.iter().zip(&levels).all(|(word, (name, _))| word == name)
        };
        let (path, not_supported) = COMMANDS.into_iter().find(|(path, _)| begins(path))?;
        let given = |flag: &str| {
            levels.iter().any(|(_, level)| level.try_get_one(flag).ok().flatten() == Some(&true))
        };
        let explains = !given(ROS1) && path != DOCTOR;
        let advice = if path == DOCTOR { FOR_ROS2 } else { FOR_ROS1 };
        Some(Self { not_supported, advice, explains, ros2: given(ROS2) })
    }

    /// Runs the command. If it fails for lack of a master, the error says so and names the ROS 2 participants. If it
    /// finds nothing although a master runs, a note mentions ROS 2 participants.
    ///
    /// # Errors
    /// Those of the command; with `--ros2` always.
    pub fn run(
        self,
        cli: &CliContext,
        command: impl FnOnce() -> Result<(), CliError>,
    ) -> Result<(), CliError> {
        if self.ros2 {
            return Err(CliError::Failed(format!("{}. Try: {}", self.not_supported, self.advice)));
        }
        if !self.explains {
            return command();
        }
        match command() {
            Ok(()) if output::was_empty() => {
                self.note_participants(cli, |_| true);
                Ok(())
            }
            Err(CliError::Failed(why)) if !output::was_found() => {
                Err(CliError::Failed(self.explained(cli, why)))
            }
            result => result,
        }
    }

    /// Notes that ROS 2 participants exist, if there are any and the note is wanted. With `--json` there is no note,
    /// and nothing is listened to.
    fn note_participants(self, cli: &CliContext, is_wanted: impl FnOnce(&DiscoveredRos2) -> bool) {
        let discovered = (!cli.output.json).then(|| DiscoveredRos2::in_ros2(cli, Duration::ZERO)).flatten();
        let is_noted = |discovered: &DiscoveredRos2| !discovered.is_empty() && is_wanted(discovered);
        if let Some(discovered) = discovered.filter(is_noted) {
            cli.output.note(&format!(
                "{}: only ROS 1 was searched ({})",
                self.not_supported,
                discovered.text()
            ));
        }
    }

    /// The text of a failure. If no master answers, it says so and names the ROS 2 participants.
    fn explained(self, cli: &CliContext, failure: String) -> String {
        let Some(why) = why_no_master(cli) else {
            self.note_participants(cli, |discovered| discovered.is_named_in(&failure));
            return failure;
        };
        if !needs_master(cli, &failure) {
            return failure;
        }
        match DiscoveredRos2::in_ros2(cli, Duration::ZERO) {
            None => failure,
            Some(discovered) if discovered.is_empty() => format!("{why}, and {}", discovered.text()),
            Some(discovered) => format!("{} ({}), and {why}", self.not_supported, discovered.text()),
        }
    }
}

/// Whether a failure comes from a missing master, and not from a file or a type.
fn needs_master(cli: &CliContext, failure: &str) -> bool {
    let uri = cli.master_uri().map(|uri| uri.to_string()).unwrap_or_default();
    failure.contains("master") || failure.contains(&uri)
}

/// Why no master answers, if none does.
fn why_no_master(cli: &CliContext) -> Option<String> {
    let context = cli.query_context().ok()?;
    Some(Graph::within(&context, MASTER_TIMEOUT).check_master().err()?.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands;

    fn typed(line: &str) -> Option<Ros1Only> {
        let words = ["runnel"].into_iter().chain(line.split(' '));
        Ros1Only::typed(&commands::command().try_get_matches_from(words).expect("a good line"))
    }

    #[test]
    fn ros_1_commands_accept_graph_flags() {
        for line in ["doctor", "node kill /a", "node ping /a"] {
            let plain = typed(line).expect("it is for ROS 1 only");
            assert_eq!((plain.explains, plain.ros2), (line != "doctor", false), "{line}");
            assert!(!typed(&format!("{line} --ros1")).expect("the same").explains, "{line}");
            assert!(typed(&format!("{line} --ros2")).expect("the same").ros2, "{line}");
        }
        for line in [
            "topic list --ros2",
            "service list --ros1",
            "action list --ros2",
            "log --ros2",
            "log list /a --ros1",
            "param get /a",
            "node list",
            "node info /a",
            "interface list",
            "master",
        ] {
            assert_eq!(typed(line), None, "{line}");
        }
    }
}
