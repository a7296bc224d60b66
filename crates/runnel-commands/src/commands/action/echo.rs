//! `runnel action echo`

use std::collections::BTreeSet;
use std::sync::Arc;

use runnel::QoS;
use runnel::core::schema::{Generation, Schema};

use super::send_goal::schema;
use crate::actions::Actions;
use crate::cli_context::CliContext;
use crate::commands::event_echo::EchoOptions;
use crate::completion;
use crate::error::CliError;
use crate::originals::command_line::ACTION_LIST;
use crate::ros2::event_schema;
use crate::similar::meant_or_listed;
use crate::types::Types;

/// The parts of an action, with their names below `_action`.
const INTERFACES: [(&str, &str); 5] = [
    ("GOAL_SERVICE", "send_goal/_service_event"),
    ("CANCEL_SERVICE", "cancel_goal/_service_event"),
    ("RESULT_SERVICE", "get_result/_service_event"),
    ("FEEDBACK_TOPIC", "feedback"),
    ("STATUS_TOPIC", "status"),
];

/// Print what a ROS 2 action's servers and clients exchange
///
/// Feedback and status are topics. Goals, cancel requests and results are printed if the server or a client enables
/// service introspection.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The action
    #[arg(add = completion::actions())]
    action: String,

    /// The action type, such as example_interfaces/action/Fibonacci [default: that of the action]
    #[arg(value_name = "TYPE", add = completion::action_types())]
    type_name: Option<String>,

    /// Only these parts, separated by |: GOAL_SERVICE, CANCEL_SERVICE, RESULT_SERVICE, FEEDBACK_TOPIC and STATUS_TOPIC
    #[arg(short = 'i', long, value_name = "PARTS", value_parser = parts)]
    parts: Option<Parts>,

    #[command(flatten)]
    options: EchoOptions,
}

/// The parts to print, by their places in the table above.
#[derive(Clone, Debug)]
struct Parts(BTreeSet<usize>);

fn parts(text: &str) -> Result<Parts, String> {
    let index = |typed: &str| {
        let wanted = typed.trim().to_uppercase();
        let found = INTERFACES.iter().position(|(name, _)| *name == wanted);
        found.ok_or_else(|| format!("\"{}\" is incorrect interface name.", typed.trim()))
    };
    text.split('|').map(index).collect::<Result<_, _>>().map(Parts)
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), CliError> {
    let action = cli.resolve(&args.action)?;
    let mut echo = args.options.open(cli, "action")?;
    let types = cli.types()?;
    let mut actions = Actions::default();
    actions.add_ros2(&echo.graph);
    let announced = actions.0.get(&action).map(|action| action.types()).unwrap_or_default();
    let type_name = args.type_name.as_deref().or(announced.first().copied());
    let unknown = || {
        let hint = meant_or_listed(&action, actions.names(), ACTION_LIST);
        CliError::Failed(format!("no ROS 2 action {action}{hint}"))
    };
    let schemas = schemas(&types, type_name.ok_or_else(unknown)?)?;
    for (index, (schema, (interface, suffix))) in schemas.iter().zip(INTERFACES).enumerate() {
        if args.parts.as_ref().is_none_or(|Parts(wanted)| wanted.contains(&index)) {
            let topic = format!("{action}/_action/{suffix}");
            echo.add(&topic, schema, default_qos(interface), Some(interface))?;
        }
    }
    echo.run()
}

/// The quality of service of a part without options.
fn default_qos(interface: &str) -> QoS {
    match interface {
        "STATUS_TOPIC" => QoS::keep_last(1).transient_local(),
        _ => QoS::services_default(),
    }
}

/// The types of the parts, in the order of the table above.
fn schemas(types: &Types, type_name: &str) -> Result<[Arc<Schema>; 5], CliError> {
    let name = schema(types, Generation::Ros2, type_name)?.name;
    let library = types.library();
    let services = library.action_services_in(Generation::Ros2, &name);
    let [send_goal, get_result] = services.map_err(|error| types.unknown(error))?;
    let cancel_goal = crate::types::type_name("action_msgs/srv/CancelGoal")?;
    let cancel_goal = library.service_in(Generation::Ros2, &cancel_goal);
    let feedback = format!("{}/{}FeedbackMessage", name.package, name.name);
    Ok([
        event_schema(types, &send_goal)?,
        event_schema(types, &cancel_goal.map_err(|error| types.unknown(error))?)?,
        event_schema(types, &get_result)?,
        types.message_in(Generation::Ros2, &feedback)?,
        types.message_in(Generation::Ros2, "action_msgs/msg/GoalStatusArray")?,
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_named_in_any_case() {
        let indexes = |text| parts(text).map(|Parts(indexes)| indexes.into_iter().collect::<Vec<_>>());
        assert_eq!(indexes("status_topic | GOAL_SERVICE"), Ok(vec![0, 4]));
        assert_eq!(indexes("STATUS"), Err("\"STATUS\" is incorrect interface name.".to_owned()));
        assert!(indexes("").is_err());
    }

    #[test]
    fn events_of_actions_have_dds_names() {
        let types = Types::new(&[]).expect("no folder to read");
        let names = schemas(&types, "example_interfaces/action/Fibonacci").expect("built in");
        let names = names.map(|schema| schema.def.dds_name());
        let expected = [
            "example_interfaces::action::dds_::Fibonacci_SendGoal_Event_",
            "action_msgs::srv::dds_::CancelGoal_Event_",
            "example_interfaces::action::dds_::Fibonacci_GetResult_Event_",
            "example_interfaces::action::dds_::Fibonacci_FeedbackMessage_",
            "action_msgs::msg::dds_::GoalStatusArray_",
        ];
        assert_eq!(names, expected);
    }
}
