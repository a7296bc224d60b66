//! What a bridge does, as it publishes it and `runnel bridge --status` prints it.

use runnel::bridge::bridge_of_node;
use runnel::core::schema::Generation;
use runnel_bridge::decision::Direction;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use crate::output::shown;

/// The last part of the name of the topic on which a bridge publishes its report.
pub const TOPIC: &str = "status";

/// Whether a bridge publishes its report on this topic.
pub fn is_report_topic(topic: &str) -> bool {
    let node = topic.strip_suffix(TOPIC).and_then(|node| node.strip_suffix('/'));
    node.is_some_and(|node| bridge_of_node(node).is_some())
}

/// Report of one bridge.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// The name of its nodes.
    pub bridge: String,
    /// The master of its ROS 1 graph.
    pub master: String,
    /// Whether the master answers.
    pub master_answers: bool,
    /// Its ROS 2 domain.
    pub domain: u16,
    /// The topics that have ends on both sides.
    pub topics: Vec<Row>,
    /// The topics that have a publisher on one side and no subscriber on the other.
    #[serde(default)]
    pub waiting: Vec<WaitingRow>,
    /// The services that have a server on one side.
    #[serde(default)]
    pub services: Vec<ServerRow>,
    /// The actions that have a server on one side.
    #[serde(default)]
    pub actions: Vec<ServerRow>,
    /// The nodes whose parameters are carried.
    #[serde(default)]
    pub parameters: Vec<ParameterRow>,
}

/// A ROS 2 node whose parameters are also at the ROS 1 master.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParameterRow {
    /// The node.
    pub node: String,
    /// What the bridge does.
    pub state: State,
    /// The number of its parameters.
    pub parameters: u64,
    /// What could not be changed.
    pub remarks: Vec<String>,
}

/// One direction of a topic.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// The topic.
    pub topic: String,
    /// The graph to which messages go: `ros1` or `ros2`.
    pub to: String,
    /// What the bridge does.
    pub state: State,
    /// The type in ROS 1, if it is known.
    pub ros1_type: Option<String>,
    /// The type in ROS 2, if it is known.
    pub ros2_type: Option<String>,
    /// Messages carried.
    pub messages: u64,
    /// Messages dropped because a subscriber was too slow, or because too many waited.
    pub dropped: u64,
    /// Messages that could not be converted.
    pub refused: u64,
    /// What readers may not see, or see changed.
    pub remarks: Vec<String>,
}

/// One direction of a topic that waits for a subscriber.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitingRow {
    /// The topic.
    pub topic: String,
    /// The graph that has no subscriber: `ros1` or `ros2`.
    pub to: String,
    /// The type of its publishers, if it is known.
    pub type_name: Option<String>,
}

/// One direction of a service or an action.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerRow {
    /// The service or action.
    pub name: String,
    /// The graph in which the bridge offers it: `ros1` or `ros2`.
    pub to: String,
    /// What the bridge does.
    pub state: State,
    /// The type in ROS 1, if it is known.
    pub ros1_type: Option<String>,
    /// The type in ROS 2, if it is known.
    pub ros2_type: Option<String>,
    /// The calls, or the goals.
    pub counts: CallCounts,
    /// Why calls failed.
    pub remarks: Vec<String>,
}

/// Numbers of calls, or of goals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallCounts {
    /// Those with a response, or a result.
    pub calls: u64,
    /// Those without.
    pub failed: u64,
    /// Those that have not ended.
    pub open: u64,
}

/// What a bridge does with a direction of a topic.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It carries the messages.
    Carried,
    /// It waits for a connection to the publisher, from which it learns the type, or for a subscriber.
    Connecting,
    /// Another bridge carries them.
    OtherBridge(String),
    /// It cannot carry them, with the reason.
    Refused(String),
}

/// The word for the graph to which messages go.
pub fn destination(direction: Direction) -> &'static str {
    match direction {
        Direction::ToRos2 => "ros2",
        Direction::ToRos1 => "ros1",
    }
}

/// A graph for people.
pub fn graph_name(generation: Generation) -> &'static str {
    match generation {
        Generation::Ros1 => "ROS 1",
        Generation::Ros2 => "ROS 2",
    }
}

/// The direction for people.
pub fn direction_text(to: &str) -> &'static str {
    if to == "ros2" { "ROS 1 to ROS 2" } else { "ROS 2 to ROS 1" }
}

impl Report {
    /// The report for people.
    pub fn text(&self) -> String {
        let answers = if self.master_answers { "" } else { ", which does not answer" };
        let mut text =
            format!("{}: master {}{answers}; ROS 2 domain {}\n", self.bridge, self.master, self.domain);
        if self.topics.is_empty() && self.services.is_empty() && self.actions.is_empty() {
            text.push_str("  no topic has a publisher in one graph and a subscriber in the other\n");
        }
        self.topics.iter().for_each(|row| text.push_str(&row.text()));
        self.services.iter().for_each(|row| text.push_str(&row.text("service", "calls")));
        self.actions.iter().for_each(|row| text.push_str(&row.text("action", "goals")));
        self.parameters.iter().for_each(|row| text.push_str(&row.text()));
        self.waiting.iter().for_each(|row| text.push_str(&row.text()));
        text
    }

    /// The report for programs.
    pub fn json(&self) -> Json {
        let rows: Vec<Json> = self.topics.iter().map(Row::json).collect();
        json!({
            "bridge": self.bridge,
            "master": self.master,
            "master_answers": self.master_answers,
            "domain": self.domain,
            "topics": rows,
            "waiting": self.waiting.iter().map(WaitingRow::json).collect::<Vec<Json>>(),
            "services": self.services.iter().map(|row| row.json("service", "calls")).collect::<Vec<Json>>(),
            "parameters": self.parameters.iter().map(ParameterRow::json).collect::<Vec<Json>>(),
            "actions": self.actions.iter().map(|row| row.json("action", "goals")).collect::<Vec<Json>>(),
        })
    }
}

impl State {
    /// The text, if what is carried has this text.
    fn text(&self, carried: String) -> String {
        match self {
            Self::Carried => carried,
            Self::Connecting => "connecting".to_owned(),
            Self::OtherBridge(bridge) => format!("carried by {bridge}"),
            Self::Refused(reason) => format!("not carried: {reason}"),
        }
    }

    /// The name for programs, and the other bridge or the reason.
    fn parts(&self) -> (&'static str, Option<&String>) {
        match self {
            Self::Carried => ("carried", None),
            Self::Connecting => ("connecting", None),
            Self::OtherBridge(bridge) => ("other_bridge", Some(bridge)),
            Self::Refused(reason) => ("refused", Some(reason)),
        }
    }
}

/// The types that are known, in parentheses.
fn types_text(ros1: Option<&String>, ros2: Option<&String>) -> String {
    match (ros1, ros2) {
        (Some(ros1), Some(ros2)) => format!(" ({ros1}, {ros2})"),
        (Some(one), None) | (None, Some(one)) => format!(" ({one})"),
        (None, None) => String::new(),
    }
}

/// A line, the counts above zero, and a line for each remark.
fn with_details(line: &str, counts: &[(u64, &str)], remarks: &[String]) -> String {
    let mut text = shown(line).into_owned();
    for (count, what) in counts.iter().filter(|(count, _)| *count > 0) {
        text.push_str(&format!(", {count} {what}"));
    }
    text.push('\n');
    remarks.iter().for_each(|remark| text.push_str(&format!("    {}\n", shown(remark))));
    text
}

impl Row {
    fn text(&self) -> String {
        let state = self.state.text(format!("{} messages", self.messages));
        let (topic, direction) = (&self.topic, direction_text(&self.to));
        let types = types_text(self.ros1_type.as_ref(), self.ros2_type.as_ref());
        let line = format!("  {topic}: {direction}{types}: {state}");
        with_details(&line, &[(self.dropped, "dropped"), (self.refused, "refused")], &self.remarks)
    }

    fn json(&self) -> Json {
        let (state, reason) = self.state.parts();
        json!({
            "topic": self.topic,
            "to": self.to,
            "state": state,
            "reason": reason,
            "ros1_type": self.ros1_type,
            "ros2_type": self.ros2_type,
            "messages": self.messages,
            "dropped": self.dropped,
            "refused": self.refused,
            "remarks": self.remarks,
        })
    }
}

impl WaitingRow {
    fn text(&self) -> String {
        let [from, to] = if self.to == "ros2" { ["ROS 1", "ROS 2"] } else { ["ROS 2", "ROS 1"] };
        let type_name = self.type_name.as_ref().map_or_else(String::new, |name| format!(", {name}"));
        let line = format!("  {} ({from}{type_name}): waits for a subscriber in {to}", self.topic);
        with_details(&line, &[], &[])
    }

    fn json(&self) -> Json {
        json!({ "topic": self.topic, "to": self.to, "type": self.type_name })
    }
}

impl ParameterRow {
    fn text(&self) -> String {
        let state = self.state.text(format!("{} parameters", self.parameters));
        with_details(&format!("  parameters of {}: ROS 2 and ROS 1: {state}", self.node), &[], &self.remarks)
    }

    fn json(&self) -> Json {
        let (state, reason) = self.state.parts();
        json!({
            "node": self.node,
            "state": state,
            "reason": reason,
            "parameters": self.parameters,
            "remarks": self.remarks,
        })
    }
}

impl ServerRow {
    /// `kind` is `service` or `action`, `calls` what is counted.
    fn text(&self, kind: &str, calls: &str) -> String {
        let state = self.state.text(format!("{} {calls}", self.counts.calls));
        let (name, direction) = (&self.name, direction_text(&self.to));
        let types = types_text(self.ros1_type.as_ref(), self.ros2_type.as_ref());
        let line = format!("  {kind} {name}: {direction}{types}: {state}");
        with_details(&line, &[(self.counts.failed, "failed"), (self.counts.open, "open")], &self.remarks)
    }

    fn json(&self, kind: &str, calls: &str) -> Json {
        let (state, reason) = self.state.parts();
        json!({
            kind: self.name,
            "to": self.to,
            "state": state,
            "reason": reason,
            "ros1_type": self.ros1_type,
            "ros2_type": self.ros2_type,
            calls: self.counts.calls,
            "failed": self.counts.failed,
            "open": self.counts.open,
            "remarks": self.remarks,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(state: State) -> Row {
        Row {
            topic: "/chatter".into(),
            to: "ros2".into(),
            state,
            ros1_type: Some("std_msgs/String".into()),
            ros2_type: None,
            messages: 7,
            dropped: 0,
            refused: 2,
            remarks: vec!["field data: text with a NUL".into()],
        }
    }

    #[test]
    fn report_survives_its_topic() {
        let states =
            [State::Carried, State::Connecting, State::OtherBridge("/b".into()), State::Refused("no".into())];
        let report = Report { topics: states.map(row).into(), domain: 5, ..Report::default() };
        let text = serde_json::to_string(&report).unwrap();
        assert_eq!(serde_json::from_str::<Report>(&text).unwrap(), report);
    }

    #[test]
    fn report_without_services_is_read() {
        let text = r#"{"bridge":"/b","master":"m","master_answers":true,"domain":1,"topics":[]}"#;
        assert_eq!(serde_json::from_str::<Report>(text).unwrap().bridge, "/b");
    }

    #[test]
    fn waiting_topic_names_the_graph_without_a_subscriber() {
        let row = |to: &str, type_name: Option<&str>| WaitingRow {
            topic: "/old".into(),
            to: to.into(),
            type_name: type_name.map(str::to_owned),
        };
        let text = row("ros2", Some("std_msgs/String")).text();
        assert_eq!(text, "  /old (ROS 1, std_msgs/String): waits for a subscriber in ROS 2\n");
        let report = Report { waiting: vec![row("ros1", None)], ..Report::default() };
        assert!(report.text().ends_with("  /old (ROS 2): waits for a subscriber in ROS 1\n"));
        assert_eq!(report.json()["waiting"][0]["to"], "ros1");
    }

    #[test]
    fn service_row_shows_calls() {
        let row = ServerRow {
            name: "/add".into(),
            to: "ros1".into(),
            state: State::Carried,
            ros1_type: None,
            ros2_type: Some("a/srv/B".into()),
            counts: CallCounts { calls: 5, failed: 1, open: 0 },
            remarks: vec!["a call failed: why".into()],
        };
        let expected =
            "  service /add: ROS 2 to ROS 1 (a/srv/B): 5 calls, 1 failed\n    a call failed: why\n";
        assert_eq!(row.text("service", "calls"), expected);
        assert_eq!(row.json("service", "calls")["calls"], 5);
    }

    #[test]
    fn row_shows_state_counts_and_remarks() {
        let text = row(State::Carried).text();
        let expected = "  /chatter: ROS 1 to ROS 2 (std_msgs/String): 7 messages, 2 refused\n    \
                        field data: text with a NUL\n";
        assert_eq!(text, expected);
        let refused = row(State::Refused("why".into()));
        assert!(refused.text().contains("not carried: why"));
        assert_eq!(refused.json()["reason"], "why");
        assert!(Report::default().text().contains("no topic"));
    }
}
