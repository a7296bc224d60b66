//! Faults of services: servers that are gone, or that differ from the master's data.

use super::finding::{Area, Finding};
use super::found::{GraphFound, Refusal, Served, ServerFault, ServiceFound};
use crate::output::listed;

/// Number of nodes named in a finding.
const NAMED: usize = 3;

pub fn judge(graph: &GraphFound) -> Vec<Finding> {
    graph.services.iter().flat_map(|service| of_service(service, graph)).collect()
}

fn of_service(service: &ServiceFound, graph: &GraphFound) -> Vec<Finding> {
    let ServiceFound { name, providers, uri, answer } = service;
    let mut findings = Vec::new();
    if providers.len() > 1 {
        let what = format!("provided by {}; callers reach one of them", listed(providers, NAMED));
        findings.push(Finding::warning(Area::Service, name, what, "rename (remap) all but one"));
    }
    let answers = providers.iter().any(|node| graph.answering(node).is_some());
    findings.extend(match answer {
        Some(Ok(served)) => served_otherwise(service, served),
        Some(Err(refusal)) => Some(refused(service, refusal)),
        // The finding about the silent node is enough.
        None if !answers => None,
        None => {
            let uri = uri.as_deref().unwrap_or("no address");
            let what = format!("registered at {uri}, which is no address of a service");
            Some(Finding::error(Area::Service, name, what, "restart its node"))
        }
    });
    findings
}

fn refused(service: &ServiceFound, refusal: &Refusal) -> Finding {
    let ServiceFound { name, providers, .. } = service;
    let of = listed(providers, NAMED);
    let (what, advice) = match refusal {
        Refusal::Refused(why) => (format!("{of} refuses callers: {why}"), "see what it logs; restart it"),
        Refusal::Port { at, fault } => {
            let advice = match fault {
                ServerFault::Refused => "a stale registration: restart its node",
                ServerFault::Unresolved { .. } => "set ROS_IP where its node runs, and restart it",
                ServerFault::Silent => "a firewall may be in between: calls go to any port",
                _ => "restart its node",
            };
            (format!("service of {of}: {}", fault.about(at)), advice)
        }
    };
    Finding::error(Area::Service, name, what, advice)
}

fn served_otherwise(service: &ServiceFound, served: &Served) -> Option<Finding> {
    let ServiceFound { name, providers, .. } = service;
    if let Some(node) = served.node.as_ref().filter(|node| !providers.contains(node)) {
        let what = format!("registered by {}, but {node} answers", listed(providers, NAMED));
        let advice =
            "two nodes provide it, or one took the port of another: restart both, one under another name";
        return Some(Finding::warning(Area::Service, name, what, advice));
    }
    if served.type_name.as_deref().is_none_or(|name| name == "*") {
        let what = format!("{} does not report its type", listed(providers, NAMED));
        return Some(Finding::info(Area::Service, name, what, "'runnel service call' needs the type"));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::doctor::finding::Severity;
    use crate::commands::doctor::found::NodeFound;

    fn service(answer: Option<Result<Served, Refusal>>) -> ServiceFound {
        let (providers, uri) = (vec!["/a".to_owned()], Some("rosrpc://robot:5".to_owned()));
        ServiceFound { name: "/s".into(), providers, uri, answer }
    }

    fn reported(service: ServiceFound, fault: Option<ServerFault>) -> Vec<(Severity, String)> {
        let nodes = [("/a".to_owned(), NodeFound { fault, ..NodeFound::default() })].into();
        let graph = GraphFound { nodes, services: vec![service], ..GraphFound::default() };
        judge(&graph).into_iter().map(|found| (found.severity, found.what)).collect()
    }

    fn served(node: Option<&str>, of: Option<&str>) -> Option<Result<Served, Refusal>> {
        Some(Ok(Served { node: node.map(str::to_owned), type_name: of.map(str::to_owned) }))
    }

    #[test]
    fn service_of_its_own_node_is_sound() {
        assert_eq!(reported(service(served(Some("/a"), Some("x/Y"))), None), []);
        assert_eq!(reported(service(served(None, Some("x/Y"))), None), []);
        assert_eq!(reported(service(None), Some(ServerFault::Refused)), [], "the node has a finding");
    }

    #[test]
    fn faults_of_a_server_are_reported() {
        let port = |fault| Some(Err(Refusal::Port { at: "robot:5".into(), fault }));
        let cases = [
            (port(ServerFault::Refused), Severity::Error, "no process listens at robot:5"),
            (port(ServerFault::Mute), Severity::Error, "does not answer"),
            (Some(Err(Refusal::Refused("no".into()))), Severity::Error, "/a refuses callers: no"),
            (None, Severity::Error, "no address of a service"),
            (served(Some("/b"), Some("x/Y")), Severity::Warning, "but /b answers"),
            (served(Some("/a"), None), Severity::Info, "type"),
            (served(Some("/a"), Some("*")), Severity::Info, "type"),
        ];
        for (answer, severity, text) in cases {
            let reported = reported(service(answer), None);
            assert!(
                matches!(&reported[..], [(found, what)] if *found == severity && what.contains(text)),
                "{reported:?}"
            );
        }
    }

    #[test]
    fn two_providers_are_reported() {
        let mut service = service(served(Some("/a"), Some("x/Y")));
        service.providers.push("/b".into());
        let reported = reported(service, None);
        assert!(
            matches!(&reported[..], [(Severity::Warning, what)] if what.contains("/a and /b")),
            "{reported:?}"
        );
    }
}
