//! Commands of ROS that Runnel does not have, and commands that this program was built without, and what to type instead.

use clap::error::{ContextKind, ContextValue};

use crate::error::CliError;
use crate::ros1::Program;
use crate::similar::is_misspelt;

/// The error of a command line that the parser refuses; with advice if it begins with a command of ROS.
pub fn explained(error: clap::Error) -> CliError {
    let word = match error.get(ContextKind::InvalidSubcommand) {
        Some(ContextValue::String(word)) => word.clone(),
        _ => return error.into(),
    };
    let word = word.as_str();
    let at_top =
        || is_at_top(&error).then(|| not_built(word).or_else(|| subcommand_instead_of(word))).flatten();
    let advice = instead_of(word).or_else(at_top);
    advice.map_or_else(|| with_similar_commands(error, word).into(), CliError::Usage)
}

/// The error with only those of the parser's suggestions that may have been meant: it also suggests `bench` for `lunch`.
fn with_similar_commands(mut error: clap::Error, word: &str) -> clap::Error {
    if let Some(ContextValue::Strings(mut known)) = error.remove(ContextKind::SuggestedSubcommand) {
        known.retain(|known| is_misspelt(word, known));
        if !known.is_empty() {
            error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(known));
        } else if matches!(error.get(ContextKind::Suggested), Some(ContextValue::StyledStrs(tips)) if tips.is_empty())
        {
            // It would be printed as an empty line.
            error.remove(ContextKind::Suggested);
        }
    }
    error
}

/// True if the word stands directly behind `runnel`.
fn is_at_top(error: &clap::Error) -> bool {
    let usage = error.get(ContextKind::Usage).map(ToString::to_string);
    usage.is_some_and(|usage| usage.contains("runnel [OPTIONS]"))
}

/// How to install a command that has the name of its feature. Where it is built in, the parser knows it.
fn not_built(word: &str) -> Option<String> {
    matches!(word, "bag" | "bench" | "demo").then(|| {
        format!(
            "runnel was installed without '{word}'. Try, in Runnel's source folder: \
             cargo install --path crates/runnel-cli --features {word}"
        )
    })
}

/// Advice for the second word of a command of ROS, such as `echo` of `rostopic echo`.
fn subcommand_instead_of(word: &str) -> Option<String> {
    let whole = match word {
        "pub" | "echo" | "hz" | "bw" | "delay" => "topic",
        "call" => "service",
        "send_goal" => "action",
        "ping" | "kill" | "cleanup" => "node",
        "get" | "set" | "load" | "dump" => "param",
        "show" | "md5" => "interface",
        "view_frames" | "view-frames" => "tf",
        "record" | "play" | "reindex" => "bag",
        _ => return None,
    };
    Some(format!("'{word}' is not a runnel command. Try: runnel {whole} {word}"))
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
        "tf2" | "tf2_ros" | "tf2_tools" => {
            "Runnel has the commands of tf2 as runnel tf. Try: runnel tf echo map base_link"
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
        refused_by(commands::command(), line)
    }

    fn refused_by(command: clap::Command, line: &str) -> String {
        let words = ["runnel"].into_iter().chain(line.split(' '));
        explained(command.try_get_matches_from(words).expect_err("no such command")).to_string()
    }

    #[test]
    fn command_that_is_not_built_in_names_its_feature() {
        let smaller =
            clap::Command::new("runnel").arg(clap::arg!(--json)).subcommand(clap::Command::new("topic"));
        for line in ["demo --ros2", "demo --help", "bench", "bag record -a"] {
            let word = line.split(' ').next().unwrap_or_default();
            let expected = format!("--features {word}");
            let refused = refused_by(smaller.clone(), line);
            assert!(refused.ends_with(&expected), "{line}: {refused}");
        }
        assert!(!refused("topic demo").contains("installed without"), "it is no command of this name");
    }

    #[test]
    fn ros_commands_lead_to_runnel_commands() {
        assert!(refused("launch a b.py").starts_with("'launch': Runnel has no launch files. Try: "));
        assert_eq!(refused("rostopic list"), "'rostopic' is not a runnel command. Try: runnel ros1 rostopic");
        assert_eq!(refused("play a.bag"), "'play' is not a runnel command. Try: runnel bag play");
        assert!(refused("tf2_ros tf2_echo a b").contains("Try: runnel tf echo map base_link"));
        assert_eq!(refused("pub /a std_msgs/String"), "'pub' is not a runnel command. Try: runnel topic pub");
        assert!(!refused("service hz /a").contains("Try:"), "only directly behind runnel");
        assert!(refused("topci list").contains("unrecognized subcommand 'topci'"));
        assert!(refused("topci list").contains("'topic'"), "a similar command is suggested");
    }

    #[test]
    fn another_word_than_a_command_gets_no_suggestion() {
        let refused = refused("lunch a b.py");
        assert!(refused.contains("unrecognized subcommand 'lunch'"), "{refused}");
        assert!(!refused.contains("similar") && !refused.contains("bench"), "{refused}");
        assert!(!refused.contains("\n\n\n"), "{refused}");
    }
}
