//! The actions of a graph. The master knows only topics: an action is five topics below one name.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

use crate::error::CliError;
use crate::graph::{Graph, SystemState};

/// The topics of each action, except that of its goals.
const OTHER_TOPICS: [&str; 4] = ["cancel", "status", "feedback", "result"];

/// Suffix of the goal's message type: `ActionGoal` behind the name of the action type.
const GOAL_SUFFIX: &str = "ActionGoal";

/// One action.
#[derive(Debug, PartialEq, Eq)]
pub struct Action {
    /// Such as `actionlib/TwoInts`.
    pub type_name: String,
    /// The nodes that send goals.
    pub clients: Vec<String>,
    /// The nodes that accept goals and publish their status.
    pub servers: Vec<String>,
}

impl Action {
    /// The action as JSON.
    pub fn json(&self, name: &str) -> Json {
        let Self { type_name, clients, servers } = self;
        json!({ "name": name, "type": type_name, "clients": clients, "servers": servers })
    }
}

/// All actions by name.
///
/// # Errors
/// When the master does not answer.
pub fn actions(graph: &Graph<'_>) -> Result<BTreeMap<String, Action>, CliError> {
    let state = graph.system_state()?;
    Ok(within(&state, &graph.topic_types()?))
}

/// The action of this name.
///
/// # Errors
/// When there is none, or the master does not answer.
pub fn action(graph: &Graph<'_>, name: &str) -> Result<Action, CliError> {
    let none = || CliError::Failed(format!("no action {name} (see 'runnel action list')"));
    actions(graph)?.remove(name).ok_or_else(none)
}

fn within(state: &SystemState, types: &BTreeMap<String, String>) -> BTreeMap<String, Action> {
    let topics = state.topics();
    let action = |(topic, goal_type): (&String, &String)| {
        let (name, type_name) = (topic.strip_suffix("/goal")?, goal_type.strip_suffix(GOAL_SUFFIX)?);
        let is_whole = OTHER_TOPICS.iter().all(|other| topics.contains(format!("{name}/{other}").as_str()));
        let clients = state.publishers.get(topic).cloned().unwrap_or_default();
        let takers = state.subscribers.get(topic).cloned().unwrap_or_default();
        let tellers = state.publishers.get(&format!("{name}/status")).cloned().unwrap_or_default();
        // A node that only subscribes, such as a recorder, is no server.
        let servers = takers.into_iter().filter(|node| tellers.contains(node)).collect();
        let action = Action { type_name: type_name.to_owned(), clients, servers };
        is_whole.then(|| (name.to_owned(), action))
    };
    types.iter().filter_map(action).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holders(rows: &[(&str, &[&str])]) -> BTreeMap<String, Vec<String>> {
        let owned = |nodes: &[&str]| nodes.iter().map(|node| (*node).to_owned()).collect();
        rows.iter().map(|(topic, nodes)| ((*topic).to_owned(), owned(nodes))).collect()
    }

    #[test]
    fn action_is_five_topics_with_one_goal_type() {
        let state = SystemState {
            publishers: holders(&[
                ("/a/goal", &["/c"]),
                ("/a/cancel", &["/c"]),
                ("/a/status", &["/s"]),
                ("/a/feedback", &["/s"]),
                ("/a/result", &["/s"]),
                ("/half/goal", &["/c"]),
                ("/plain/goal", &["/c"]),
            ]),
            subscribers: holders(&[("/a/goal", &["/recorder", "/s"]), ("/plain/cancel", &["/s"])]),
            ..SystemState::default()
        };
        let types =
            [("/a/goal", "p/XActionGoal"), ("/half/goal", "p/XActionGoal"), ("/plain/goal", "p/Pose")];
        let types = types.map(|(topic, name)| (topic.to_owned(), name.to_owned())).into_iter().collect();
        let found = within(&state, &types);
        let (clients, servers) = (vec!["/c".to_owned()], vec!["/s".to_owned()]);
        let expected = Action { type_name: "p/X".into(), clients, servers };
        assert_eq!(found.into_iter().collect::<Vec<_>>(), [("/a".to_owned(), expected)]);
    }
}
