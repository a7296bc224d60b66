//! Topics that are in both graphs: joined by nothing, or with types that do not correspond.

use std::collections::{BTreeMap, BTreeSet};

use runnel::bridge::bridge_of_node;
use runnel::core::names::DdsTopic;
use runnel::core::schema::TypeName;

use super::bridges::foreign_bridges;
use super::found::{Ros2Found, names};
use crate::commands::doctor::finding::{Area, Finding, Severity, shell_word};
use crate::commands::doctor::found::GraphFound;
use crate::graphs::{holder, is_publisher};

/// Topics that every node has in its own generation's form.
const OWN: [&str; 2] = ["/rosout", "/parameter_events"];

/// The nodes of a topic that are in one graph only, and the carriers between the graphs.
#[derive(Default)]
struct Topic {
    published: [Vec<String>; 2],
    subscribed: [Vec<String>; 2],
    types: BTreeSet<String>,
    has_carrier: bool,
}

pub fn judge(found: &Ros2Found, ros1: &GraphFound) -> Vec<Finding> {
    let topics = topics(found, ros1);
    topics
        .iter()
        .flat_map(|(topic, of)| [types_differ(topic, of, ros1), unjoined(topic, of)])
        .flatten()
        .collect()
}

/// The topics that are in both graphs.
fn topics(found: &Ros2Found, ros1: &GraphFound) -> BTreeMap<String, Topic> {
    let duals: BTreeSet<&str> = found
        .graph
        .endpoints
        .iter()
        .filter(|end| found.is_dual(end))
        .filter_map(|end| end.node.as_deref())
        .collect();
    let foreign = foreign_bridges(found, ros1);
    let is_carrier =
        |node: &str| bridge_of_node(node).is_some() || duals.contains(node) || foreign.contains(node);
    let mut topics: BTreeMap<String, Topic> = BTreeMap::new();
    for end in &found.graph.endpoints {
        let Some(DdsTopic::Topic(name)) = end.ros_topic() else { continue };
        if !ros1.state.publishers.contains_key(name) && !ros1.state.subscribers.contains_key(name) {
            continue;
        }
        let topic = topics.entry(name.to_owned()).or_default();
        topic.types.insert(end.ros_type());
        if found.marks.contains_key(&end.gid) || end.node.as_deref().is_some_and(is_carrier) {
            topic.has_carrier = true;
        } else if is_publisher(end) {
            topic.published[1].push(holder(end));
        } else {
            topic.subscribed[1].push(holder(end));
        }
    }
    topics.retain(|name, _| !OWN.contains(&name.as_str()));
    for (name, topic) in &mut topics {
        let single = |nodes: &[String]| nodes.iter().filter(|node| !is_carrier(node)).cloned().collect();
        topic.published[0] = single(ros1.publishers(name));
        topic.subscribed[0] = single(ros1.subscribers(name));
    }
    topics
}

/// A topic whose publishers in one graph have subscribers in the other that nothing connects.
fn unjoined(topic: &str, of: &Topic) -> Option<Finding> {
    if of.has_carrier {
        return None;
    }
    let waits = |from: usize, to: usize| !of.published[from].is_empty() && !of.subscribed[to].is_empty();
    let (from, to) = [(0, 1), (1, 0)].into_iter().find(|(from, to)| waits(*from, *to))?;
    let lacks_publisher = of.published[to].is_empty();
    let graph = |index: usize| ["ROS 1", "ROS 2"][index];
    let what = format!(
        "published in {} by {}, subscribed to in {} by {}, and nothing joins the graphs",
        graph(from),
        names(of.published[from].clone()),
        graph(to),
        names(of.subscribed[to].clone())
    );
    let severity = if lacks_publisher { Severity::Warning } else { Severity::Info };
    Some(Finding::new(
        severity,
        Area::Topic,
        topic,
        what,
        &format!("runnel bridge --topics {}", shell_word(topic)),
    ))
}

/// A topic whose types in both graphs do not correspond.
fn types_differ(topic: &str, of: &Topic, ros1: &GraphFound) -> Option<Finding> {
    let known = ros1.types.get(topic).filter(|name| !matches!(name.as_str(), "" | "*"))?;
    let name = TypeName::parse(known)?;
    let other = of.types.iter().find(|other| TypeName::parse(other).is_some_and(|other| other != name))?;
    let what = format!(
        "its type is {known} in ROS 1 ({}), and {other} in ROS 2 ({}): no bridge and no node of both graphs can join them",
        nodes([&ros1.publishers(topic).to_vec(), &ros1.subscribers(topic).to_vec()]),
        nodes([&of.published[1], &of.subscribed[1]])
    );
    let word = shell_word(topic);
    let advice = format!(
        "remap the topic of one side, for example {word}:={word}_ros2, or, if one type is a renamed form of the other, \
         runnel bridge --rules FILE"
    );
    let severity = if of.has_carrier { Severity::Error } else { Severity::Warning };
    Some(Finding::new(severity, Area::Topic, topic, what, &advice))
}

fn nodes(of: [&Vec<String>; 2]) -> String {
    names(of.into_iter().flatten().cloned())
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::graphs::tests::graph;
    use runnel::bridge::{BridgeMark, EndpointMark};

    /// A ROS 1 graph of `(topic, publishers, subscribers)` of type `std_msgs/String`.
    pub fn ros1(topics: &[(&str, &[&str], &[&str])]) -> GraphFound {
        let mut found = GraphFound::default();
        let owned = |nodes: &[&str]| nodes.iter().map(|node| (*node).to_owned()).collect::<Vec<_>>();
        for (topic, publishers, subscribers) in topics {
            found.types.insert((*topic).into(), "std_msgs/String".into());
            for (ends, nodes) in
                [(&mut found.state.publishers, publishers), (&mut found.state.subscribers, subscribers)]
            {
                if !nodes.is_empty() {
                    ends.insert((*topic).into(), owned(nodes));
                }
                for node in *nodes {
                    found.nodes.entry((*node).into()).or_default();
                }
            }
        }
        found
    }

    fn found(ends: &[(&str, u8, bool)]) -> Ros2Found {
        Ros2Found { graph: graph(ends), ..Ros2Found::default() }
    }

    #[test]
    fn unjoined_topic_gets_the_bridge_to_type() {
        let findings = judge(&found(&[("rt/t", 2, false)]), &ros1(&[("/t", &["/old"], &[])]));
        assert_eq!(findings.len(), 1);
        let finding = &findings[0];
        assert_eq!(
            (finding.severity, finding.advice.as_str()),
            (Severity::Warning, "runnel bridge --topics /t")
        );
        let expected =
            "published in ROS 1 by /old, subscribed to in ROS 2 by /node2, and nothing joins the graphs";
        assert_eq!(finding.what, expected);
        let fed = judge(&found(&[("rt/t", 2, false), ("rt/t", 3, true)]), &ros1(&[("/t", &["/old"], &[])]));
        assert_eq!(fed[0].severity, Severity::Info);
        let publishers = judge(&found(&[("rt/t", 2, true)]), &ros1(&[("/t", &["/old"], &[])]));
        assert_eq!(publishers, [], "nobody waits");
    }

    #[test]
    fn topic_with_a_carrier_is_joined() {
        let mark = BridgeMark { bridge: 1, ros1_graph: 1 };
        for mark in [EndpointMark::DualNode(None), EndpointMark::Bridge(mark)] {
            let mut found = found(&[("rt/t", 2, false), ("rt/t", 3, true)]);
            found.marks.insert(found.graph.endpoints[1].gid, mark);
            assert_eq!(judge(&found, &ros1(&[("/t", &["/old"], &["/node3"])])), []);
        }
        let foreign = found(&[("rt/t", 2, false), ("rt/t", 3, true)]);
        assert_eq!(judge(&foreign, &ros1(&[("/t", &["/old"], &["/node3"])])), [], "a bridge with one name");
    }

    #[test]
    fn types_that_do_not_correspond_are_reported() {
        let mut found = found(&[("rt/t", 2, false)]);
        found.graph.endpoints[0].dds_type = "std_msgs::msg::dds_::Int32_".into();
        let findings = judge(&found, &ros1(&[("/t", &["/old"], &[])]));
        let what = &findings[0].what;
        assert!(
            what.contains("std_msgs/String in ROS 1 (/old), and std_msgs/msg/Int32 in ROS 2 (/node2)"),
            "{what}"
        );
        assert_eq!(findings[0].severity, Severity::Warning);
    }
}
