//! What publishers offer on their topics and servers as their services: the headers that they answer with.

use std::net::SocketAddr;

use runnel::ros1::header::ConnectionHeader;
use runnel::ros1::net::Endpoint;
use runnel::ros1::rpc::Uri;
use runnel::ros1::xmlrpc::Value;

use super::reach::{Hosts, Server, one_by_one_per_server};
use super::tcpros::Link;
use super::times::CLOCK;
use crate::commands::doctor::found::{GraphFound, Offer, Offered, Refusal, Served, ServiceFound, Trouble};
use crate::error::CliError;
use crate::graph::{Graph, NoAnswer, Question};

/// The name under which publishers and servers are asked.
const CALLER: &str = "/runnel_doctor";

/// A publisher that answers, to be asked about a topic.
struct End {
    topic: String,
    node: String,
    uri: Uri,
}

/// Where a publisher sends a topic from.
type Offering = Result<(String, u16), Refusal>;

/// The publishers of topics that are subscribed to and of the clock, or of all.
fn to_ask(found: &GraphFound, all: bool) -> Vec<End> {
    let asked = |topic: &str| all || topic == CLOCK || !found.subscribers(topic).is_empty();
    let topics = found.state.publishers.iter().filter(|(topic, _)| asked(topic));
    let ends = topics.flat_map(|(topic, nodes)| nodes.iter().map(move |node| (topic, node)));
    let end = |(topic, node): (&String, &String)| {
        let uri = Uri::parse(found.answering(node)?.uri.as_deref()?).ok()?;
        Some(End { topic: topic.clone(), node: node.clone(), uri })
    };
    ends.filter_map(end).collect()
}

/// Asks every publisher for its header.
///
/// # Errors
/// When the context ends before.
pub fn gather(
    graph: &Graph<'_>,
    found: &GraphFound,
    all: bool,
    hosts: &mut Hosts,
) -> Result<Vec<Offer>, CliError> {
    let ends = to_ask(found, all);
    let offerings = offerings(graph, &ends)?;
    hosts.look_up(offerings.iter().flatten().map(|(host, _)| host.as_str()));
    let asked: Vec<_> = ends.into_iter().zip(offerings).collect();
    let at = |(_, offering): &(End, Offering)| offering.as_ref().ok().cloned();
    Ok(one_by_one_per_server(&asked, at, |(End { topic, node, .. }, offering), server| {
        let said = offering.clone().and_then(|(host, port)| offered(topic, &host, port, (hosts, server)));
        Offer { topic: topic.clone(), node: node.clone(), said }
    }))
}

fn offerings(graph: &Graph<'_>, ends: &[End]) -> Result<Vec<Offering>, CliError> {
    let protocols = Value::Array(vec![Value::Array(vec!["TCPROS".into()])]);
    let question = |End { topic, uri, .. }: &End| Question {
        uri: uri.clone(),
        method: "requestTopic",
        params: vec![topic.as_str().into(), protocols.clone()],
    };
    let answers = graph.ask_all(&ends.iter().map(question).collect::<Vec<_>>())?;
    let offering = |answer: Result<Value, NoAnswer>| {
        answer.map_err(|why| Refusal::Said(why.to_string())).and_then(|answer| offering(&answer))
    };
    Ok(answers.into_iter().map(offering).collect())
}

/// Reads `["TCPROS", host, port]`.
fn offering(answer: &Value) -> Offering {
    let read = || {
        let [_, host, port] = answer.as_array()? else { return None };
        Some((host.as_str()?.to_owned(), u16::try_from(port.as_int()?).ok()?))
    };
    read().ok_or_else(|| Refusal::Said("it tells no port to connect to".to_owned()))
}

fn offered(topic: &str, host: &str, port: u16, asking: (&Hosts, &mut Server)) -> Result<Offered, Refusal> {
    let (header, _) = subscribe(topic, host, port, asking)?;
    let field = |name| header.get(name).unwrap_or_default().to_owned();
    let (type_name, md5) = (field("type"), field("md5sum"));
    let latching = header.get("latching") == Some("1");
    let stamped = begins_with_header(header.get("message_definition").unwrap_or_default());
    Ok(Offered { type_name, md5, latching, stamped, host: host.to_owned(), port })
}

/// Opens a link to a publisher, as a subscriber of whatever type it has.
///
/// # Errors
/// When it does not answer, or answers with an error.
pub fn subscribe(
    topic: &str,
    host: &str,
    port: u16,
    asking: (&Hosts, &mut Server),
) -> Result<(ConnectionHeader, Link), Refusal> {
    let header =
        [("callerid", CALLER), ("md5sum", "*"), ("tcp_nodelay", "1"), ("topic", topic), ("type", "*")];
    converse(&ConnectionHeader::new(header), host, port, asking)
}

fn converse(
    header: &ConnectionHeader,
    host: &str,
    port: u16,
    (hosts, server): (&Hosts, &mut Server),
) -> Result<(ConnectionHeader, Link), Refusal> {
    let at = Endpoint { host: host.to_owned(), port };
    let in_trouble = |trouble: Trouble| Refusal::Port { at: at.to_string(), trouble };
    let address = hosts.address(host).map_err(in_trouble)?;
    let open = || Link::open(SocketAddr::new(address, port), header);
    let (told, link) = server.converse(open).map_err(in_trouble)?;
    match told.get("error") {
        Some(error) => Err(Refusal::Said(error.to_owned())),
        None => Ok((told, link)),
    }
}

/// Whether the first field of a definition is a header.
fn begins_with_header(definition: &str) -> bool {
    let code = |line: &'_ str| line.split('#').next().unwrap_or_default().trim().to_owned();
    let first = definition.lines().map(code).find(|line| !line.is_empty() && !line.contains('='));
    let kind = first.as_deref().and_then(|line| line.split_whitespace().next());
    matches!(kind, Some("Header" | "std_msgs/Header"))
}

/// Asks every server for its header, unless its node does not answer anyway.
///
/// # Errors
/// When the context ends before.
pub fn services(
    graph: &Graph<'_>,
    found: &GraphFound,
    hosts: &mut Hosts,
) -> Result<Vec<ServiceFound>, CliError> {
    let names: Vec<&str> = found.state.services.keys().map(String::as_str).collect();
    let uris = graph.look_up_all("lookupService", &names)?;
    let servers: Vec<_> = uris.iter().map(|uri| Uri::parse_scheme("rosrpc", uri.as_deref()?).ok()).collect();
    hosts.look_up(servers.iter().flatten().map(|server| server.endpoint.host.as_str()));
    let asked: Vec<_> = found.state.services.iter().zip(uris).zip(servers).collect();
    let at = |(_, server): &(_, Option<Uri>)| server.as_ref().map(|server| server.endpoint.clone());
    Ok(one_by_one_per_server(&asked, at, |(((name, providers), uri), server), asking| {
        let asked = providers.iter().any(|node| found.answering(node).is_some());
        let server = server.as_ref().filter(|_| asked);
        let said = server.map(|server| served(name, &server.endpoint, (hosts, asking)));
        let (name, providers) = ((*name).clone(), (*providers).clone());
        ServiceFound { name, providers, uri: uri.clone(), said }
    }))
}

fn served(service: &str, at: &Endpoint, asking: (&Hosts, &mut Server)) -> Result<Served, Refusal> {
    let header = [("callerid", CALLER), ("md5sum", "*"), ("probe", "1"), ("service", service)];
    let (told, _) = converse(&ConnectionHeader::new(header), &at.host, at.port, asking)?;
    let field = |name| told.get(name).filter(|value| !value.is_empty()).map(str::to_owned);
    Ok(Served { node: field("callerid"), type_name: field("type") })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::doctor::found::NodeFound;
    use crate::graph::SystemState;

    #[test]
    fn only_a_first_field_makes_a_message_stamped() {
        assert!(begins_with_header("# a header\n\nuint8 A=1 # Header\nHeader header\nint8 a"));
        assert!(begins_with_header("std_msgs/Header header\n"));
        assert!(!begins_with_header("int8 a\nHeader header\n====\nMSG: std_msgs/Header\n"));
        assert!(!begins_with_header(""));
    }

    #[test]
    fn where_messages_come_from_is_read_or_refused() {
        let answer = |port: i32| Value::Array(vec!["TCPROS".into(), "robot".into(), port.into()]);
        assert_eq!(offering(&answer(4000)), Ok(("robot".to_owned(), 4000)));
        assert!(offering(&answer(70_000)).is_err() && offering(&Value::Array(Vec::new())).is_err());
    }

    #[test]
    fn publishers_that_answer_are_asked_about_topics_with_subscribers() {
        let holders = |topics: &[(&str, &str)]| {
            topics.iter().map(|(topic, node)| ((*topic).to_owned(), vec![(*node).to_owned()])).collect()
        };
        let publishers = holders(&[("/heard", "/a"), ("/dead", "/b"), ("/unheard", "/a")]);
        let subscribers = holders(&[("/heard", "/c"), ("/dead", "/c")]);
        let state = SystemState { publishers, subscribers, ..SystemState::default() };
        let alive = NodeFound { uri: Some("http://robot:1/".into()), ..NodeFound::default() };
        let dead = NodeFound { trouble: Some(Trouble::Refused), ..alive.clone() };
        let nodes = [("/a".to_owned(), alive), ("/b".to_owned(), dead)].into();
        let found = GraphFound { state, nodes, ..GraphFound::default() };
        let ask = |all| to_ask(&found, all).into_iter().map(|end| end.topic).collect::<Vec<_>>();
        assert_eq!(ask(false), ["/heard"]);
        assert_eq!(ask(true), ["/heard", "/unheard"]);
    }
}
