//! Faults of services: half-announced servers and clients, types, and DDS implementations that frame services
//! differently.

use std::collections::{BTreeMap, BTreeSet};

use runnel::core::names::DdsTopic;
use runnel::{EndpointInfo, Gid, Ros2Graph};

use super::found::{Ros2Found, names};
use crate::commands::doctor::finding::{Area, Finding};
use crate::graphs::{holder, is_publisher};
use crate::originals::command_line::SERVICE_LIST;
use crate::output::listed;

/// Number of services named in a finding.
const NAMED: usize = 3;

/// The DDS implementations whose RMW frame services each in its own way, with the names of their RMW.
const FRAMINGS: [(&str, &str); 2] = [("Fast DDS", "rmw_fastrtps_cpp"), ("Cyclone DDS", "rmw_cyclonedds_cpp")];

/// The endpoints of one service in one participant.
#[derive(Default)]
struct Ends<'g> {
    request_readers: Vec<&'g EndpointInfo>,
    reply_writers: Vec<&'g EndpointInfo>,
    request_writers: Vec<&'g EndpointInfo>,
    reply_readers: Vec<&'g EndpointInfo>,
}

/// The endpoints of each service, by participant.
type Services<'g> = BTreeMap<&'g str, BTreeMap<Gid, Ends<'g>>>;

pub fn judge(found: &Ros2Found) -> Vec<Finding> {
    let services = services(&found.graph);
    let later = found.later.as_ref().map(self::services);
    let mut findings = Vec::new();
    for (service, holders) in &services {
        for (participant, ends) in holders.iter().filter(|(gid, _)| is_complete(&found.graph, **gid)) {
            let again = later.as_ref().map(|later| later.get(service).and_then(|of| of.get(participant)));
            // An endpoint of the pair may have been announced meanwhile.
            let stays = again.is_none_or(|again| again.is_some_and(|again| again.faults() == ends.faults()));
            findings
                .extend(ends.faults().into_iter().filter(|_| stays).map(|fault| ends.half(service, fault)));
        }
        findings.extend(types_differ(service, holders));
    }
    findings.extend(framings(&services, &found.graph));
    findings.extend(without_server(&services));
    findings
}

/// Whether an end is announced by half.
pub fn has_suspects(graph: &Ros2Graph) -> bool {
    services(graph).values().flat_map(BTreeMap::values).any(|ends| !ends.faults().is_empty())
}

fn services(graph: &Ros2Graph) -> Services<'_> {
    let mut services = Services::new();
    for end in &graph.endpoints {
        let (service, is_request) = match end.ros_topic() {
            Some(DdsTopic::ServiceRequest(service)) => (service, true),
            Some(DdsTopic::ServiceReply(service)) => (service, false),
            _ => continue,
        };
        let ends = services.entry(service).or_default().entry(end.gid.participant()).or_default();
        let ends = match (is_request, is_publisher(end)) {
            (true, false) => &mut ends.request_readers,
            (true, true) => &mut ends.request_writers,
            (false, true) => &mut ends.reply_writers,
            (false, false) => &mut ends.reply_readers,
        };
        ends.push(end);
    }
    services
}

fn is_complete(graph: &Ros2Graph, gid: Gid) -> bool {
    graph.participant(gid).is_some_and(|participant| participant.is_complete)
}

/// The missing half of a server or a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Missing {
    ReplyWriter,
    RequestReader,
    ReplyReader,
    RequestWriter,
}

impl Ends<'_> {
    fn faults(&self) -> Vec<Missing> {
        let pair = |one: &[&EndpointInfo], other: &[&EndpointInfo], without: [Missing; 2]| match one
            .len()
            .cmp(&other.len())
        {
            std::cmp::Ordering::Greater => Some(without[1]),
            std::cmp::Ordering::Less => Some(without[0]),
            std::cmp::Ordering::Equal => None,
        };
        let server =
            pair(&self.request_readers, &self.reply_writers, [Missing::RequestReader, Missing::ReplyWriter]);
        let client =
            pair(&self.request_writers, &self.reply_readers, [Missing::RequestWriter, Missing::ReplyReader]);
        server.into_iter().chain(client).collect()
    }

    fn half(&self, service: &str, missing: Missing) -> Finding {
        let of = |ends: &[&EndpointInfo]| names(ends.iter().map(|end| holder(end)));
        let (nodes, what, effect) = match missing {
            Missing::ReplyWriter => (
                of(&self.request_readers),
                "announces a reader of requests and no writer of replies",
                "calls get no response, and clients on Fast DDS wait for every server of this service",
            ),
            Missing::RequestReader => (
                of(&self.reply_writers),
                "announces a writer of replies and no reader of requests",
                "clients on Fast DDS wait for every server of this service",
            ),
            Missing::ReplyReader => (
                of(&self.request_writers),
                "announces a writer of requests and no reader of replies",
                "its calls get no response",
            ),
            Missing::RequestWriter => (
                of(&self.reply_readers),
                "announces a reader of replies and no writer of requests",
                "it cannot call",
            ),
        };
        let advice =
            format!("restart {nodes}; if it stays, look in its log for an endpoint that it could not create");
        Finding::error(Area::Service, service, format!("{nodes} {what}: {effect}"), &advice)
    }
}

/// Clients and servers of different types.
fn types_differ(service: &str, holders: &BTreeMap<Gid, Ends<'_>>) -> Option<Finding> {
    let mut types: BTreeMap<String, [Vec<String>; 2]> = BTreeMap::new();
    for ends in holders.values() {
        for (side, list) in [(0, &ends.request_readers), (1, &ends.request_writers)] {
            for end in list {
                types.entry(end.ros_type()).or_default()[side].push(holder(end));
            }
        }
    }
    let sides = |side: usize| types.values().filter(|of| !of[side].is_empty()).count();
    if types.len() < 2 || sides(0) == 0 || sides(1) == 0 {
        return None;
    }
    let of = |(name, [servers, clients]): (&String, &[Vec<String>; 2])| {
        let name = name.strip_suffix("_Request").unwrap_or(name);
        let part = |nodes: &Vec<String>, word: &str| {
            (!nodes.is_empty()).then(|| format!("{} {word} {name}", names(nodes.clone())))
        };
        [part(servers, "provides"), part(clients, "calls")]
    };
    let ends: Vec<String> = types.iter().flat_map(of).flatten().collect();
    let what = format!("the types differ: {}", ends.join("; "));
    Some(Finding::error(Area::Service, service, what, "one type at both ends, or remap the service of one"))
}

/// Pairs of nodes whose RMW frame services differently, with the services.
fn framings(services: &Services<'_>, graph: &Ros2Graph) -> Vec<Finding> {
    let mut pairs: BTreeMap<[(String, usize); 2], BTreeSet<&str>> = BTreeMap::new();
    let framing = |end: &EndpointInfo| {
        let vendor = &graph.participant(end.gid)?.vendor;
        FRAMINGS.iter().position(|(name, _)| name == vendor)
    };
    for (service, holders) in services {
        let of = |pick: for<'e, 'g> fn(&'e Ends<'g>) -> &'e Vec<&'g EndpointInfo>| {
            holders.values().flat_map(pick).map(|end| (holder(end), framing(end))).collect::<BTreeSet<_>>()
        };
        let (servers, clients) = (of(|ends| &ends.request_readers), of(|ends| &ends.request_writers));
        for (client, theirs) in &clients {
            let Some(theirs) = theirs else { continue };
            let other = |(_, framing): &&(String, Option<usize>)| framing.is_some_and(|it| it != *theirs);
            // A server that frames as the client does answers it.
            if servers.iter().any(|server| !other(&server)) {
                continue;
            }
            for (server, framing) in servers.iter().filter(other) {
                let pair = [(client.clone(), *theirs), (server.clone(), framing.unwrap_or_default())];
                pairs.entry(pair).or_default().insert(service);
            }
        }
    }
    pairs.into_iter().map(|(pair, services)| framing_finding(&pair, &services)).collect()
}

fn framing_finding(pair: &[(String, usize); 2], services: &BTreeSet<&str>) -> Finding {
    let [(client, theirs), (server, other)] = pair;
    let ([vendor, rmw], [server_vendor, _]) = (FRAMINGS[*theirs].into(), FRAMINGS[*other].into());
    let services = listed(&services.iter().collect::<Vec<_>>(), NAMED);
    let what = format!(
        "{client} ({vendor}) gets no response from {server} ({server_vendor}): these two frame services differently"
    );
    let advice = format!("start both with the same RMW: RMW_IMPLEMENTATION={rmw} for {server}");
    Finding::error(Area::Service, services, what, &advice)
}

/// Services that have clients and no server, in one line.
fn without_server(services: &Services<'_>) -> Option<Finding> {
    let has = |holders: &BTreeMap<Gid, Ends<'_>>, pick: fn(&Ends<'_>) -> bool| holders.values().any(pick);
    let waits = |holders: &BTreeMap<Gid, Ends<'_>>| {
        has(holders, |ends| !ends.request_writers.is_empty())
            && !has(holders, |ends| !ends.request_readers.is_empty() || !ends.reply_writers.is_empty())
    };
    let waiting: Vec<&str> =
        services.iter().filter(|(_, holders)| waits(holders)).map(|(service, _)| *service).collect();
    let callers = |service: &str| {
        let ends = services.get(service).into_iter().flat_map(BTreeMap::values);
        ends.flat_map(|ends| &ends.request_writers).map(|end| holder(end)).collect::<Vec<_>>()
    };
    let nodes = names(waiting.iter().flat_map(|service| callers(service)));
    let what = format!("called by {nodes}, and no node provides it");
    let advice = SERVICE_LIST.to_string();
    (!waiting.is_empty()).then(|| Finding::info(Area::Service, listed(&waiting, NAMED), what, &advice))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::doctor::finding::Severity;
    use crate::graphs::tests::graph;

    const SERVER: [(&str, u8, bool); 2] = [("rq/addRequest", 1, false), ("rr/addReply", 1, true)];
    const CLIENT: [(&str, u8, bool); 2] = [("rq/addRequest", 2, true), ("rr/addReply", 2, false)];

    fn found(ends: &[(&str, u8, bool)]) -> Ros2Found {
        Ros2Found { graph: graph(ends), ..Ros2Found::default() }
    }

    fn texts(found: &Ros2Found) -> Vec<String> {
        judge(found)
            .iter()
            .map(|finding| format!("{}: {} -> {}", finding.subject, finding.what, finding.advice))
            .collect()
    }

    #[test]
    fn whole_server_and_client_are_sound() {
        assert!(texts(&found(&[SERVER, CLIENT].concat())).is_empty());
    }

    #[test]
    fn each_missing_half_is_named() {
        let whole = [SERVER, CLIENT].concat();
        let missing = [
            "/node1 announces a writer of replies and no reader of requests",
            "/node1 announces a reader of requests and no writer of replies",
            "/node2 announces a reader of replies and no writer of requests",
            "/node2 announces a writer of requests and no reader of replies",
        ];
        for (index, expected) in missing.iter().enumerate() {
            let ends: Vec<_> = (0..4).filter(|at| *at != index).map(|at| whole[at]).collect();
            let texts = texts(&found(&ends));
            assert!(
                texts.len() == 1 && texts[0].starts_with("/add: ") && texts[0].contains(expected),
                "{texts:?}"
            );
            assert!(texts[0].contains("-> restart /node"), "{texts:?}");
        }
    }

    #[test]
    fn half_that_is_completed_meanwhile_is_no_fault() {
        let later = Some(graph(&SERVER));
        assert!(texts(&Ros2Found { later, ..found(&SERVER[..1]) }).is_empty());
        let later = Some(graph(&SERVER[..1]));
        assert_eq!(texts(&Ros2Found { later, ..found(&SERVER[..1]) }).len(), 1);
        let mut incomplete = found(&SERVER[..1]);
        incomplete.graph.participants[0].is_complete = false;
        assert!(texts(&incomplete).is_empty());
    }

    #[test]
    fn different_framings_are_reported_unless_another_server_answers() {
        let mut found = found(&[SERVER, CLIENT].concat());
        found.graph.participants[1].vendor = "Cyclone DDS".into();
        let only = texts(&found);
        let expected = "/add: /node2 (Cyclone DDS) gets no response from /node1 (Fast DDS): these two frame services \
                        differently -> start both with the same RMW: RMW_IMPLEMENTATION=rmw_cyclonedds_cpp for /node1";
        assert_eq!(only, [expected]);
        found.graph.participants[0].vendor = "Runnel".into();
        assert!(texts(&found).is_empty(), "Runnel frames as its peer does");
        let second = [("rq/addRequest", 3, false), ("rr/addReply", 3, true)];
        let mut found = self::found(&[SERVER, CLIENT, second].concat());
        found.graph.participants[1].vendor = "Cyclone DDS".into();
        found.graph.participants[2].vendor = "Cyclone DDS".into();
        assert!(texts(&found).is_empty());
    }

    #[test]
    fn different_types_are_reported() {
        let mut found = found(&[SERVER, CLIENT].concat());
        for (index, name) in ["A", "A", "B", "B"].iter().enumerate() {
            found.graph.endpoints[index].dds_type = format!("p::srv::dds_::{name}_Request_");
        }
        let texts = texts(&found);
        assert!(
            texts[0].contains("the types differ: /node1 provides p/srv/A; /node2 calls p/srv/B"),
            "{texts:?}"
        );
    }

    #[test]
    fn service_without_server_is_an_info() {
        let findings = judge(&found(&CLIENT));
        assert_eq!((findings.len(), findings[0].severity), (1, Severity::Info));
        assert_eq!(findings[0].what, "called by /node2, and no node provides it");
    }
}
