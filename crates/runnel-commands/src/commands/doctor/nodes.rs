//! What may be wrong with nodes: whether they answer, where, and who it is that answers.

use std::collections::BTreeMap;

use runnel::io::lookup::is_loopback;
use runnel::ros1::rpc::Uri;

use super::finding::{Area, Finding};
use super::found::{GraphFound, Here, NodeFound, Trouble};
use crate::graph::names_of;
use crate::output::listed;

/// How many topics are named in a finding.
const NAMED: usize = 3;

pub fn judge(here: &Here, graph: &GraphFound) -> Vec<Finding> {
    let shared = shared_uris(graph);
    let mut findings: Vec<Finding> = shared.values().filter_map(|nodes| shared_uri(nodes, graph)).collect();
    for (name, node) in &graph.nodes {
        let alone = !node.uri.as_ref().is_some_and(|uri| shared.contains_key(uri));
        match of_loopback(name, node, here, graph) {
            // Where it cannot be reached by that address, no more is known of it.
            Some(finding) if !beside_us(here) => findings.push(finding),
            finding => {
                findings.extend(finding);
                findings.extend(trouble(name, node));
            }
        }
        if alone {
            findings.extend(of_other_name(name, node).or_else(|| forgotten(name, node, graph)));
        }
    }
    findings
}

/// Whether the master is on this host.
fn beside_us(here: &Here) -> bool {
    here.master.as_ref().is_none_or(|master| master.own)
}

fn trouble(name: &str, node: &NodeFound) -> Option<Finding> {
    let trouble = node.trouble.as_ref()?;
    let what = trouble.about(node.uri.as_deref().unwrap_or_default());
    let (more, advice) = match trouble {
        Trouble::Refused => (": its process ended without unregistering", "runnel node cleanup"),
        Trouble::NoUri | Trouble::BadUri(_) => ("", "start the node again"),
        Trouble::Unresolved { .. } => {
            ("", "set ROS_IP where the node runs, or add the name to /etc/hosts of every host")
        }
        Trouble::Mute => (
            ": it is stopped, or hangs",
            "look at its process ('ps' shows T for a stopped one), or restart it",
        ),
        Trouble::Silent => {
            ("", "its host is off or a firewall is between; if it is gone: runnel node cleanup")
        }
        Trouble::Unreachable(_) => {
            ("", "check the network of both hosts; if it is gone: runnel node cleanup")
        }
        Trouble::Nonsense(_) => ("", "its port belongs to another program by now: restart the node"),
    };
    Some(Finding::error(Area::Node, name, what + more, advice))
}

/// A node that others cannot reach since it says that it is at loopback.
fn of_loopback(name: &str, node: &NodeFound, here: &Here, graph: &GraphFound) -> Option<Finding> {
    let master = here.master.as_ref()?;
    let reached = master.address.is_some_and(|address| !address.is_loopback());
    let uri = node.uri.as_deref().filter(|_| reached)?;
    let host = Uri::parse(uri).ok()?.endpoint.host;
    if !is_loopback(&host) {
        return None;
    }
    let what = format!("announces itself at {uri}, where no other host can reach it");
    let advice = "set ROS_IP where it runs to an address of that host, and start it again";
    let elsewhere = |node: &NodeFound| node.address.is_some() && !node.own;
    match !master.own || graph.nodes.values().any(elsewhere) {
        true => Some(Finding::error(Area::Node, name, what, advice)),
        false => Some(Finding::warning(Area::Node, name, what, advice)),
    }
}

/// The nodes that are registered at one URI with others.
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
    let answers = match &node.calls_itself {
        Some(name) => format!(", where {name} answers"),
        None => String::new(),
    };
    let what = format!("all registered at {}{answers}", node.uri.as_deref().unwrap_or_default());
    let advice = "one is left over from a process that is gone: restart the others, then runnel node cleanup";
    Some(Finding::error(Area::Node, listed(nodes, NAMED), what, advice))
}

/// Another node took the port of one that is gone.
fn of_other_name(name: &str, node: &NodeFound) -> Option<Finding> {
    let other = node.calls_itself.as_ref().filter(|other| *other != name)?;
    let what = format!("{other} answers at {}", node.uri.as_deref().unwrap_or_default());
    let advice = "the node is gone and its port was taken over: restart the other, then runnel node cleanup";
    Some(Finding::error(Area::Node, name, what, advice))
}

/// Whoever answers knows nothing of topics that the master lists: the process is another one, or the node forgot them.
fn forgotten(name: &str, node: &NodeFound, graph: &GraphFound) -> Option<Finding> {
    let own = node.publications.as_ref()?;
    let mut unknown = names_of(&graph.state.publishers, name);
    unknown.retain(|topic| !own.contains_key(topic));
    if unknown.is_empty() {
        return None;
    }
    let what = format!("registered as publisher of {}, of which it knows nothing", listed(&unknown, NAMED));
    Some(Finding::warning(Area::Node, name, what, "a registration that was left over: restart the node"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::doctor::finding::Severity;
    use crate::commands::doctor::found::MasterFound;

    fn here(address: [u8; 4], own: bool) -> Here {
        let uri = "http://master:11311/".into();
        let master = MasterFound { uri, address: Some(address.into()), own, trouble: None };
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

    fn told(here: &Here, graph: &GraphFound) -> Vec<(Severity, String, String)> {
        let findings = judge(here, graph).into_iter();
        findings
            .map(|finding| (finding.severity, finding.who, finding.what + " " + &finding.advice))
            .collect()
    }

    const LOCAL: [u8; 4] = [127, 0, 0, 1];

    #[test]
    fn nodes_that_answer_for_themselves_are_in_order() {
        let named = NodeFound { calls_itself: Some("/a".into()), ..node("http://127.0.0.1:1/") };
        let graph = graph(&[("/a", named), ("/b", node("http://127.0.0.1:2/"))]);
        assert_eq!(told(&here(LOCAL, true), &graph), []);
    }

    #[test]
    fn each_trouble_is_an_error_with_something_to_do() {
        let troubles = [
            (Trouble::Refused, "runnel node cleanup"),
            (Trouble::Mute, "stopped"),
            (Trouble::Silent, "firewall"),
            (Trouble::Unreachable("no route to host".into()), "no route to host"),
            (Trouble::Unresolved { host: "robot".into(), why: "unknown".into() }, "ROS_IP"),
            (Trouble::Nonsense("a web page".into()), "a web page"),
            (Trouble::NoUri, "does not know"),
            (Trouble::BadUri("no address".into()), "no address"),
        ];
        for (trouble, said) in troubles {
            let dead = NodeFound { trouble: Some(trouble), ..node("http://127.0.0.1:1/") };
            let told = told(&here(LOCAL, true), &graph(&[("/a", dead)]));
            let [(Severity::Error, who, text)] = &told[..] else { panic!("{told:?}") };
            assert!(who == "/a" && text.contains(said), "{text}");
        }
    }

    #[test]
    fn loopback_is_a_fault_where_the_master_is_reached_otherwise() {
        let graph = graph(&[("/a", node("http://localhost:1/")), ("/b", node("http://10.0.0.1:1/"))]);
        assert_eq!(told(&here(LOCAL, true), &graph), []);
        let told = |own| told(&here([10, 0, 0, 1], own), &graph);
        let [(Severity::Error, who, text)] = &told(false)[..] else { panic!() };
        assert!(who == "/a" && text.contains("no other host"), "{text}");
        assert_eq!(told(true).first().map(|found| found.0), Some(Severity::Error), "/b is elsewhere");
    }

    #[test]
    fn loopback_on_a_single_host_is_a_warning() {
        let graph = graph(&[("/a", node("http://127.0.0.1:1/"))]);
        let [(Severity::Warning, ..)] = &told(&here([10, 0, 0, 1], true), &graph)[..] else { panic!() };
    }

    #[test]
    fn a_node_at_loopback_of_another_host_is_not_called_dead_too() {
        let dead = NodeFound { trouble: Some(Trouble::Refused), ..node("http://127.0.0.1:1/") };
        let graph = graph(&[("/a", dead)]);
        assert_eq!(told(&here([10, 0, 0, 1], false), &graph).len(), 1);
        assert_eq!(told(&here([10, 0, 0, 1], true), &graph).len(), 2);
    }

    #[test]
    fn another_node_at_the_address_is_named_once() {
        let other = NodeFound { calls_itself: Some("/b".into()), ..node("http://127.0.0.1:1/") };
        let told_alone = told(&here(LOCAL, true), &graph(&[("/a", other.clone())]));
        let [(Severity::Error, _, text)] = &told_alone[..] else { panic!("{told_alone:?}") };
        assert!(text.contains("/b answers"), "{text}");
        let told_both = told(&here(LOCAL, true), &graph(&[("/a", other.clone()), ("/b", other)]));
        let [(Severity::Error, who, text)] = &told_both[..] else { panic!("{told_both:?}") };
        assert!(who == "/a and /b" && text.contains("where /b answers"), "{text}");
    }

    #[test]
    fn a_publisher_that_knows_nothing_of_its_topic_is_told() {
        let own = NodeFound { publications: Some(BTreeMap::new()), ..node("http://127.0.0.1:1/") };
        let mut graph = graph(&[("/a", own)]);
        graph.state.publishers.insert("/t".into(), vec!["/a".into()]);
        let told_of = told(&here(LOCAL, true), &graph);
        let [(Severity::Warning, _, text)] = &told_of[..] else { panic!("{told_of:?}") };
        assert!(text.contains("/t"), "{text}");
        let mut node = graph.nodes["/a"].clone();
        node.publications = Some([("/t".to_owned(), "a/B".to_owned())].into());
        graph.nodes.insert("/a".into(), node);
        assert_eq!(told(&here(LOCAL, true), &graph), []);
    }
}
