//! Groups that are commands of `runnel`, with the arguments that this program gives them: they use only ROS 2, and name
//! a node and its parameter separately, as the original does.

use clap::builder::Resettable;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command};

use super::help::of_ros2;
use crate::commands;

/// The groups. Those that do not exist are left out.
const GROUPS: [&str; 5] = ["service", "action", "param", "lifecycle", "doctor"];

/// The flag that restricts a command to ROS 2. It is implied.
const ROS2: &str = "ros2";

/// The flag that restricts a command to ROS 1. It does not exist here.
const ROS1: &str = "ros1";

/// The option of all commands that look at the graph.
const NO_DAEMON: &str = "no_daemon";

/// Arguments of parameter commands that are optional only in ROS 1.
const REQUIRED: [(&str, &str); 5] = [
    ("get", "of_node"),
    ("set", "value_of_node"),
    ("load", "namespace"),
    ("dump", "file"),
    ("delete", "names"),
];

/// The parsers of the groups.
pub fn groups() -> Vec<Command> {
    let whole = commands::command();
    let found = GROUPS.iter().filter_map(|name| whole.find_subcommand(name).cloned());
    found.map(only_in_ros2).map(with_required_arguments).map(of_ros2).collect()
}

fn only_in_ros2(command: Command) -> Command {
    let restricted = |arg: Arg| match arg.get_id().as_str() {
        ROS2 => arg.hide(true).default_value("true"),
        ROS1 => arg.hide(true),
        _ => arg,
    };
    let command = with_sim_time(command.mut_args(restricted).mut_subcommands(only_in_ros2));
    if command.get_name() == "doctor" { command.visible_alias("wtf") } else { command }
}

/// A command that looks at the graph, with the option for simulated time. As in topics, it has no effect here.
fn with_sim_time(command: Command) -> Command {
    let looks_at_graph = command.get_arguments().any(|arg| arg.get_id() == NO_DAEMON);
    if !looks_at_graph || command.get_arguments().any(|arg| arg.get_short() == Some('s')) {
        return command;
    }
    let action = ArgAction::SetTrue;
    command.arg(Arg::new("use_sim_time").short('s').long("use-sim-time").action(action).hide(true))
}

fn with_required_arguments(group: Command) -> Command {
    if group.get_name() != "param" {
        return group;
    }
    REQUIRED.into_iter().fold(group, |group, (command, name)| {
        // Unlike mut_arg, mut_args keeps the order.
        let required = |arg: Arg| if arg.get_id() == name { required(name, arg) } else { arg };
        group.mut_subcommand(command, |command| command.mut_args(required))
    })
}

fn required(name: &str, arg: Arg) -> Arg {
    let arg = arg.required(true).default_value(Resettable::Reset);
    // A node and one parameter of it.
    if name == "names" { arg.value_names(["NODE", "NAME"]).num_args(2) } else { arg }
}

/// The flag for ROS 1, if it was typed.
pub fn ros1_flag(matches: &ArgMatches) -> Option<&'static str> {
    let is_typed = matches.ids().any(|id| id.as_str() == ROS1)
        && matches.value_source(ROS1) == Some(ValueSource::CommandLine);
    match matches.subcommand() {
        Some((_, inner)) if !is_typed => ros1_flag(inner),
        _ => is_typed.then_some("--ros1"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether the flag is implied by this command and by each below it, with the name of the command.
    fn defaults(command: &Command) -> Vec<(String, bool)> {
        let own = command.get_arguments().find(|arg| arg.get_id() == ROS2);
        let own = own.map(|arg| (command.get_name().to_owned(), arg.get_default_values() == ["true"]));
        own.into_iter().chain(command.get_subcommands().flat_map(defaults)).collect()
    }

    #[test]
    fn ros_2_flag_is_implied_by_every_command() {
        let all: Vec<_> = groups().iter().flat_map(defaults).collect();
        assert!(all.len() > 15 && all.iter().all(|(_, is_implied)| *is_implied), "{all:?}");
    }
}
