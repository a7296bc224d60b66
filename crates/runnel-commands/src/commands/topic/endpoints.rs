//! The ROS 2 part of `runnel topic info`.

use runnel::core::names::DdsTopic;
use runnel::{Context, EndpointInfo, EndpointType, ParticipantInfo, Ros2Graph};
use serde_json::{Value as Json, json};

use super::links::Links;
use super::mismatch::{Reason, listed, reason};
use super::qos;
use crate::error::CliError;
use crate::graphs::place;
use crate::output::{lines, shown};

/// Number of mismatching pairs that are listed.
const MOST_MISMATCHES: usize = 20;

/// The publishers and subscriptions of a topic in ROS 2.
pub struct Endpoints<'a> {
    graph: &'a Ros2Graph,
    publishers: Vec<&'a EndpointInfo>,
    subscriptions: Vec<&'a EndpointInfo>,
    /// Their own data about their links, if they were asked.
    links: Option<Links>,
}

impl<'a> Endpoints<'a> {
    /// The endpoints of a topic; `None` if there are none.
    pub fn of(graph: &'a Ros2Graph, topic: &str) -> Option<Self> {
        let of_topic = graph.endpoints.iter().filter(|end| end.ros_topic() == Some(DdsTopic::Topic(topic)));
        let (mut publishers, mut subscriptions): (Vec<_>, Vec<_>) =
            of_topic.partition(|end| end.endpoint_type == EndpointType::Publisher);
        for ends in [&mut publishers, &mut subscriptions] {
            ends.sort_by(|one, other| (&one.node, one.gid).cmp(&(&other.node, other.gid)));
        }
        let some = !(publishers.is_empty() && subscriptions.is_empty());
        some.then_some(Self { graph, publishers, subscriptions, links: None })
    }

    /// Asks their processes for their links.
    ///
    /// # Errors
    /// When the operating system refuses to wait.
    pub fn ask(&mut self, context: &Context) -> Result<(), CliError> {
        let all = self.publishers.iter().chain(&self.subscriptions).copied();
        self.links = Some(Links::ask(context, self.graph, all)?);
        Ok(())
    }

    /// As `ros2 topic info` prints it, with the data about links.
    pub fn text(&self, verbose: bool) -> String {
        let types = shown(&self.types().join(", ")).into_owned();
        let counted = |word: &str, ends: &[&EndpointInfo]| {
            let mut text = format!("{word} count: {}\n", ends.len());
            if verbose {
                text = format!("\n{text}\n");
                text.extend(ends.iter().map(|end| self.described(end) + "\n"));
            }
            text
        };
        let (publishers, subscriptions) = (&self.publishers, &self.subscriptions);
        let text = format!("Type: {types}\n{}", counted("Publisher", publishers));
        let text = text.trim_end_matches('\n').to_owned() + "\n" + &counted("Subscription", subscriptions);
        let mismatches = self.mismatches();
        let gap = if mismatches.is_empty() || verbose { "" } else { "\n" };
        text + gap + &lines(mismatches.iter().map(Reason::with_advice))
    }

    /// As the original ros2 prints it, without further data.
    pub fn original_text(&self, verbose: bool) -> String {
        let gap = if verbose { "\n" } else { "" };
        let types = match self.types().as_slice() {
            [only] => shown(only).into_owned(),
            several => format!(
                "[{}]",
                several.iter().map(|name| format!("'{}'", shown(name))).collect::<Vec<_>>().join(", ")
            ),
        };
        let mut text = format!("Type: {types}\n{gap}");
        for (word, ends) in [("Publisher", &self.publishers), ("Subscription", &self.subscriptions)] {
            text += &format!("{word} count: {}\n{gap}", ends.len());
            for end in ends.iter().filter(|_| verbose) {
                let [head, qos] = self.common_lines(end);
                text += &format!("{head}GID: {}\n{qos}\n", end.gid);
            }
        }
        text
    }

    /// The lines that the original prints of an endpoint, before and after its GID.
    fn common_lines(&self, end: &EndpointInfo) -> [String; 2] {
        let (namespace, name) = split_name(end.node.as_deref());
        let [name, namespace] = [name, namespace].map(|part| shown(part).into_owned());
        let hash = shown(end.type_hash.as_deref().unwrap_or("INVALID"));
        let kind = match end.endpoint_type {
            EndpointType::Publisher => "PUBLISHER",
            EndpointType::Subscription => "SUBSCRIPTION",
        };
        let type_name = end.ros_type();
        let head = format!(
            "Node name: {name}\nNode namespace: {namespace}\nTopic type: {}\nTopic type hash: {hash}\n\
             Endpoint type: {kind}\n",
            shown(&type_name)
        );
        [head, format!("QoS profile:\n{}", qos::text(&end.qos, end.has_history))]
    }

    fn types(&self) -> Vec<String> {
        let mut types: Vec<String> =
            self.publishers.iter().chain(&self.subscriptions).map(|end| end.ros_type()).collect();
        types.sort();
        types.dedup();
        types
    }

    fn described(&self, end: &EndpointInfo) -> String {
        let [head, qos] = self.common_lines(end);
        let participant = self.graph.participant(end.gid).map(place).unwrap_or_default();
        let participant = shown(&participant);
        let publishers = self.matched_publishers(end);
        let links =
            self.links.as_ref().map(|links| links.text(self.graph, end, &publishers)).unwrap_or_default();
        format!(
            "{head}GID: {}\nParticipant: {participant}\nData representation: {}\n{qos}{links}",
            end.gid,
            listed(&end.representations),
        )
    }

    /// The publishers that an endpoint has matched.
    fn matched_publishers(&self, end: &EndpointInfo) -> Vec<&EndpointInfo> {
        let matched = self.publishers.iter().filter(|publisher| reason(publisher, end).is_none());
        matched.copied().collect()
    }

    /// Why each publisher and subscription do not match.
    fn mismatches(&self) -> Vec<Reason> {
        let pairs =
            self.publishers.iter().flat_map(|one| self.subscriptions.iter().map(move |other| (one, other)));
        let mut reasons: Vec<Reason> =
            pairs.filter_map(|(publisher, subscription)| reason(publisher, subscription)).collect();
        let more = reasons.len().saturating_sub(MOST_MISMATCHES);
        reasons.truncate(MOST_MISMATCHES);
        if more > 0 {
            reasons.push(Reason { what: format!("{more} more pairs do not match"), advice: String::new() });
        }
        reasons
    }

    /// For programs.
    pub fn to_json(&self) -> Json {
        let end = |end: &&EndpointInfo| {
            let mut json = json!({
                "node": end.node,
                "type": end.ros_type(),
                "type_hash": end.type_hash,
                "gid": end.gid.to_string(),
                "participant": self.graph.participant(end.gid).map(participant_json),
                "data_representations": end.representations.iter().map(ToString::to_string).collect::<Vec<_>>(),
                "qos": qos::to_json(&end.qos, end.has_history),
            });
            if let Some(links) = &self.links {
                json["traffic"] = links.json(self.graph, end, &self.matched_publishers(end));
            }
            json
        };
        let ends = |ends: &[&EndpointInfo]| ends.iter().map(end).collect::<Json>();
        json!({
            "types": self.types(),
            "publishers": ends(&self.publishers),
            "subscriptions": ends(&self.subscriptions),
            "incompatible": self.mismatches().into_iter().map(|reason| reason.what).collect::<Json>(),
        })
    }
}

fn participant_json(participant: &ParticipantInfo) -> Json {
    let addresses: Vec<String> = participant.addresses.iter().map(ToString::to_string).collect();
    json!({
        "vendor": participant.vendor,
        "enclave": participant.enclave,
        "addresses": addresses,
        "same_host": participant.is_same_host,
    })
}

/// Namespace and name of a node; the placeholders of ros2 if they are unknown.
fn split_name(full: Option<&str>) -> (&str, &str) {
    match full.and_then(|full| full.rsplit_once('/')) {
        Some(("", name)) => ("/", name),
        Some(parts) => parts,
        None => ("_NODE_NAMESPACE_UNKNOWN_", "_NODE_NAME_UNKNOWN_"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graphs::tests::graph;
    use runnel::DataRepresentation;
    use runnel::core::qos::QoS;

    #[test]
    fn text_reads_as_in_ros2() {
        let graph = graph(&[("rt/chatter", 1, true), ("rt/chatter", 2, false), ("rt/other", 2, false)]);
        let ends = Endpoints::of(&graph, "/chatter").expect("it is there");
        assert_eq!(
            ends.text(false),
            "Type: std_msgs/msg/String\nPublisher count: 1\nSubscription count: 1\n"
        );
        let text = ends.text(true);
        let expected = "Type: std_msgs/msg/String\n\nPublisher count: 1\n\nNode name: node1\nNode namespace: /\n\
                        Topic type: std_msgs/msg/String\nTopic type hash: RIHS01_ab\nEndpoint type: PUBLISHER\n\
                        GID: 01.0f.00.00.00.00.00.00.00.00.00.01.00.00.00.03\n\
                        Participant: Fast DDS at 10.0.0.1:7410\nData representation: XCDR1\nQoS profile:\n  \
                        Reliability: RELIABLE\n  History (Depth): UNKNOWN\n";
        assert!(text.starts_with(expected), "{text}");
        assert!(
            text.contains(
                "\n  Liveliness lease duration: Infinite\n\nSubscription count: 1\n\nNode name: node2\n"
            ),
            "{text}"
        );
        assert!(Endpoints::of(&graph, "/nobody").is_none());
    }

    #[test]
    fn mismatching_pairs_are_listed_with_reasons() {
        let mut graph =
            graph(&[("rt/a", 1, true), ("rt/a", 2, false), ("rt/a", 3, false), ("rt/a", 4, false)]);
        graph.endpoints[0].qos = QoS::keep_last(1).best_effort();
        graph.endpoints[2].dds_type = "std_msgs::msg::dds_::Int32_".into();
        graph.endpoints[3].qos = QoS::keep_last(1).best_effort();
        graph.endpoints[3].representations = vec![DataRepresentation::Xcdr2, DataRepresentation::Xml];
        let ends = Endpoints::of(&graph, "/a").expect("it is there");
        let expected = [
            "No messages from publisher /node1 to subscription /node2: incompatible QoS: reliability BEST_EFFORT is offered, RELIABLE is requested",
            "No messages from publisher /node1 to subscription /node3: type mismatch: std_msgs/msg/String and std_msgs/msg/Int32",
            "No messages from publisher /node1 to subscription /node4: incompatible QoS: data representation XCDR1 is offered, XCDR2, XML is requested",
        ];
        let advice = [
            "best effort at /node2, or reliable at /node1",
            "one type at both ends",
            "data representation XCDR1 at /node4, or XCDR2 at /node1",
        ];
        let reasons = ends.mismatches();
        assert_eq!(reasons.iter().map(|reason| reason.what.as_str()).collect::<Vec<_>>(), expected);
        assert_eq!(reasons.iter().map(|reason| reason.advice.as_str()).collect::<Vec<_>>(), advice);
        let lines = [0, 1, 2].map(|index| format!("{}. Try: {}\n", expected[index], advice[index]));
        assert!(ends.text(false).ends_with(&format!("Subscription count: 3\n\n{}", lines.concat())));
        assert_eq!(ends.to_json()["incompatible"], json!(expected));
    }
}
