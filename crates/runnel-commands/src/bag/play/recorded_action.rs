//! Types of recorded actions.

use std::collections::BTreeSet;
use std::sync::Arc;

use runnel::core::schema::{ActionSchema, Generation, Kind, Library, Schema, TypeName};
use runnel::msgs;
use runnel_bag::Channel;

use super::{played_type, service_events};
use crate::bag::action_topics::{ActionPart, PartOfAction};
use crate::types::Types;

/// The types of a recorded action.
pub struct RecordedAction {
    /// The action.
    pub action: Arc<ActionSchema>,
    /// The events with the requests of its goals.
    pub send_goal: Arc<Schema>,
    /// The events with the requests to cancel them, if they are recorded.
    pub cancel_goal: Option<Arc<Schema>>,
}

impl RecordedAction {
    /// The types of the action to which these channels belong: as they are known here, or as the bag defines them.
    ///
    /// # Errors
    /// Why they are not known.
    pub fn of(channels: &[(ActionPart, &Channel)], types: &Types) -> Result<Self, String> {
        let channel = |wanted: ActionPart| {
            let mut found = channels.iter().filter(|(part, _)| *part == wanted);
            found.next().map(|(_, channel)| *channel)
        };
        let goals = channel(ActionPart::SendGoal).ok_or("the requests of its goals were not recorded")?;
        let name = PartOfAction::of(&goals.topic).and_then(|part| part.action_type(&goals.type_name));
        let name = name.and_then(TypeName::parse);
        let name = name.ok_or_else(|| format!("{} is not the type of its goals", goals.type_name))?;
        let send_goal = service_events::types(goals, types)?.event;
        let goal = part_at(&send_goal, &["request", "goal"]).ok_or("its goals have no definition")?;
        let action = match types.library().action_in(Generation::Ros2, &name) {
            Ok(known) if known.goal.is_laid_out_as(&goal) => known,
            _ => {
                let part = |part: ActionPart, path: &[&str]| {
                    let schema = played_type::schema(channel(part)?, types).ok()?;
                    part_at(&schema, path)
                };
                let result = part(ActionPart::GetResult, &["response", "result"]);
                defined(&name, &goal, [result, part(ActionPart::Feedback, &["feedback"])])?
            }
        };
        let cancel_goal = channel(ActionPart::CancelGoal).map(|channel| played_type::schema(channel, types));
        Ok(Self { action: Arc::new(action), send_goal, cancel_goal: cancel_goal.transpose()? })
    }
}

/// The type of a field, by its path.
fn part_at(schema: &Arc<Schema>, path: &[&str]) -> Option<Arc<Schema>> {
    path.iter().try_fold(Arc::clone(schema), |schema, name| {
        let position = schema.def.fields.iter().position(|field| field.name == *name)?;
        schema.parts.get(position)?.clone()
    })
}

/// The action with this goal, result and feedback. Results and feedback are not read, so they may be unknown.
fn defined(name: &TypeName, goal: &Schema, others: [Option<Arc<Schema>>; 2]) -> Result<ActionSchema, String> {
    // It has what all actions have.
    let mut library = msgs::library();
    let mut added = BTreeSet::new();
    add_parts(&mut library, goal, &mut added);
    let mut text = goal.def.text.clone();
    for part in &others {
        text.push_str("\n---\n");
        if let Some(part) = part {
            add_parts(&mut library, part, &mut added);
            text.push_str(&part.def.text);
        }
    }
    library.add_text(Kind::Action, name.clone(), text, "bag");
    library.action_in(Generation::Ros2, name).map_err(|error| error.to_string())
}

/// Adds the types of which a message is made, each once.
fn add_parts<'a>(library: &mut Library, schema: &'a Schema, added: &mut BTreeSet<&'a TypeName>) {
    for part in schema.parts.iter().flatten() {
        if added.insert(&part.def.name) {
            library.add_text(Kind::Message, part.def.name.clone(), part.def.text.clone(), "bag");
            add_parts(library, part, added);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use runnel_bag::{Encoding, SchemaLanguage};

    const RULE: &str = "================================================================================";

    fn channel(topic: &str, type_name: &str, definition: &str) -> Channel {
        Channel {
            topic: format!("/fly/_action/{topic}"),
            type_name: type_name.to_owned(),
            encoding: Encoding::Cdr,
            schema: runnel_bag::Schema { language: SchemaLanguage::Ros2Msg, data: definition.into() },
            ..Channel::default()
        }
    }

    /// The events of a service with these definitions, as ros2 bag stores them.
    fn events(service: &str, request: &str, response: &str, more: &str) -> String {
        format!(
            "service_msgs/ServiceEventInfo info\n{service}_Request[<=1] request\n{service}_Response[<=1] response\n\
             {RULE}\nMSG: own/action/{service}_Request\n{request}{RULE}\nMSG: own/action/{service}_Response\n{response}\
             {RULE}\nMSG: service_msgs/msg/ServiceEventInfo\nuint8 event_type\nbuiltin_interfaces/Time stamp\n\
             uint8[16] client_gid\nint64 sequence_number\n{more}"
        )
    }

    #[test]
    fn action_is_known_here_or_defined_in_the_bag() {
        let types = Types::new(&[]).expect("no folder to read");
        let goals =
            channel("send_goal/_service_event", "example_interfaces/action/Fibonacci_SendGoal_Event", "");
        let known = RecordedAction::of(&[(ActionPart::SendGoal, &goals)], &types).expect("built in");
        assert_eq!(known.action.ros2_name(), "example_interfaces/action/Fibonacci");
        assert!(known.cancel_goal.is_none());
        let uuid = format!("{RULE}\nMSG: unique_identifier_msgs/msg/UUID\nuint8[16] uuid\n");
        let own = |name: &str, text: &str| format!("{RULE}\nMSG: own/action/{name}\n{text}");
        let send_goal = events(
            "Fly_SendGoal",
            "unique_identifier_msgs/UUID goal_id\nFly_Goal goal\n",
            "bool accepted\nbuiltin_interfaces/Time stamp\n",
            &format!(
                "{uuid}{}{RULE}\nMSG: own/msg/Height\nfloat64 meters\n",
                own("Fly_Goal", "own/Height height\n")
            ),
        );
        let get_result = events(
            "Fly_GetResult",
            "unique_identifier_msgs/UUID goal_id\n",
            "int8 status\nFly_Result result\n",
            &format!("{uuid}{}", own("Fly_Result", "bool landed\n")),
        );
        let feedback = format!(
            "unique_identifier_msgs/UUID goal_id\nFly_Feedback feedback\n{uuid}{}",
            own("Fly_Feedback", "float64 height\n")
        );
        let channels = [
            channel("send_goal/_service_event", "own/action/Fly_SendGoal_Event", &send_goal),
            channel("get_result/_service_event", "own/action/Fly_GetResult_Event", &get_result),
            channel("feedback", "own/action/Fly_FeedbackMessage", &feedback),
        ];
        let parts = [ActionPart::SendGoal, ActionPart::GetResult, ActionPart::Feedback];
        let all: Vec<_> = parts.into_iter().zip(&channels).collect();
        let defined = RecordedAction::of(&all, &types).expect("in the bag").action;
        assert_eq!(defined.goal.def.fields[0].name, "height");
        assert_eq!(defined.result.def.fields[0].name, "landed");
        assert_eq!(defined.feedback.def.ros2_name, "own/action/Fly_Feedback");
        let feedback = played_type::schema(&channels[2], &types).expect("in the bag");
        let height = feedback.parts[1].as_ref().expect("a message");
        let names = [&feedback, height].map(|schema| schema.def.ros2_name.as_str());
        assert_eq!(names, ["own/action/Fly_FeedbackMessage", "own/action/Fly_Feedback"]);
        let without = RecordedAction::of(&all[..1], &types).expect("the goals are defined").action;
        assert!(without.goal == defined.goal && without.result.def.fields != defined.result.def.fields);
        let why = RecordedAction::of(&all[1..], &types).err().expect("no goals");
        assert!(why.contains("requests of its goals"), "{why}");
    }
}
