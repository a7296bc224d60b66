//! Help of groups that are commands of `runnel`, without what concerns only ROS 1.

use clap::builder::{Resettable, StyledStr};
use clap::{Arg, Command};

/// Words of sentences that do not concern a user of ros2.
const OF_OTHERS: [&str; 5] = ["ROS 1", "runnel", "master", "rosservice", "rosparam"];

/// Beginnings of clauses about ROS 1.
const CLAUSES: [&str; 4] = [", or in ROS 1 ", "; in ROS 1 ", ", in ROS 1 ", ", or the ROS 1 "];

/// Examples as a user of ros2 types them, by group and command.
const EXAMPLES: [(&str, &str, &str); 3] = [
    (
        "service",
        "call",
        "\
Examples:
  ros2 service call /motor_power std_srvs/srv/SetBool '{data: true}'
  ros2 service call /set_mode robot_interfaces/srv/SetMode '{mode: 2}' --timeout 5",
    ),
    (
        "action",
        "send_goal",
        "\
Examples:
  ros2 action send_goal /fibonacci example_interfaces/action/Fibonacci '{order: 5}' --feedback",
    ),
    (
        "param",
        "set",
        "\
Examples:
  ros2 param set /robot speed 0.5
  ros2 param set /robot offset -- -1",
    ),
];

/// A group with the help of ros2.
pub fn of_ros2(group: Command) -> Command {
    let name = group.get_name().to_owned();
    let group = texts_of_ros2(group);
    EXAMPLES.iter().filter(|(of, ..)| *of == name).fold(group, |group, (_, command, examples)| {
        group.mut_subcommand(command, |command| command.after_long_help(*examples))
    })
}

fn texts_of_ros2(command: Command) -> Command {
    let (about, long_about) = (of_user(command.get_about()), of_user(command.get_long_about()));
    let command = command.about(about).long_about(long_about);
    let command = command.after_help(None::<&str>).after_long_help(None::<&str>);
    command.mut_args(arg_of_ros2).mut_subcommands(texts_of_ros2)
}

fn arg_of_ros2(arg: Arg) -> Arg {
    let (help, long_help) = (of_user(arg.get_help()), of_user(arg.get_long_help()));
    let is_of_ros1 = arg.get_help().is_some() && matches!(help, Resettable::Reset);
    let arg = arg.help(help).long_help(long_help);
    if is_of_ros1 { arg.hide(true) } else { arg }
}

/// A text as it concerns a user of ros2.
fn of_user(text: Option<&StyledStr>) -> Resettable<StyledStr> {
    let text = text.and_then(|text| without_ros1(&text.to_string()));
    text.map_or(Resettable::Reset, |text| Resettable::Value(text.into()))
}

/// A text without its clauses and sentences about ROS 1; `None` if nothing is left.
fn without_ros1(text: &str) -> Option<String> {
    let paragraphs = text.split("\n\n").map(|paragraph| {
        let sentences = paragraph.split_inclusive(". ").map(without_clauses);
        let of_ros2 = sentences.filter(|sentence| !OF_OTHERS.iter().any(|word| sentence.contains(word)));
        of_ros2.collect::<String>().trim_end().to_owned()
    });
    let kept = paragraphs.filter(|paragraph| !paragraph.is_empty()).collect::<Vec<_>>().join("\n\n");
    Some(kept).filter(|kept| !kept.is_empty())
}

/// A sentence without its clauses about ROS 1, each up to the next semicolon, and without names of original programs
/// in parentheses at its end.
fn without_clauses(sentence: &str) -> String {
    let mut text = sentence.to_owned();
    for clause in CLAUSES {
        if let Some(at) = text.find(clause) {
            let end = text[at + 1..].find(';').map_or(text.len(), |end| at + 1 + end);
            text.replace_range(at..end, "");
        }
    }
    let programs = text.rfind(" (ros").or(text.rfind(" (actionlib"));
    match programs.filter(|_| text.ends_with(')')) {
        Some(at) => text[..at].to_owned(),
        None => text
            .replace("actionlib/TwoInts or actionlib/action/TwoInts", "example_interfaces/action/Fibonacci"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ros2_program::shared::groups;

    fn helps(command: &Command, path: &str) -> Vec<(String, String)> {
        let path = format!("{path} {}", command.get_name());
        let own = (path.clone(), command.clone().render_long_help().to_string());
        let inner = command.get_subcommands().flat_map(|inner| helps(inner, &path));
        std::iter::once(own).chain(inner).collect()
    }

    #[test]
    fn help_of_ros2_speaks_of_ros_2_only() {
        for (path, help) in groups().iter().flat_map(|group| helps(group, "ros2")) {
            for word in OF_OTHERS {
                assert!(!help.contains(word), "{path}: {word} in {help}");
            }
        }
    }

    #[test]
    fn clauses_about_ros_1_are_left_out() {
        for (text, expected) in [
            ("The node, or in ROS 1 the parameter", "The node"),
            ("The node, or in ROS 1 the file; - for standard input", "The node; - for standard input"),
            ("Read and set parameters (rosparam, ros2 param)", "Read and set parameters"),
            ("Print it. In ROS 1 print more. Then end.", "Print it. Then end."),
        ] {
            assert_eq!(without_ros1(text).as_deref(), Some(expected));
        }
        assert_eq!(without_ros1("In ROS 1, only parameters below this name"), None);
    }
}
