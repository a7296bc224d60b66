//! Links of ROS 2 endpoints and their traffic, which only their own processes know.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use runnel::{Context, EndpointInfo, EndpointLinks, EndpointType, Gid, Ros2Graph};
use serde_json::{Value as Json, json};

use crate::error::CliError;
use crate::output::shown;

/// Only nodes of this vendor answer.
const ANSWERS: &str = "Runnel";

/// How long a node may take to answer.
const ANSWER_TIMEOUT: Duration = Duration::from_millis(500);

/// The answers of endpoints about their links.
#[derive(Default)]
pub struct Links(HashMap<Gid, EndpointLinks>);

impl Links {
    /// Asks the processes of these endpoints. A process that once did not answer is not asked again.
    ///
    /// # Errors
    /// When the operating system refuses to wait.
    pub fn ask<'a>(
        context: &Context,
        graph: &Ros2Graph,
        endpoints: impl Iterator<Item = &'a EndpointInfo>,
    ) -> Result<Self, CliError> {
        let (mut answers, mut silent) = (HashMap::new(), HashSet::new());
        for end in endpoints.filter(|end| vendor(graph, end) == ANSWERS) {
            let process = end.gid.participant();
            if silent.contains(&process) {
                continue;
            }
            match context.ros2_links(end.gid, ANSWER_TIMEOUT)? {
                Some(links) => drop(answers.insert(end.gid, links)),
                None => drop(silent.insert(process)),
            }
        }
        Ok(Self(answers))
    }

    /// The transport from a publisher to a subscription; `None` if neither side knows.
    fn kind(
        &self,
        graph: &Ros2Graph,
        publisher: &EndpointInfo,
        subscription: &EndpointInfo,
    ) -> Option<&'static str> {
        // Other vendors reach Runnel's nodes only by the network.
        let [one, other] = [publisher, subscription].map(|end| vendor(graph, end) == ANSWERS);
        match self.0.get(&subscription.gid) {
            Some(links) if links.in_memory.contains(&publisher.gid) => Some("SHM"),
            Some(_) => Some("UDP"),
            None if one != other => Some("UDP"),
            None => None,
        }
    }

    /// The lines about an endpoint: its counters, and the transport from each of these publishers.
    pub fn text(&self, graph: &Ros2Graph, end: &EndpointInfo, publishers: &[&EndpointInfo]) -> String {
        let is_publisher = end.endpoint_type == EndpointType::Publisher;
        let word = if is_publisher { "published" } else { "received" };
        let mut text = match self.0.get(&end.gid) {
            Some(links) => counters(links, word),
            None => format!("Messages: unknown, {} does not report them\n", vendor(graph, end)),
        };
        for publisher in publishers.iter().filter(|_| !is_publisher) {
            let from = publisher.node.clone().unwrap_or_else(|| publisher.gid.to_string());
            let kind = self.kind(graph, publisher, end).unwrap_or("unknown");
            text += &format!("Link from {}: {kind}\n", shown(&from));
        }
        text
    }

    /// The same for programs; null for unknown values.
    pub fn json(&self, graph: &Ros2Graph, end: &EndpointInfo, publishers: &[&EndpointInfo]) -> Json {
        let link = |publisher: &&EndpointInfo| {
            let kind = self.kind(graph, publisher, end);
            json!({ "publisher": publisher.gid.to_string(), "kind": kind })
        };
        let links = self.0.get(&end.gid);
        let mut json = json!({
            "messages": links.map(|links| links.messages),
            "dropped": links.map(|links| links.dropped),
            "corrections": links.map(|links| links.corrections),
        });
        if end.endpoint_type == EndpointType::Subscription {
            json["links"] = publishers.iter().map(link).collect();
        }
        json
    }
}

/// The line of an endpoint's counters. Corrections are rare, and shown only if there are any.
fn counters(links: &EndpointLinks, word: &str) -> String {
    let corrections = match links.corrections {
        0 => String::new(),
        count => format!(", {count} link states corrected"),
    };
    format!("Messages: {} {word}, {} dropped{corrections}\n", links.messages, links.dropped)
}

fn vendor<'a>(graph: &'a Ros2Graph, end: &EndpointInfo) -> &'a str {
    graph.participant(end.gid).map_or("its participant", |participant| participant.vendor.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graphs::tests::graph;

    #[test]
    fn link_transport_comes_from_the_subscriber() {
        let mut graph =
            graph(&[("rt/a", 1, true), ("rt/a", 2, true), ("rt/a", 3, false), ("rt/a", 4, false)]);
        for one in [0, 2] {
            graph.participants[one].vendor = ANSWERS.into();
        }
        let [ours, theirs, receiver, foreign] = &graph.endpoints[..] else { panic!("{graph:?}") };
        let answer = EndpointLinks { messages: 8, dropped: 1, corrections: 0, in_memory: vec![ours.gid] };
        let links = Links([(receiver.gid, answer)].into());
        let publishers = [ours, theirs];
        assert_eq!(
            links.text(&graph, receiver, &publishers),
            "Messages: 8 received, 1 dropped\nLink from /node1: SHM\nLink from /node2: UDP\n"
        );
        assert_eq!(
            links.text(&graph, foreign, &publishers),
            "Messages: unknown, Fast DDS does not report them\nLink from /node1: UDP\nLink from /node2: unknown\n"
        );
        assert_eq!(links.text(&graph, ours, &publishers), "Messages: unknown, Runnel does not report them\n");
        let corrected = EndpointLinks { messages: 8, dropped: 1, corrections: 2, in_memory: vec![] };
        assert_eq!(
            counters(&corrected, "received"),
            "Messages: 8 received, 1 dropped, 2 link states corrected\n"
        );
        let json = links.json(&graph, foreign, &publishers);
        assert_eq!((&json["messages"], &json["links"][1]["kind"]), (&Json::Null, &Json::Null));
        assert_eq!(links.json(&graph, receiver, &publishers)["links"][0]["kind"], "SHM");
    }
}
