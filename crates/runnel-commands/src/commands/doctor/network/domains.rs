//! Participants of other domains that have what is missing in this one.

use std::collections::{BTreeMap, BTreeSet};

use runnel::Ros2Graph;

use super::found::{NetworkFound, topic_of};
use crate::commands::doctor::finding::{Area, Finding};
use crate::commands::doctor::ros2::found::{Ros2Found, names};
use crate::graphs::{holder, is_hidden, is_publisher};
use crate::output::listed;

/// Number of topics named in a finding.
const NAMED: usize = 4;

const DOMAIN: &str = "ROS_DOMAIN_ID";

/// Nodes at one side of a topic.
type Sides = BTreeMap<String, [Vec<String>; 2]>;

pub fn judge(network: &NetworkFound, ros2: Option<&Ros2Found>) -> Vec<Finding> {
    let ros2 = ros2.filter(|found| found.has_nodes);
    if ros2.is_none() {
        return nodes_in_other_domains(network).into_iter().collect();
    }
    let here = ros2.map(|found| sides(&found.graph)).unwrap_or_default();
    let others = network.other_domains.iter();
    others.filter_map(|(domain, graph)| complement(&here, *domain, &sides(graph), network)).collect()
}

fn sides(graph: &Ros2Graph) -> Sides {
    let mut sides = Sides::new();
    for end in &graph.endpoints {
        let Some(topic) = topic_of(end).filter(|topic| !is_hidden(topic)) else { continue };
        sides.entry(topic.to_owned()).or_default()[usize::from(is_publisher(end))].push(holder(end));
    }
    sides
}

/// Nothing is in this domain, and something in another.
fn nodes_in_other_domains(network: &NetworkFound) -> Option<Finding> {
    let with_nodes = network.other_domains.iter().filter(|(_, graph)| !graph.participants.is_empty());
    let each: Vec<String> =
        with_nodes.clone().map(|(domain, graph)| format!("{} in domain {domain}", nodes(graph))).collect();
    let first = with_nodes.map(|(domain, _)| *domain).next()?;
    let set = network.variables.get(DOMAIN).map_or("is not set".to_owned(), |value| format!("is {value}"));
    let what =
        format!("{set}, and no participant is in domain {}; there is {}", network.domain, each.join("; "));
    Some(Finding::warning(Area::Network, DOMAIN, what, &format!("export ROS_DOMAIN_ID={first}")))
}

fn nodes(graph: &Ros2Graph) -> String {
    match graph.nodes.is_empty() {
        true => crate::output::counted(graph.participants.len(), "participant"),
        false => names(graph.nodes.iter().map(|node| node.full_name.clone())),
    }
}

/// Topics with one end here and the other end in another domain.
fn complement(here: &Sides, domain: u16, there: &Sides, network: &NetworkFound) -> Option<Finding> {
    let lacks = |topic: &&String| {
        let ([subscribed, published], Some([theirs, sent])) = (&here[*topic], there.get(*topic)) else {
            return false;
        };
        (published.is_empty() && !subscribed.is_empty() && !sent.is_empty())
            || (subscribed.is_empty() && !published.is_empty() && !theirs.is_empty())
    };
    let topics: Vec<&String> = here.keys().filter(lacks).collect();
    let ends = |sides: &Sides| {
        let all = topics.iter().filter_map(|topic| sides.get(*topic)).flatten().flatten();
        names(all.cloned().collect::<BTreeSet<_>>())
    };
    if topics.is_empty() {
        return None;
    }
    let what = format!(
        "{} has one end in domain {} ({}) and the other in domain {domain} ({})",
        listed(&topics, NAMED),
        network.domain,
        ends(here),
        ends(there)
    );
    let advice = format!(
        "start them all with the same ROS_DOMAIN_ID: export ROS_DOMAIN_ID={domain}, or {}",
        network.domain
    );
    Some(Finding::warning(Area::Network, DOMAIN, what, &advice))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graphs::tests::graph;
    use runnel::NodeInfo;

    fn network(ends: &[(&str, u8, bool)]) -> NetworkFound {
        let mut graph = graph(ends);
        let node =
            |one: &runnel::ParticipantInfo| NodeInfo { full_name: "/talker".into(), participant: one.gid };
        graph.nodes = graph.participants.iter().map(node).collect();
        NetworkFound { other_domains: [(5, graph)].into(), ..NetworkFound::default() }
    }

    #[test]
    fn empty_domain_names_the_one_in_use() {
        let findings = judge(&network(&[("rt/a", 1, true)]), None);
        assert_eq!(
            findings[0].what,
            "is not set, and no participant is in domain 0; there is /talker in domain 5"
        );
        assert_eq!(findings[0].advice, "export ROS_DOMAIN_ID=5");
        assert_eq!(judge(&NetworkFound::default(), None), []);
    }

    #[test]
    fn topic_with_its_other_end_in_another_domain_is_reported() {
        let here = |ends| Ros2Found { has_nodes: true, graph: graph(ends), ..Ros2Found::default() };
        let there = network(&[("rt/a", 1, true)]);
        let findings = judge(&there, Some(&here(&[("rt/a", 2, false)])));
        assert_eq!(
            findings[0].what,
            "/a has one end in domain 0 (/node2) and the other in domain 5 (/node1)"
        );
        assert_eq!(judge(&there, Some(&here(&[("rt/a", 2, false), ("rt/a", 3, true)]))), []);
        assert_eq!(judge(&there, Some(&here(&[("rt/a", 2, true)]))), []);
    }
}
