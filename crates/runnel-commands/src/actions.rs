//! The actions of both graphs. Neither graph lists them: an action is five topics below one name in ROS 1, and three
//! services and two topics in ROS 2.

use std::collections::{BTreeMap, BTreeSet};

use runnel::core::names::DdsTopic;
use runnel::core::schema::TypeName;
use runnel::{EndpointInfo, EndpointType, Ros2Graph};
use serde_json::{Value as Json, json};

use crate::error::CliError;
use crate::graph::{Graph, SystemState};
use crate::graphs::{GraphSnapshot, holder};
use crate::originals::command_line::ACTION_LIST;
use crate::similar::meant_or_listed;

/// The topics of each action in ROS 1, except that of its goals.
const OTHER_TOPICS: [&str; 4] = ["cancel", "status", "feedback", "result"];

/// Suffix of the goal's message type: `ActionGoal` after the name of the action type.
const GOAL_SUFFIX: &str = "ActionGoal";

/// The topic by which actions are found in ROS 2, and the suffix of its type.
const FEEDBACK: &str = "/_action/feedback";
const FEEDBACK_SUFFIX: &str = "_FeedbackMessage";

/// The actions of both graphs, by name.
#[derive(Debug, Default)]
pub struct Actions(pub BTreeMap<String, ActionSides>);

/// An action, in one or both graphs.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ActionSides {
    /// In ROS 1.
    pub ros1: Option<Action>,
    /// In ROS 2.
    pub ros2: Option<Action>,
}

/// An action in one graph.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Action {
    /// Such as `actionlib/TwoInts`, or `test_msgs/action/Fibonacci` in ROS 2; several if its nodes disagree.
    pub types: BTreeSet<String>,
    /// The nodes that send goals.
    pub clients: Vec<String>,
    /// The nodes that accept goals and publish their status.
    pub servers: Vec<String>,
}

impl Actions {
    /// The actions of the graphs that a command uses.
    ///
    /// # Errors
    /// When the master does not answer.
    pub fn of(snapshot: &GraphSnapshot) -> Result<Self, CliError> {
        let mut actions = Self::default();
        if let Some(graph) = snapshot.ros1() {
            actions.add_ros1(actions_of_ros1(&graph)?);
        }
        if let Some(graph) = &snapshot.ros2 {
            actions.add_ros2(graph);
        }
        Ok(actions)
    }

    /// The same, with the one action of this name.
    ///
    /// # Errors
    /// When there is none, or the master does not answer.
    pub fn one(snapshot: &GraphSnapshot, name: &str) -> Result<ActionSides, CliError> {
        let mut actions = Self::of(snapshot)?;
        actions.0.remove(name).ok_or_else(|| {
            let hint = meant_or_listed(name, actions.names(), ACTION_LIST);
            CliError::Failed(format!("no action {name}{hint}"))
        })
    }

    /// The names of the actions.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Adds the actions of the master.
    pub fn add_ros1(&mut self, actions: BTreeMap<String, Action>) {
        for (name, action) in actions {
            self.0.entry(name).or_default().ros1 = Some(action);
        }
    }

    /// Adds the actions of the ROS 2 graph.
    pub fn add_ros2(&mut self, graph: &Ros2Graph) {
        for end in &graph.endpoints {
            let Some(name) = action_of(end) else { continue };
            let action = self.0.entry(name.to_owned()).or_default().ros2.get_or_insert_default();
            let type_name = end.ros_type();
            action.types.insert(type_name.strip_suffix(FEEDBACK_SUFFIX).unwrap_or(&type_name).to_owned());
            let nodes = match end.endpoint_type {
                EndpointType::Publisher => &mut action.servers,
                EndpointType::Subscription => &mut action.clients,
            };
            nodes.push(holder(end));
            nodes.sort();
        }
    }

    /// True if both graphs have actions.
    pub fn are_in_both(&self) -> bool {
        let any = |there: fn(&ActionSides) -> bool| self.0.values().any(there);
        any(|action| action.ros1.is_some()) && any(|action| action.ros2.is_some())
    }
}

/// The action whose feedback an endpoint publishes or subscribes to.
pub fn action_of(end: &EndpointInfo) -> Option<&str> {
    end.ros_topic().and_then(DdsTopic::topic)?.strip_suffix(FEEDBACK)
}

impl ActionSides {
    /// Its types. Types of both graphs are spelt as in ROS 2.
    pub fn types(&self) -> Vec<&str> {
        let ros2: Vec<&str> = self.ros2.iter().flat_map(|side| &side.types).map(String::as_str).collect();
        let known: Vec<_> = ros2.iter().filter_map(|name| TypeName::parse(name)).collect();
        let ros1 = self.ros1.iter().flat_map(|side| &side.types).map(String::as_str);
        let only_ros1 = ros1.filter(|name| TypeName::parse(name).is_none_or(|name| !known.contains(&name)));
        ros2.iter().copied().chain(only_ros1).collect()
    }

    /// The action as JSON: ROS 1 data at the top, ROS 2 data below its name.
    pub fn json(&self, name: &str) -> Json {
        let side = |action: &Action| {
            let Action { types, clients, servers } = action;
            json!({ "name": name, "type": types.first(), "clients": clients, "servers": servers })
        };
        let mut json = self.ros1.as_ref().map_or_else(|| json!({ "name": name }), side);
        if let Some(Action { types, clients, servers }) = &self.ros2 {
            json["ros2"] = json!({ "types": types, "clients": clients, "servers": servers });
        }
        json
    }
}

/// All actions of ROS 1 by name.
///
/// # Errors
/// When the master does not answer.
pub fn actions_of_ros1(graph: &Graph<'_>) -> Result<BTreeMap<String, Action>, CliError> {
    let state = graph.system_state()?;
    Ok(within(&state, &graph.topic_types()?))
}

/// The actions among the ROS 1 topics.
pub fn within(state: &SystemState, types: &BTreeMap<String, String>) -> BTreeMap<String, Action> {
    let topics = state.topics();
    let action = |(topic, goal_type): (&String, &String)| {
        let (name, type_name) = (topic.strip_suffix("/goal")?, goal_type.strip_suffix(GOAL_SUFFIX)?);
        let is_whole = OTHER_TOPICS.iter().all(|other| topics.contains(format!("{name}/{other}").as_str()));
        let clients = state.publishers.get(topic).cloned().unwrap_or_default();
        let takers = state.subscribers.get(topic).cloned().unwrap_or_default();
        let tellers = state.publishers.get(&format!("{name}/status")).cloned().unwrap_or_default();
        // A node that only subscribes, such as a recorder, is no server.
        let servers = takers.into_iter().filter(|node| tellers.contains(node)).collect();
        let action = Action { types: BTreeSet::from([type_name.to_owned()]), clients, servers };
        is_whole.then(|| (name.to_owned(), action))
    };
    types.iter().filter_map(action).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graphs::tests::graph;

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
        let expected = Action { types: BTreeSet::from(["p/X".to_owned()]), clients, servers };
        assert_eq!(found.into_iter().collect::<Vec<_>>(), [("/a".to_owned(), expected)]);
    }

    #[test]
    fn action_of_both_graphs_is_listed_once() {
        let mut graph = graph(&[
            ("rt/a/_action/feedback", 2, true),
            ("rt/a/_action/feedback", 3, false),
            ("rt/a/_action/status", 2, true),
            ("rt/feedback", 2, true),
        ]);
        for end in &mut graph.endpoints {
            end.dds_type = "p::action::dds_::X_FeedbackMessage_".to_owned();
        }
        let mut actions = Actions::default();
        let ros1 = |name: &str| Action { types: BTreeSet::from([name.to_owned()]), ..Action::default() };
        actions.add_ros1(BTreeMap::from([("/a".to_owned(), ros1("p/X")), ("/b".to_owned(), ros1("p/Y"))]));
        assert!(!actions.are_in_both());
        actions.add_ros2(&graph);
        assert!(actions.are_in_both());
        assert_eq!(actions.0.keys().collect::<Vec<_>>(), ["/a", "/b"]);
        assert_eq!((actions.0["/a"].types(), actions.0["/b"].types()), (vec!["p/action/X"], vec!["p/Y"]));
        let ros2 = actions.0["/a"].ros2.as_ref().expect("it is in ROS 2");
        assert_eq!(
            (&*ros2.servers, &*ros2.clients),
            (&["/node2".to_owned()][..], &["/node3".to_owned()][..])
        );
    }
}
