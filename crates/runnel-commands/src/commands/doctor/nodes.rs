//! Faults of nodes: whether they answer, at which address, and which node answers there.

use std::collections::BTreeMap;

use runnel_io::lookup::is_loopback;
use runnel_ros1::rpc::Uri;

use super::finding::{Area, Finding};
use super::found::{GraphFound, Here, NodeFound, ServerFault};
use crate::graph::names_of;
use crate::output::listed;

/// Number of topics named in a finding.
const NAMED: usize = 3;

pub fn judge(here: &Here, graph: &GraphFound) -> Vec<Finding> {
    let shared = shared_uris(graph);
    let mut findings: Vec<Finding> = shared.values().filter_map(|nodes| shared_uri(nodes, graph)).collect();
    for (name, node) in &graph.nodes {
        let is_only_one = !node.uri.as_ref().is_some_and(|uri| shared.contains_key(uri));
        match loopback_finding(name, node, here, graph) {
            // An unreachable address hides all further faults.
            Some(finding) if !has_local_master(here) => findings.push(finding),
            finding => {
                findings.extend(finding);
                findings.extend(fault(name, node));
            }
        }
        if is_only_one {
            findings.extend(other_node_finding(name, node).or_else(|| forgotten_topics(name, node, graph)));
        }
    }
    findings
}

/// Whether the master is on this host.
fn has_local_master(here: &Here) -> bool {
    here.master.as_ref().is_none_or(|master| master.own)
}

fn fault(name: &str, node: &NodeFound) -> Option<Finding> {
    let fault = node.fault.as_ref()?;
    let what = fault.about(node.uri.as_deref().unwrap_or_default());
    let (more, advice) = match fault {
        ServerFault::Refused => (": its process ended without unregistering", "runnel node cleanup"),
        ServerFault::NoUri | ServerFault::BadUri(_) => ("", "start the node again"),
        ServerFault::Unresolved { .. } => {
            ("", "set ROS_IP where the node runs, or add the name to /etc/hosts of every host")
        }
        ServerFault::Mute => (
            ": it is stopped, or hangs",
            "look at its process ('ps' shows T for a stopped one), or restart it",
        ),
        ServerFault::Silent => {
            ("", "its host is off or a firewall is in between; if it is gone: runnel node cleanup")
        }
        ServerFault::Unreachable(_) => {
            ("", "check the network of both hosts; if it is gone: runnel node cleanup")
        }
        ServerFault::Nonsense(_) => ("", "another program has its port now: restart the node"),
    };
    Some(Finding::error(Area::Node, name, what + more, advice))
}

/// A node that other hosts cannot reach, since it announces a loopback address.
fn loopback_finding(name: &str, node: &NodeFound, here: &Here, graph: &GraphFound) -> Option<Finding> {
    let master = here.master.as_ref()?;
    let reached = master.address.is_some_and(|address| !address.is_loopback());
    let uri = node.uri.as_deref().filter(|_| reached)?;
    let host = Uri::parse(uri).ok()?.endpoint.host;
    if !is_loopback(&host) {
        return None;
    }
    let what = format!("announces itself at {uri}, where no other host can reach it");
    let advice = "set ROS_IP where it runs to an address of that host, and start it again";
    let is_remote = |node: &NodeFound| node.address.is_some() && !node.own;
    match !master.own || graph.nodes.values().any(is_remote) {
        true => Some(Finding::error(Area::Node, name, what, advice)),
        false => Some(Finding::warning(Area::Node, name, what, advice)),
    }
}

/// The URIs at which several nodes are registered.
fn shared_uris(graph: &GraphFound) -> BTreeMap<&String, Vec<&str>> {
    let mut uris: BTreeMap<&String, Vec<&str>> = BTreeMap::new();
    for (name, node) in &graph.nodes {
        if let Some(uri) = &node.uri {
            uris.entry(uri).or_default().push(name);
        }
    }
    uris.retain(|_, nodes| nodes.len() > 1);
    uris
}

fn shared_uri(nodes: &[&str], graph: &GraphFound) -> Option<Finding> {
    let node = graph.nodes.get(*nodes.first()?)?;
    let answers = match &node.reported_name {
        Some(name) => format!(", where {name}{} answers", process_of(node)),
        None => String::new(),
    };
    let what = format!("all registered at {}{answers}", node.uri.as_deref().unwrap_or_default());
    let advice = "one is left over from a process that is gone: restart the others, then runnel node cleanup";
    Some(Finding::error(Area::Node, listed(nodes, NAMED), what, advice))
}

/// The process that answers for a node, if it reports its id.
fn process_of(node: &NodeFound) -> String {
    node.pid.map_or_else(String::new, |pid| format!(" (process {pid})"))
}

/// A node whose port another node has taken.
fn other_node_finding(name: &str, node: &NodeFound) -> Option<Finding> {
    let other = node.reported_name.as_ref().filter(|other| *other != name)?;
    let uri = node.uri.as_deref().unwrap_or_default();
    let what = format!("{other}{} answers at {uri}", process_of(node));
    let advice = "the node is gone and another has its port: restart the other, then runnel node cleanup";
    Some(Finding::error(Area::Node, name, what, advice))
}

/// A node that does not know topics that the master lists for it: another process, or the node forgot them.
fn forgotten_topics(name: &str, node: &NodeFound, graph: &GraphFound) -> Option<Finding> {
    let own = node.publications.as_ref()?;
    let mut unknown = names_of(&graph.state.publishers, name);
    unknown.retain(|topic| !own.contains_key(topic));
    if unknown.is_empty() {
        return None;
    }
    let what = format!("registered as publisher of {}, which it does not publish", listed(&unknown, NAMED));
    Some(Finding::warning(Area::Node, name, what, "a stale registration: restart the node"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::doctor::finding::Severity;
    use crate::commands::doctor::found::MasterFound;

    fn here(address: [u8; 4], own: bool) -> Here {
        let uri = "http://master:11311/".into();
        let master = MasterFound { uri, address: Some(address.into()), own, fault: None };
        Here { master: Some(master), ..Here::default() }
    }

    fn node(uri: &str) -> NodeFound {
        let host = Uri::parse(uri).expect("an address").endpoint.host;
        let address: Option<std::net::IpAddr> = host.parse().ok();
        let own = address.is_some_and(|address| address.is_loopback());
        NodeFound { uri: Some(uri.into()), address, own, ..NodeFound::default() }
    }

    fn graph(nodes: &[(&str, NodeFound)]) -> GraphFound {
        let nodes = nodes.iter().map(|(name, node)| ((*name).to_owned(), node.clone())).collect();
        GraphFound { nodes, ..GraphFound::default() }
    }

    fn reported(here: &Here, graph: &GraphFound) -> Vec<(Severity, String, String)> {
        let findings = judge(here, graph).into_iter();
        findings
            .map(|finding| (finding.severity, finding.subject, finding.what + " " + &finding.advice))
            .collect()
    }

    const LOCAL: [u8; 4] = [127, 0, 0, 1];

    #[test]
    fn answering_nodes_are_sound() {
        let named = NodeFound { reported_name: Some("/a".into()), ..node("http://127.0.0.1:1/") };
        let graph = graph(&[("/a", named), ("/b", node("http://127.0.0.1:2/"))]);
        assert_eq!(reported(&here(LOCAL, true), &graph), []);
    }

    #[test]
    fn each_fault_is_an_error_with_advice() {
        let faults = [
            (ServerFault::Refused, "runnel node cleanup"),
            (ServerFault::Mute, "stopped"),
            (ServerFault::Silent, "firewall"),
            (ServerFault::Unreachable("no route to host".into()), "no route to host"),
            (ServerFault::Unresolved { host: "robot".into(), why: "unknown".into() }, "ROS_IP"),
            (ServerFault::Nonsense("a web page".into()), "a web page"),
            (ServerFault::NoUri, "has no address"),
            (ServerFault::BadUri("no address".into()), "no address"),
        ];
        for (fault, said) in faults {
            let dead = NodeFound { fault: Some(fault), ..node("http://127.0.0.1:1/") };
            let reported = reported(&here(LOCAL, true), &graph(&[("/a", dead)]));
            let [(Severity::Error, subject, text)] = &reported[..] else { panic!("{reported:?}") };
            assert!(subject == "/a" && text.contains(said), "{text}");
        }
    }

    #[test]
    fn loopback_node_is_a_fault_with_remote_master() {
        let graph = graph(&[("/a", node("http://localhost:1/")), ("/b", node("http://10.0.0.1:1/"))]);
        assert_eq!(reported(&here(LOCAL, true), &graph), []);
        let reported = |own| reported(&here([10, 0, 0, 1], own), &graph);
        let [(Severity::Error, subject, text)] = &reported(false)[..] else { panic!() };
        assert!(subject == "/a" && text.contains("no other host"), "{text}");
        assert_eq!(
            reported(true).first().map(|found| found.0),
            Some(Severity::Error),
            "/b is on another host"
        );
    }

    #[test]
    fn loopback_on_a_single_host_is_a_warning() {
        let graph = graph(&[("/a", node("http://127.0.0.1:1/"))]);
        let [(Severity::Warning, ..)] = &reported(&here([10, 0, 0, 1], true), &graph)[..] else { panic!() };
    }

    #[test]
    fn loopback_node_of_another_host_has_one_finding() {
        let dead = NodeFound { fault: Some(ServerFault::Refused), ..node("http://127.0.0.1:1/") };
        let graph = graph(&[("/a", dead)]);
        assert_eq!(reported(&here([10, 0, 0, 1], false), &graph).len(), 1);
        assert_eq!(reported(&here([10, 0, 0, 1], true), &graph).len(), 2);
    }

    #[test]
    fn other_node_at_the_address_is_named_once() {
        let other =
            NodeFound { reported_name: Some("/b".into()), pid: Some(7), ..node("http://127.0.0.1:1/") };
        let one = reported(&here(LOCAL, true), &graph(&[("/a", other.clone())]));
        let [(Severity::Error, _, text)] = &one[..] else { panic!("{one:?}") };
        assert!(text.contains("/b (process 7) answers"), "{text}");
        let both = reported(&here(LOCAL, true), &graph(&[("/a", other.clone()), ("/b", other)]));
        let [(Severity::Error, subject, text)] = &both[..] else { panic!("{both:?}") };
        assert!(subject == "/a and /b" && text.contains("where /b (process 7) answers"), "{text}");
    }

    #[test]
    fn publisher_without_its_topic_is_reported() {
        let own = NodeFound { publications: Some(BTreeMap::new()), ..node("http://127.0.0.1:1/") };
        let mut graph = graph(&[("/a", own)]);
        graph.state.publishers.insert("/t".into(), vec!["/a".into()]);
        let found_all = reported(&here(LOCAL, true), &graph);
        let [(Severity::Warning, _, text)] = &found_all[..] else { panic!("{found_all:?}") };
        assert!(text.contains("/t"), "{text}");
        let mut node = graph.nodes["/a"].clone();
        node.publications = Some([("/t".to_owned(), "a/B".to_owned())].into());
        graph.nodes.insert("/a".into(), node);
        assert_eq!(reported(&here(LOCAL, true), &graph), []);
    }
}
