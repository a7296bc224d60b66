//! What a bridge does, as it publishes it and `runnel bridge --status` prints it.

use runnel_bridge::decision::Direction;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

/// The last part of the name of the topic on which a bridge publishes its report.
pub const TOPIC: &str = "status";

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
        if self.topics.is_empty() {
            text.push_str("  no topic has a publisher in one graph and a subscriber in the other\n");
        }
        self.topics.iter().for_each(|row| text.push_str(&row.text()));
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
        })
    }
}

impl Row {
    fn types(&self) -> String {
        match (&self.ros1_type, &self.ros2_type) {
            (Some(ros1), Some(ros2)) => format!(" ({ros1}, {ros2})"),
            (Some(one), None) | (None, Some(one)) => format!(" ({one})"),
            (None, None) => String::new(),
        }
    }

    fn text(&self) -> String {
        let state = match &self.state {
            State::Carried => format!("{} messages", self.messages),
            State::Connecting => "connecting".to_owned(),
            State::OtherBridge(bridge) => format!("carried by {bridge}"),
            State::Refused(reason) => format!("not carried: {reason}"),
        };
        let (topic, direction) = (&self.topic, direction_text(&self.to));
        let mut text = format!("  {topic}: {direction}{}: {state}", self.types());
        for (count, what) in [(self.dropped, "dropped"), (self.refused, "refused")] {
            if count > 0 {
                text.push_str(&format!(", {count} {what}"));
            }
        }
        text.push('\n');
        self.remarks.iter().for_each(|remark| text.push_str(&format!("    {remark}\n")));
        text
    }

    fn json(&self) -> Json {
        let (state, reason) = match &self.state {
            State::Carried => ("carried", None),
            State::Connecting => ("connecting", None),
            State::OtherBridge(bridge) => ("other_bridge", Some(bridge)),
            State::Refused(reason) => ("refused", Some(reason)),
        };
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
