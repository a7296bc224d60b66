//! What may be wrong with services: servers that are gone, or that are others than the master says.

use super::finding::{Area, Finding};
use super::found::{GraphFound, Refusal, Served, ServiceFound, Trouble};
use crate::output::listed;

/// How many nodes are named in a finding.
const NAMED: usize = 3;

pub fn judge(graph: &GraphFound) -> Vec<Finding> {
    graph.services.iter().flat_map(|service| of_service(service, graph)).collect()
}

fn of_service(service: &ServiceFound, graph: &GraphFound) -> Vec<Finding> {
    let ServiceFound { name, providers, uri, said } = service;
    let mut findings = Vec::new();
    if providers.len() > 1 {
        let what = format!("provided by {}; callers reach one of them", listed(providers, NAMED));
        findings.push(Finding::warning(Area::Service, name, what, "rename (remap) all but one"));
    }
    let answers = providers.iter().any(|node| graph.answering(node).is_some());
    findings.extend(match said {
        Some(Ok(served)) => served_otherwise(service, served),
        Some(Err(refusal)) => Some(refused(service, refusal)),
        // Of a node that does not answer, its services say nothing new.
        None if !answers => None,
        None => {
            let uri = uri.as_deref().unwrap_or("nowhere");
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
        Refusal::Said(why) => (format!("{of} refuses callers: {why}"), "see what it logs; restart it"),
        Refusal::Port { at, trouble } => {
            let advice = match trouble {
                Trouble::Refused => "a registration that was left over: restart its node",
                Trouble::Unresolved { .. } => "set ROS_IP where its node runs, and restart it",
                Trouble::Silent => "a firewall may be between: calls go to any port",
                _ => "restart its node",
            };
            (format!("service of {of}: {}", trouble.about(at)), advice)
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
        let what = format!("{} does not tell its type", listed(providers, NAMED));
        return Some(Finding::info(Area::Service, name, what, "'runnel service call' will not know it"));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::doctor::finding::Severity;
    use crate::commands::doctor::found::NodeFound;

    fn service(said: Option<Result<Served, Refusal>>) -> ServiceFound {
        let (providers, uri) = (vec!["/a".to_owned()], Some("rosrpc://robot:5".to_owned()));
        ServiceFound { name: "/s".into(), providers, uri, said }
    }

    fn told(service: ServiceFound, trouble: Option<Trouble>) -> Vec<(Severity, String)> {
        let nodes = [("/a".to_owned(), NodeFound { trouble, ..NodeFound::default() })].into();
        let graph = GraphFound { nodes, services: vec![service], ..GraphFound::default() };
        judge(&graph).into_iter().map(|found| (found.severity, found.what)).collect()
    }

    fn served(node: Option<&str>, of: Option<&str>) -> Option<Result<Served, Refusal>> {
        Some(Ok(Served { node: node.map(str::to_owned), type_name: of.map(str::to_owned) }))
    }

    #[test]
    fn a_service_that_its_node_answers_is_in_order() {
        assert_eq!(told(service(served(Some("/a"), Some("x/Y"))), None), []);
        assert_eq!(told(service(served(None, Some("x/Y"))), None), []);
        assert_eq!(told(service(None), Some(Trouble::Refused)), [], "the node is told of");
    }

    #[test]
    fn what_is_wrong_with_a_server_is_told() {
        let port = |trouble| Some(Err(Refusal::Port { at: "robot:5".into(), trouble }));
        let cases = [
            (port(Trouble::Refused), Severity::Error, "nobody listens at robot:5"),
            (port(Trouble::Mute), Severity::Error, "does not answer"),
            (Some(Err(Refusal::Said("no".into()))), Severity::Error, "/a refuses callers: no"),
            (None, Severity::Error, "no address of a service"),
            (served(Some("/b"), Some("x/Y")), Severity::Warning, "but /b answers"),
            (served(Some("/a"), None), Severity::Info, "type"),
            (served(Some("/a"), Some("*")), Severity::Info, "type"),
        ];
        for (said, severity, text) in cases {
            let told = told(service(said), None);
            assert!(
                matches!(&told[..], [(found, what)] if *found == severity && what.contains(text)),
                "{told:?}"
            );
        }
    }

    #[test]
    fn two_providers_are_told() {
        let mut service = service(served(Some("/a"), Some("x/Y")));
        service.providers.push("/b".into());
        let told = told(service, None);
        assert!(matches!(&told[..], [(Severity::Warning, what)] if what.contains("/a and /b")), "{told:?}");
    }
}
