//! Commands of ROS that Runnel does not have, and what to type instead.

use clap::error::{ContextKind, ContextValue};

use crate::error::CliError;
use crate::ros1::Program;

/// The error of a command line that the parser refuses; with advice if it begins with a command of ROS.
pub fn explained(error: clap::Error) -> CliError {
    let word = match error.get(ContextKind::InvalidSubcommand) {
        Some(ContextValue::String(word)) => word.as_str(),
        _ => return error.into(),
    };
    instead_of(word).map_or_else(|| error.into(), CliError::Usage)
}

fn instead_of(word: &str) -> Option<String> {
    if Program::ALL.iter().any(|program| program.name() == word) {
        return Some(format!("'{word}' is not a runnel command. Try: runnel ros1 {word}"));
    }
    let why = match word {
        "launch" | "roslaunch" => {
            "Runnel has no launch files. Try: a script that starts each node; roslaunch and ros2 launch can start Runnel nodes \
                 like any other program"
        }
        "bag" | "rosbag" => {
            "Runnel cannot read bags yet; 'runnel demo --record FILE' writes one. Try: rosbag info, rosbag play"
        }
        "run" | "rosrun" | "pkg" => "Runnel has no packages: a node is a program. Try: start it by its path",
        "daemon" => "Runnel has no daemon: each command looks at the graph itself. Try: runnel node list",
        _ => return None,
    };
    Some(format!("'{word}': {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands;

    fn refused(line: &str) -> String {
        let words = ["runnel"].into_iter().chain(line.split(' '));
        explained(commands::command().try_get_matches_from(words).expect_err("no such command")).to_string()
    }

    #[test]
    fn ros_commands_lead_to_runnel_commands() {
        assert!(refused("launch a b.py").starts_with("'launch': Runnel has no launch files. Try: "));
        assert_eq!(refused("rostopic list"), "'rostopic' is not a runnel command. Try: runnel ros1 rostopic");
        assert!(refused("bag info a.bag").contains("rosbag info"));
        assert!(refused("topci list").contains("unrecognized subcommand 'topci'"));
    }
}
