//! Commands that serve ROS 1 alone so far, and what they say to people who are in ROS 2.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use clap::{Arg, ArgAction, ArgMatches};

use crate::error::CliError;
use crate::graph::Graph;
use crate::graphs::Heard;
use crate::output;
use crate::session::Session;

/// The commands, each with what it does not do in ROS 2.
const COMMANDS: [(&[&str], &str); 8] = [
    (&["service"], "services of ROS 2 are not served yet"),
    (&["action"], "actions of ROS 2 are not served yet"),
    (&["param"], "parameters of ROS 2 are not served yet"),
    (&["log"], "logs of ROS 2 are not served yet but by 'runnel topic echo /rosout'"),
    (DOCTOR, "the doctor looks at both graphs, and at ROS 2 only for pairs that do not match"),
    (&["node", "ping"], "nodes of ROS 2 cannot be pinged"),
    (&["node", "kill"], "nodes of ROS 2 cannot be told to end"),
    (&["node", "cleanup"], "in ROS 2 there is no list to clean up"),
];

const DOCTOR: &[&str] = &["doctor"];

/// The one that goes on for ever unless a word follows; one that waits for a server, and another that does so with this flag.
const FOLLOWS: &str = "log";
const SENDS_GOALS: [&str; 2] = ["action", "send_goal"];
const WAITS: &str = "wait";

/// The flags that narrow other commands to one generation. Here they are understood, too, and no help shows them.
const ROS1: &str = "only_ros1";
const ROS2: &str = "only_ros2";

/// How long a master may take to say that it is there, after something has failed.
const PATIENCE: Duration = Duration::from_secs(1);

/// Such a command as it was typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OfRos1 {
    /// What it does not do in ROS 2.
    not_served: &'static str,
    /// Whether what it fails with is looked into: not if the user is in ROS 1, nor for the doctor, who does so himself.
    explains: bool,
    /// It may go on for ever, and finds nothing at the end of it.
    goes_on: bool,
    ros2: bool,
}

/// Has those commands understand the flags.
pub fn with_flags(whole: clap::Command) -> clap::Command {
    below(whole, &[])
}

fn below(command: clap::Command, path: &[String]) -> clap::Command {
    command.mut_subcommands(|inner| {
        let path = [path, &[inner.get_name().to_owned()]].concat();
        let is_one = COMMANDS.iter().any(|(of, _)| path[..] == **of);
        if is_one { flagged(inner) } else { below(inner, &path) }
    })
}

fn flagged(command: clap::Command) -> clap::Command {
    let flag =
        |id: &'static str, long: &'static str| Arg::new(id).long(long).action(ArgAction::SetTrue).hide(true);
    let command = command.mut_subcommands(flagged);
    command.arg(flag(ROS1, "ros1").conflicts_with(ROS2)).arg(flag(ROS2, "ros2"))
}

impl OfRos1 {
    /// Such a command, if it is one that was typed.
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
        let (path, not_served) = COMMANDS.into_iter().find(|(path, _)| begins(path))?;
        let given = |flag: &str| {
            levels.iter().any(|(_, level)| level.try_get_one(flag).ok().flatten() == Some(&true))
        };
        let explains = !given(ROS1) && path != DOCTOR;
        let goes_on = matches!(levels[..], [(FOLLOWS, _)]) || begins(&SENDS_GOALS) || given(WAITS);
        Some(Self { not_served, explains, goes_on, ros2: given(ROS2) })
    }

    /// Runs the command. Where that fails for want of a master, the error says so, and who of ROS 2 is there instead. Where
    /// a master is and nothing is found, a line says that somebody of ROS 2 is there, too, if so it is.
    ///
    /// # Errors
    /// Those of the command; and at once if the user asks for ROS 2.
    pub fn run(
        self,
        session: &Session,
        command: impl FnOnce() -> Result<(), CliError>,
    ) -> Result<(), CliError> {
        if self.ros2 {
            return Err(CliError::Failed(format!("{}: nothing was looked at", self.not_served)));
        }
        if !self.explains {
            return command();
        }
        let (result, told) =
            if self.goes_on { self.tell_meanwhile(session, command) } else { (command(), false) };
        let told = told || output::was_found();
        match result {
            Ok(()) if !told && output::was_empty() => {
                self.tell_beside_master(session, |_| true);
                Ok(())
            }
            Err(CliError::Failed(why)) if !told => Err(CliError::Failed(self.explained(session, why))),
            result => result,
        }
    }

    /// Runs the command, and tells of ROS 2 while it goes on; also gives whether there was something to tell.
    fn tell_meanwhile(
        self,
        session: &Session,
        command: impl FnOnce() -> Result<(), CliError>,
    ) -> (Result<(), CliError>, bool) {
        let goes_on = AtomicBool::new(true);
        thread::scope(|scope| {
            let look = scope.spawn(|| {
                let is_waiting = |_: &Heard| goes_on.load(Ordering::Relaxed);
                why_no_master(session).is_none() && self.tell_beside_master(session, is_waiting)
            });
            let result = command();
            goes_on.store(false, Ordering::Relaxed);
            (result, look.join().unwrap_or_default())
        })
    }

    /// Notes that there are participants in ROS 2; false if there are none, or that is not wanted then. Programs are not told, so
    /// nothing is listened to for them.
    fn tell_beside_master(self, session: &Session, is_wanted: impl FnOnce(&Heard) -> bool) -> bool {
        let heard = (!session.output.json).then(|| Heard::in_ros2(session, Duration::ZERO)).flatten();
        let Some(heard) = heard.filter(|heard| !heard.nobody() && !output::was_found()) else { return false };
        if !is_wanted(&heard) {
            return false;
        }
        session.output.note(&format!("{}: only ROS 1 is looked at ({})", self.not_served, heard.text()));
        true
    }

    /// The text of a failure: that no master answers, and which participants are in ROS 2, if that is why.
    fn explained(self, session: &Session, failure: String) -> String {
        let Some(why) = why_no_master(session) else {
            self.tell_beside_master(session, |heard| heard.is_named_in(&failure));
            return failure;
        };
        if !needs_master(session, &failure) {
            return failure;
        }
        match Heard::in_ros2(session, Duration::ZERO) {
            None => failure,
            Some(heard) if heard.nobody() => format!("{why}, and {}", heard.text()),
            Some(heard) => format!("{} ({}), and {why}", self.not_served, heard.text()),
        }
    }
}

/// Whether a failure comes from a master that does not answer, and not from a file or a type.
fn needs_master(session: &Session, failure: &str) -> bool {
    let uri = session.master_uri().map(|uri| uri.to_string()).unwrap_or_default();
    failure.contains("master") || failure.contains(&uri)
}

/// Why no master answers, if none does.
fn why_no_master(session: &Session) -> Option<String> {
    let context = session.asking().ok()?;
    Some(Graph::within(&context, PATIENCE).check_master().err()?.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands;

    fn typed(line: &str) -> Option<OfRos1> {
        let words = ["runnel"].into_iter().chain(line.split(' '));
        OfRos1::typed(&commands::command().try_get_matches_from(words).expect("a good line"))
    }

    #[test]
    fn commands_of_ros_1_alone_understand_for_which_generation_they_are_meant() {
        for line in
            ["service list", "param get /a", "action list", "log", "log list /a", "doctor", "node kill /a"]
        {
            let plain = typed(line).expect("it serves ROS 1 alone");
            assert_eq!((plain.explains, plain.ros2), (line != "doctor", false), "{line}");
            assert!(!typed(&format!("{line} --ros1")).expect("the same").explains, "{line}");
            assert!(typed(&format!("{line} --ros2")).expect("the same").ros2, "{line}");
        }
        assert!(typed("service --ros2 list").expect("the same").ros2);
        for (line, goes_on) in [
            ("log", true),
            ("log list /a", false),
            ("service call --wait /a", true),
            ("service call /a", false),
            ("action send_goal /a a/B", true),
            ("action list", false),
        ] {
            assert_eq!(typed(line).expect("the same").goes_on, goes_on, "{line}");
        }
        for line in ["topic list --ros2", "node list", "node info /a", "interface list", "master"] {
            assert_eq!(typed(line), None, "{line}");
        }
    }
}
