//! Topics that several carriers bring from one graph into the other: messages arrive twice, or go round without end.

use std::collections::{BTreeMap, BTreeSet};

use runnel::bridge::{EndpointMark, bridge_of_node};
use runnel::core::names::DdsTopic;

use super::found::Ros2Found;
use crate::commands::doctor::finding::{Area, Finding, shell_word};
use crate::commands::doctor::found::GraphFound;
use crate::graphs::{holder, is_hidden, is_publisher};
use crate::output::listed;

/// Topics that every node has in its own graph, and that bridges leave alone.
const OWN: [&str; 2] = ["/rosout", "/parameter_events"];

/// Number of carriers named in a finding.
const NAMED: usize = 4;

/// Directions in which a node carries a topic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Directions {
    to_ros1: bool,
    to_ros2: bool,
}

/// The nodes that are in both graphs by one name and say nothing of it: bridges of other programs, such as ros1_bridge.
pub fn foreign_bridges(found: &Ros2Found, ros1: &GraphFound) -> BTreeSet<String> {
    let marked: BTreeSet<&str> = found
        .graph
        .endpoints
        .iter()
        .filter(|end| found.marks.contains_key(&end.gid))
        .filter_map(|end| end.node.as_deref())
        .collect();
    let in_ros2 = found.graph.endpoints.iter().filter_map(|end| end.node.as_deref());
    let is_bridge = |node: &&str| {
        ros1.nodes.contains_key(*node)
            && !marked.contains(node)
            && !is_hidden(node)
            && bridge_of_node(node).is_none()
    };
    in_ros2.filter(is_bridge).map(str::to_owned).collect()
}

pub fn judge(found: &Ros2Found, ros1: &GraphFound) -> Vec<Finding> {
    let foreign = foreign_bridges(found, ros1);
    let carriers = carriers(found, ros1, &foreign);
    let mut findings = Vec::new();
    for (topic, carriers) in carriers {
        findings.extend(circle(&topic, &carriers));
        findings.extend(foreign_bridge_with_dual_node(&topic, &carriers, found));
    }
    findings
}

/// The bridges of each topic, with directions.
fn carriers(
    found: &Ros2Found,
    ros1: &GraphFound,
    foreign: &BTreeSet<String>,
) -> BTreeMap<String, BTreeMap<String, Directions>> {
    let mut topics: BTreeMap<String, BTreeMap<String, Directions>> = BTreeMap::new();
    for end in &found.graph.endpoints {
        let Some(DdsTopic::Topic(topic)) = end.ros_topic().filter(|_| end.node.is_some()) else { continue };
        let node = holder(end);
        let mark = found.marks.get(&end.gid);
        let is_ours = matches!(mark, Some(EndpointMark::Bridge(_)));
        if OWN.contains(&topic) || !is_ours && !foreign.contains(&node) {
            continue;
        }
        let has = |nodes: &[String]| nodes.contains(&node);
        let directions = Directions {
            // A bridge of Runnel has one name in both graphs, too.
            to_ros2: is_publisher(end) && has(ros1.subscribers(topic)),
            to_ros1: !is_publisher(end) && has(ros1.publishers(topic)),
        };
        let known = topics.entry(topic.to_owned()).or_default().entry(node).or_default();
        known.to_ros1 |= directions.to_ros1;
        known.to_ros2 |= directions.to_ros2;
    }
    for carriers in topics.values_mut() {
        carriers.retain(|_, directions| *directions != Directions::default());
    }
    topics
}

/// Several bridges of one topic.
fn circle(topic: &str, carriers: &BTreeMap<String, Directions>) -> Option<Finding> {
    let nodes: Vec<&String> = carriers.keys().collect();
    let both =
        |pick: fn(&Directions) -> bool| carriers.values().filter(|directions| pick(directions)).count();
    let pairs = carriers.iter().flat_map(|one| carriers.iter().map(move |other| (one, other)));
    let is_circle = |((one, to), (other, back)): &((&String, &Directions), (&String, &Directions))| {
        one != other && to.to_ros1 && back.to_ros2
    };
    let named = listed(&nodes, NAMED);
    let stop = nodes.last()?;
    let advice = format!("stop all but one of these bridges: runnel node kill {}", shell_word(stop));
    if pairs.clone().any(|pair| is_circle(&pair)) {
        let what = format!(
            "{named} carry it between the graphs in opposite directions: each message goes round without end"
        );
        return Some(Finding::error(Area::Bridge, topic, what, &advice));
    }
    let is_double = both(|of| of.to_ros1) > 1 || both(|of| of.to_ros2) > 1;
    let what = format!("{named} carry it in the same direction: each message arrives more than once");
    is_double.then(|| Finding::error(Area::Bridge, topic, what, &advice))
}

/// A bridge of another program that carries a topic of a dual node.
fn foreign_bridge_with_dual_node(
    topic: &str,
    carriers: &BTreeMap<String, Directions>,
    found: &Ros2Found,
) -> Option<Finding> {
    let is_of_topic = |end: &&runnel::EndpointInfo| end.ros_topic() == Some(DdsTopic::Topic(topic));
    let ends = || found.graph.endpoints.iter().filter(is_of_topic);
    let dual = ends().find(|end| found.is_dual(end)).map(holder)?;
    let is_ours = |node: &str| {
        ends().any(|end| {
            end.node.as_deref() == Some(node)
                && matches!(found.marks.get(&end.gid), Some(EndpointMark::Bridge(_)))
        })
    };
    let bridge = carriers.keys().find(|node| !is_ours(node))?;
    let what =
        format!("{bridge} carries it between the graphs, and {dual} is in both: its messages arrive twice");
    let advice = format!("take {topic} out of the topics of {bridge}, or have {dual} in one graph only");
    Some(Finding::error(Area::Bridge, topic, what, &advice))
}

#[cfg(test)]
mod tests {
    use super::super::mixed::tests::ros1;
    use super::*;
    use crate::graphs::tests::graph;
    use runnel::bridge::BridgeMark;

    fn found(ends: &[(&str, u8, bool)]) -> Ros2Found {
        Ros2Found { graph: graph(ends), ..Ros2Found::default() }
    }

    fn texts(found: &Ros2Found, ros1: &GraphFound) -> Vec<String> {
        judge(found, ros1).into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn one_bridge_is_sound() {
        let ros1 = ros1(&[("/t", &["/old"], &["/node1"])]);
        assert!(texts(&found(&[("rt/t", 1, true), ("rt/t", 2, false)]), &ros1).is_empty());
    }

    #[test]
    fn bridges_in_opposite_directions_go_in_a_circle() {
        let ros1 = ros1(&[("/t", &["/node2"], &["/node1"])]);
        let texts = texts(&found(&[("rt/t", 1, true), ("rt/t", 2, false)]), &ros1);
        let expected = "/node1 and /node2 carry it between the graphs in opposite directions: each message goes round \
                        without end";
        assert_eq!(texts, [expected]);
    }

    #[test]
    fn two_bridges_in_one_direction_double_messages() {
        let ros1 = ros1(&[("/t", &["/old"], &["/node1", "/node2"])]);
        let mut found = found(&[("rt/t", 1, true), ("rt/t", 2, true)]);
        assert!(texts(&found, &ros1)[0].contains("/node1 and /node2 carry it in the same direction"));
        let mark = EndpointMark::Bridge(BridgeMark { bridge: 1, ros1_graph: 1 });
        found.marks.insert(found.graph.endpoints[0].gid, mark);
        assert_eq!(texts(&found, &ros1).len(), 1, "a bridge of Runnel and another");
    }

    #[test]
    fn foreign_bridge_with_dual_node_doubles_messages() {
        let ros1 = ros1(&[("/t", &["/node2"], &["/node1"])]);
        let mut found = found(&[("rt/t", 1, true), ("rt/t", 2, true)]);
        found.marks.insert(found.graph.endpoints[1].gid, EndpointMark::DualNode(None));
        assert_eq!(
            texts(&found, &ros1),
            ["/node1 carries it between the graphs, and /node2 is in both: its messages arrive twice"]
        );
        let mark = EndpointMark::Bridge(BridgeMark { bridge: 1, ros1_graph: 1 });
        found.marks.insert(found.graph.endpoints[0].gid, mark);
        assert!(texts(&found, &ros1).is_empty(), "Runnel's bridge leaves dual nodes alone");
    }
}
