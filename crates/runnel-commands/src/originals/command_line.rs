//! Command lines in advice, as the user of the called program types them: `ros2 node list` for the user of the link
//! `ros2`, `rosnode list` for the user of `rostopic`.

use std::fmt;
use std::sync::OnceLock;

use super::{Original, called_by_link};

/// The program in whose words advice is given; `runnel` if it is not set.
static CALLED: OnceLock<Called> = OnceLock::new();

/// An original program, as it was called.
struct Called {
    original: Original,
    /// By a link with its name, otherwise as `runnel ros2` or `runnel ros1 rostopic`.
    is_link: bool,
}

/// A command that advice names, by its spellings after the name of each program.
#[derive(Clone, Copy, Debug)]
pub struct CommandLine {
    runnel: &'static str,
    /// After `ros2`, if it exists there.
    ros2: Option<&'static str>,
    /// In ROS 1 with the name of the program, if there is one.
    ros1: Option<&'static str>,
}

pub const ACTION_LIST: CommandLine = in_ros2("action list", None);
pub const DOCTOR: CommandLine = in_ros2("doctor", None);
pub const INTERFACE_PACKAGES: CommandLine = in_ros2("interface packages", Some("rosmsg packages"));
pub const INTERFACE_SHOW: CommandLine = in_ros2("interface show", Some("rosmsg show"));
pub const LIFECYCLE_NODES: CommandLine = in_ros2("lifecycle nodes", None);
pub const MASTER: CommandLine = CommandLine { runnel: "master", ros2: None, ros1: Some("roscore") };
pub const NODE_LIST: CommandLine = in_ros2("node list", Some("rosnode list"));
pub const PARAM_LIST: CommandLine = in_ros2("param list", Some("rosparam list"));
pub const SERVICE_LIST: CommandLine = in_ros2("service list", Some("rosservice list"));
pub const TOPIC_INFO: CommandLine = in_ros2("topic info", Some("rostopic info"));
pub const TOPIC_LIST: CommandLine = in_ros2("topic list", Some("rostopic list"));

/// The types of a package.
pub const INTERFACE_LIST: CommandLine =
    CommandLine { runnel: "interface list", ros2: Some("interface package"), ros1: Some("rosmsg package") };

/// All of them.
#[cfg(test)]
const ALL: [CommandLine; 12] = [
    ACTION_LIST,
    DOCTOR,
    INTERFACE_LIST,
    INTERFACE_PACKAGES,
    INTERFACE_SHOW,
    LIFECYCLE_NODES,
    MASTER,
    NODE_LIST,
    PARAM_LIST,
    SERVICE_LIST,
    TOPIC_INFO,
    TOPIC_LIST,
];

/// A command that `ros2` spells as `runnel` does.
const fn in_ros2(runnel: &'static str, ros1: Option<&'static str>) -> CommandLine {
    CommandLine { runnel, ros2: Some(runnel), ros1 }
}

/// Advice of this process names the commands of an original, which this command line calls.
pub fn advise_as(original: Original, words: &[String]) {
    let is_it = |name: &str| (name == original.name()).then_some(());
    let is_link = called_by_link(words, is_it).is_some();
    // A process is called once.
    let _ = CALLED.set(Called { original, is_link });
}

/// Whether the user calls the program ros2, which knows nothing of ROS 1.
pub fn is_ros2() -> bool {
    CALLED.get().is_some_and(|called| called.original == Original::Ros2)
}

/// How to give definitions of types that are not known here. Programs of ROS 1 have no option for it.
pub fn definitions_advice() -> &'static str {
    match CALLED.get() {
        Some(Called { original: Original::Ros1(_), .. }) => "Try: source the workspace that defines it",
        _ => "Try: source the workspace that defines it, or add --interfaces DIR",
    }
}

impl CommandLine {
    fn spelling(self, called: Option<&Called>) -> String {
        let (line, names_program) = match called.map(|called| called.original) {
            Some(Original::Ros2) => (self.ros2, "ros2 "),
            Some(Original::Ros1(_)) => (self.ros1, ""),
            None => (None, ""),
        };
        let Some(line) = line else { return format!("runnel {}", self.runnel) };
        let of_runnel = match called {
            Some(Called { is_link: true, .. }) => "",
            Some(Called { original: Original::Ros1(_), .. }) => "runnel ros1 ",
            _ => "runnel ",
        };
        format!("{of_runnel}{names_program}{line}")
    }
}

impl fmt::Display for CommandLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.spelling(CALLED.get()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{commands, ros1, ros2_program};

    fn spelling(line: CommandLine, original: Original, is_link: bool) -> String {
        line.spelling(Some(&Called { original, is_link }))
    }

    #[test]
    fn advice_names_commands_of_the_called_program() {
        let rostopic = Original::Ros1("rostopic");
        for (line, original, is_link, expected) in [
            (NODE_LIST, Original::Ros2, true, "ros2 node list"),
            (NODE_LIST, Original::Ros2, false, "runnel ros2 node list"),
            (NODE_LIST, rostopic, true, "rosnode list"),
            (NODE_LIST, rostopic, false, "runnel ros1 rosnode list"),
            (MASTER, Original::Ros2, true, "runnel master"),
            (MASTER, rostopic, true, "roscore"),
            (ACTION_LIST, rostopic, true, "runnel action list"),
        ] {
            assert_eq!(spelling(line, original, is_link), expected);
        }
        assert_eq!(NODE_LIST.spelling(None), "runnel node list");
    }

    /// Whether a parser has the command of these words.
    fn has(command: &clap::Command, words: &str) -> bool {
        let inner = |found: Option<clap::Command>, word| found?.find_subcommand(word).cloned();
        words.split(' ').fold(Some(command.clone()), inner).is_some()
    }

    #[test]
    fn every_advised_command_exists() {
        let (runnel, ros2) = (commands::command(), ros2_program::command());
        for line in ALL {
            assert!(has(&runnel, line.runnel), "runnel {}", line.runnel);
            assert!(line.ros2.is_none_or(|words| has(&ros2, words)), "ros2 {:?}", line.ros2);
            let Some(words) = line.ros1 else { continue };
            let (name, rest) = words.split_once(' ').unwrap_or((words, ""));
            let program = ros1::Program::of_name(name).expect("a program").command();
            assert!(rest.is_empty() || has(&program, rest), "{words}");
        }
    }
}
