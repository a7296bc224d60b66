//! Faults of topics: pairs with incompatible QoS or types, and different definitions of one type.

use std::collections::{BTreeMap, BTreeSet};

use runnel::core::names::DdsTopic;
use runnel::core::qos::Policy;
use runnel::{EndpointInfo, Ros2Graph};

use super::found::{Ros2Found, names};
use crate::commands::doctor::finding::{Area, Finding, shell_word};
use crate::commands::doctor::found::GraphFound;
use crate::commands::doctor::topics::unmatched;
use crate::commands::topic::{reason, setting};
use crate::graphs::{holder, is_hidden, is_publisher};
use crate::originals::command_line::{INTERFACE_SHOW, TOPIC_INFO};

/// Number of mismatching pairs of a topic that are listed.
const MOST_PAIRS: usize = 20;

/// The publishers and subscriptions of a topic.
#[derive(Default)]
struct Ends<'g> {
    publishers: Vec<&'g EndpointInfo>,
    subscriptions: Vec<&'g EndpointInfo>,
}

pub fn judge(found: &Ros2Found) -> Vec<Finding> {
    let topics = topics(&found.graph);
    let mut findings: Vec<Finding> = topics.iter().flat_map(|(topic, ends)| ends.mismatches(topic)).collect();
    findings.extend(topics.iter().flat_map(|(topic, ends)| ends.hashes_differ(topic, found)));
    findings.extend(unmatched(&as_ros1(&topics), "--ros-args -r "));
    findings
}

/// The ends of topics in the form that the master has of them, without hidden topics.
fn as_ros1(topics: &BTreeMap<&str, Ends<'_>>) -> GraphFound {
    let mut graph = GraphFound::default();
    let nodes = |ends: &[&EndpointInfo]| ends.iter().map(|end| holder(end)).collect::<BTreeSet<_>>();
    for (topic, ends) in topics.iter().filter(|(topic, _)| !is_hidden(topic)) {
        let sides = [
            (&mut graph.state.publishers, &ends.publishers),
            (&mut graph.state.subscribers, &ends.subscriptions),
        ];
        for (held, ends) in sides.into_iter().filter(|(_, ends)| !ends.is_empty()) {
            held.insert((*topic).to_owned(), nodes(ends).into_iter().collect());
        }
        let first = ends.publishers.iter().chain(&ends.subscriptions).next();
        graph.types.extend(first.map(|end| ((*topic).to_owned(), end.ros_type())));
    }
    graph
}

/// Type hashes of topics whose ends announce several for one type, with the ends.
pub fn differing_hashes(graph: &Ros2Graph) -> BTreeMap<String, Vec<&EndpointInfo>> {
    let mut found = BTreeMap::new();
    for ends in topics(graph).values() {
        for hashes in ends.hashes().into_values().filter(|hashes| hashes.len() > 1) {
            for (hash, ends) in hashes {
                found.entry(hash.to_owned()).or_insert_with(Vec::new).extend(ends);
            }
        }
    }
    found
}

fn topics(graph: &Ros2Graph) -> BTreeMap<&str, Ends<'_>> {
    let mut topics: BTreeMap<&str, Ends<'_>> = BTreeMap::new();
    for end in &graph.endpoints {
        let Some(DdsTopic::Topic(topic)) = end.ros_topic() else { continue };
        let ends = topics.entry(topic).or_default();
        if is_publisher(end) { &mut ends.publishers } else { &mut ends.subscriptions }.push(end);
    }
    topics
}

impl<'g> Ends<'g> {
    fn mismatches(&self, topic: &str) -> Vec<Finding> {
        let pairs =
            self.publishers.iter().flat_map(|one| self.subscriptions.iter().map(move |other| (one, other)));
        let finding = |(publisher, subscription): (&&EndpointInfo, &&EndpointInfo)| {
            let reason = reason(publisher, subscription)?;
            let advice = format!("use {}{}", reason.advice, overrides(topic, publisher, subscription));
            Some(Finding::error(Area::Topic, topic, reason.what, &advice))
        };
        let mut findings: Vec<Finding> = pairs.filter_map(finding).collect();
        let more = findings.len().saturating_sub(MOST_PAIRS);
        findings.truncate(MOST_PAIRS);
        if more > 0 {
            let what = format!("{more} more pairs do not match");
            findings.push(Finding::error(
                Area::Topic,
                topic,
                what,
                &format!("{TOPIC_INFO} -v {}", shell_word(topic)),
            ));
        }
        findings
    }

    /// The hashes of each type, with the ends that announce them.
    fn hashes(&self) -> BTreeMap<String, BTreeMap<&'g str, Vec<&'g EndpointInfo>>> {
        let mut types: BTreeMap<String, BTreeMap<&str, Vec<&EndpointInfo>>> = BTreeMap::new();
        for end in self.publishers.iter().chain(&self.subscriptions) {
            if let Some(hash) = end.type_hash.as_deref() {
                types.entry(end.ros_type()).or_default().entry(hash).or_default().push(end);
            }
        }
        types
    }

    /// Types of one name whose definitions differ: the messages may be misread.
    fn hashes_differ(&self, topic: &str, found: &Ros2Found) -> Vec<Finding> {
        let finding = |(name, hashes): (String, BTreeMap<&str, Vec<&EndpointInfo>>)| {
            let (first, rest) = hashes.iter().next().zip(hashes.iter().nth(1))?;
            let [one, other] = [first, rest].map(|(_, ends)| names(ends.iter().map(|end| holder(end))));
            let what = format!(
                "the definitions of {name} differ: {}",
                changes(found, [first.0, rest.0], [&one, &other])
            );
            let advice = format!(
                "build all nodes from the same definition: messages are misread or refused until then (compare with \
                 '{INTERFACE_SHOW} {name}')"
            );
            Some(Finding::error(Area::Topic, topic, what, &advice))
        };
        self.hashes().into_iter().filter_map(finding).collect()
    }
}

/// What differs between two definitions; their hashes if they are not known.
fn changes(found: &Ros2Found, hashes: [&str; 2], nodes: [&str; 2]) -> String {
    let [one, other] = hashes.map(|hash| found.definitions.get(hash));
    let differences = one.zip(other).map(|(one, other)| one.differences(other, nodes)).unwrap_or_default();
    if !differences.is_empty() {
        return differences.join("; ");
    }
    let each: Vec<String> =
        hashes.iter().zip(nodes).map(|(hash, nodes)| format!("{nodes} has {hash}")).collect();
    each.join("; ")
}

/// How to change the QoS without changing programs.
fn overrides(topic: &str, publisher: &EndpointInfo, subscription: &EndpointInfo) -> String {
    if publisher.dds_type != subscription.dds_type {
        return String::new();
    }
    let policies = subscription.incompatible_with(publisher);
    let parameter = |policy: &Policy| {
        let name = match policy {
            Policy::Reliability => "reliability",
            Policy::Durability => "durability",
            Policy::Liveliness => "liveliness",
            _ => return None,
        };
        let value = setting(publisher, *policy).replace(' ', "_");
        let topic = shell_word(topic);
        Some(format!("-p qos_overrides.{topic}.subscription.{name}:={value}"))
    };
    let parameters: Vec<String> = policies.iter().filter_map(parameter).collect();
    match (parameters.len() == policies.len(), &subscription.node) {
        (true, Some(node)) => {
            format!("; if {node} allows overrides, start it with --ros-args {}", parameters.join(" "))
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::doctor::ros2::definitions::Definition;
    use crate::graphs::tests::graph;
    use runnel::QoS;

    fn found() -> Ros2Found {
        Ros2Found { graph: graph(&[("rt/a", 1, true), ("rt/a", 2, false)]), ..Ros2Found::default() }
    }

    #[test]
    fn pair_with_incompatible_qos_gets_the_override_to_type() {
        let mut found = found();
        assert_eq!(judge(&found), []);
        found.graph.endpoints[0].qos = QoS::keep_last(1).best_effort();
        let findings = judge(&found);
        assert_eq!(findings.len(), 1);
        let expected = "use best effort at /node2, or reliable at /node1; if /node2 allows overrides, start it with \
                        --ros-args -p qos_overrides./a.subscription.reliability:=best_effort";
        assert_eq!(findings[0].advice, expected);
        assert!(findings[0].what.contains("from publisher /node1 to subscription /node2"), "{findings:?}");
    }

    #[test]
    fn every_pair_is_reported_up_to_a_limit() {
        let ends: Vec<_> = (1..=6).flat_map(|of| [("rt/a", of, true), ("rt/a", of, false)]).collect();
        let mut found = Ros2Found { graph: graph(&ends), ..Ros2Found::default() };
        for end in found.graph.endpoints.iter_mut().filter(|end| is_publisher(end)) {
            end.qos = QoS::keep_last(1).best_effort();
        }
        let findings = judge(&found);
        assert_eq!((findings.len(), findings[20].what.as_str()), (21, "16 more pairs do not match"));
    }

    #[test]
    fn misspelt_topic_gets_the_remapping_to_type() {
        let ends = [("rt/scan", 1, true), ("rt/scam", 2, false), ("rt/_x", 3, true)];
        let findings = judge(&Ros2Found { graph: graph(&ends), ..Ros2Found::default() });
        assert_eq!(findings.len(), 1, "{findings:?}");
        assert!(findings[0].advice.ends_with("start one with --ros-args -r /scam:=/scan"), "{findings:?}");
    }

    #[test]
    fn differing_definitions_name_the_field() {
        let mut found = found();
        found.graph.endpoints[1].type_hash = Some("RIHS01_cd".into());
        assert_eq!(differing_hashes(&found.graph).len(), 2);
        assert!(
            judge(&found)[0].what.contains("/node1 has RIHS01_ab; /node2 has RIHS01_cd"),
            "{:?}",
            judge(&found)
        );
        for (hash, of) in [("RIHS01_ab", "float32"), ("RIHS01_cd", "float64")] {
            let types = [("std_msgs/msg/String".to_owned(), vec![("x".to_owned(), of.to_owned())])].into();
            found.definitions.insert(hash.into(), Definition { types });
        }
        let findings = judge(&found);
        let expected = "the definitions of std_msgs/msg/String differ: std_msgs/msg/String.x is float32 at /node1, \
                        float64 at /node2";
        assert_eq!((findings.len(), findings[0].what.as_str()), (1, expected));
    }
}
