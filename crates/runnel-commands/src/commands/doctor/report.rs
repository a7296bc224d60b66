//! Text and JSON of the findings, and of what was checked.

use std::collections::{BTreeMap, BTreeSet};

use runnel::core::names::DdsTopic;
use serde_json::{Value as Json, json};

use super::finding::{Finding, Severity, wrapped};
use super::found::{Found, GraphFound, NodeFound};
use super::ros2::{self, found::Ros2Found};
use crate::commands::bridge::is_report_topic;
use crate::graph::names_of;
use crate::output::{counted, lines, table};

/// Number of findings of a severity.
pub fn count(findings: &[Finding], severity: Severity) -> usize {
    findings.iter().filter(|finding| finding.severity == severity).count()
}

/// All findings, the most severe first; what was checked; and a last line of counts.
pub fn text(found: &Found, findings: &[Finding], width: usize) -> String {
    let are_both_looked_at = found.graph.is_some() && found.here.has_ros2;
    let text: String = findings.iter().map(|finding| finding.text(width, are_both_looked_at)).collect();
    let checked = match &found.graph {
        Some(graph) => checked_items(graph).map(|(word, count)| counted(count, word)).join(", "),
        None => "this process".to_owned(),
    };
    let checked = match found.ros2.as_ref().filter(|_| found.here.has_ros2).map(checked_in_ros2) {
        Some(in_ros2) if found.graph.is_some() => format!("in ROS 1: {checked}; in ROS 2: {in_ros2}"),
        Some(in_ros2) => format!("{checked}; in ROS 2: {in_ros2}"),
        None => checked,
    };
    let counts = Severity::ALL.map(|severity| counted(count(findings, severity), severity.name()));
    let verdict = if findings.is_empty() { "no problems found".to_owned() } else { counts.join(", ") };
    let checked = wrapped(&format!("checked {checked}"), width, ["", "    "]);
    format!("{text}{checked}{verdict}\n")
}

/// What was checked in ROS 2, with counts. The topics on which bridges report are no topics of the user's nodes.
fn checked_in_ros2(found: &Ros2Found) -> String {
    let topics = found.graph.endpoints.iter().filter_map(|end| match end.ros_topic() {
        Some(DdsTopic::Topic(topic)) if !is_report_topic(topic) => Some(topic),
        _ => None,
    });
    let topics = topics.collect::<BTreeSet<_>>().len();
    let nodes = counted(found.graph.nodes.len(), "node");
    format!("{}, {nodes}, {}", found.participants, counted(topics, "topic"))
}

/// What was checked, with counts.
fn checked_items(graph: &GraphFound) -> [(&'static str, usize); 4] {
    let connections = graph.nodes.values().filter_map(|node| node.connections.as_ref());
    [
        ("node", graph.nodes.len()),
        ("topic", graph.state.topics().len()),
        ("connection", connections.flatten().filter(|link| link.direction == "i").count()),
        ("service", graph.services.len()),
    ]
}

pub fn json(found: &Found, findings: &[Finding], whole: bool) -> Json {
    let counts: BTreeMap<_, _> =
        Severity::ALL.into_iter().map(|severity| (severity.name(), count(findings, severity))).collect();
    let checked: Option<BTreeMap<_, _>> = found.graph.as_ref().map(|graph| checked_items(graph).into());
    let findings: Vec<Json> = findings.iter().map(Finding::json).collect();
    let mut json = json!({ "findings": findings, "counts": counts, "looked_at": checked });
    if whole {
        json["report"] = report_json(found);
    }
    json
}

/// The graph as it was found.
pub fn report(found: &Found) -> String {
    let variable = |(name, value): &(&str, String)| format!("{name}={value}");
    let mut text = lines(found.here.variables.iter().map(variable));
    if let Some(master) = &found.here.master {
        let address = master.address.map_or("no address".to_owned(), |address| address.to_string());
        text += &lines([format!("master {} ({address})", master.uri)]);
    }
    if !text.is_empty() {
        text.push('\n');
    }
    if let Some(graph) = &found.graph {
        text += &hosts(graph);
        text += "\n";
        text += &nodes(graph);
        text += "\n";
    }
    if let Some(ros2) = found.ros2.as_ref().filter(|_| found.here.has_ros2) {
        text += &ros2::report::text(ros2);
    }
    text
}

fn host(node: &NodeFound) -> String {
    node.address.map_or("unknown".to_owned(), |address| address.to_string())
}

fn hosts(graph: &GraphFound) -> String {
    let mut hosts: BTreeMap<String, [usize; 2]> = BTreeMap::new();
    for node in graph.nodes.values() {
        let [all, answer] = hosts.entry(host(node)).or_default();
        *all += 1;
        *answer += usize::from(node.fault.is_none());
    }
    let rows: Vec<Vec<String>> = hosts
        .into_iter()
        .map(|(host, [all, answer])| vec![host, all.to_string(), answer.to_string()])
        .collect();
    table(&["host", "nodes", "answer"], &rows)
}

fn nodes(graph: &GraphFound) -> String {
    let row = |(name, node): (&String, &NodeFound)| {
        let count = |holders| names_of(holders, name).len().to_string();
        let state = &graph.state;
        let pid = node.pid.map_or("-".to_owned(), |pid| pid.to_string());
        let (published, subscribed) = (count(&state.publishers), count(&state.subscribers));
        vec![name.clone(), host(node), pid, published, subscribed, count(&state.services)]
    };
    let rows: Vec<Vec<String>> = graph.nodes.iter().map(row).collect();
    table(&["node", "host", "pid", "pubs", "subs", "services"], &rows)
}

fn report_json(found: &Found) -> Json {
    let variables: BTreeMap<_, _> = found.here.variables.iter().map(|(name, value)| (*name, value)).collect();
    let master = found.here.master.as_ref();
    let master = master.map(|master| json!({ "uri": master.uri, "address": master.address }));
    let node = |(name, node): (&String, &NodeFound)| {
        json!({ "name": name, "uri": node.uri, "address": node.address, "pid": node.pid,
            "answers": node.fault.is_none() })
    };
    let nodes: Option<Vec<Json>> = found.graph.as_ref().map(|graph| graph.nodes.iter().map(node).collect());
    let ros2 = found.ros2.as_ref().map(ros2::report::json);
    json!({ "variables": variables, "master": master, "nodes": nodes, "ros2": ros2 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::doctor::finding::{Area, WIDTH};
    use crate::commands::doctor::found::Here;
    use crate::graphs::tests::graph;
    use runnel::bridge::bridge_node_name;

    fn found() -> Found {
        let mut graph = GraphFound::default();
        graph.nodes.insert("/a".into(), NodeFound { pid: Some(7), ..NodeFound::default() });
        graph.state.publishers.insert("/t".into(), vec!["/a".into()]);
        Found { graph: Some(graph), ..Found::default() }
    }

    #[test]
    fn last_line_counts_findings_and_checks() {
        let looked = "checked 1 node, 1 topic, 0 connections, 0 services\n";
        assert_eq!(text(&found(), &[], WIDTH), format!("{looked}no problems found\n"));
        let finding = Finding::error(Area::Node, "/a", "dead", "bury it");
        let expected = format!("error: /a: dead\n  -> bury it\n{looked}1 error, 0 warnings, 0 infos\n");
        assert_eq!(text(&found(), std::slice::from_ref(&finding), WIDTH), expected);
        let json = json(&found(), &[finding], true);
        assert_eq!(json["counts"], json!({ "error": 1, "info": 0, "warning": 0 }));
        assert_eq!(json["findings"][0]["advice"], "bury it");
        assert_eq!(json["report"]["nodes"][0]["pid"], 7);
    }

    #[test]
    fn summary_fits_the_width_and_leaves_out_topics_of_bridges() {
        let status = format!("rt/{}/status", bridge_node_name(5));
        let ros2 = Ros2Found {
            participants: "2 participants in domain 0".into(),
            graph: graph(&[("rt/t", 1, true), (&status, 2, true)]),
            ..Ros2Found::default()
        };
        let findings = ros2::judge(&ros2);
        assert!(findings.iter().all(|finding| !finding.subject.contains("status")), "{findings:?}");
        let here = Here { has_ros2: true, ..Here::default() };
        let text = text(&Found { here, ros2: Some(ros2), ..found() }, &[], WIDTH);
        let expected = "checked in ROS 1: 1 node, 1 topic, 0 connections, 0 services; in ROS 2: 2\n    \
                        participants in domain 0, 0 nodes, 1 topic\nno problems found\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn report_lists_hosts_and_nodes() {
        let text = report(&found());
        assert!(text.contains("host     nodes  answer\nunknown      1       1\n"), "{text}");
        assert!(text.contains("/a    unknown    7     1     0         0\n"), "{text}");
    }
}
