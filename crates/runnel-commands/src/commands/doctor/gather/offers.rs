//! What publishers offer on their topics, and servers as services, according to their connection headers.

use std::net::SocketAddr;

use runnel_ros1::header::ConnectionHeader;
use runnel_ros1::net::Endpoint;
use runnel_ros1::rpc::Uri;
use runnel_ros1::xmlrpc::Value;

use super::reach::{Hosts, Server, sequential_per_server};
use super::tcpros::Link;
use super::times::CLOCK;
use crate::commands::doctor::found::{
    GraphFound, Offer, Offered, Refusal, Served, ServerFault, ServiceFound,
};
use crate::error::CliError;
use crate::graph::{Graph, NoAnswer, Question};

/// The caller id of these requests.
const CALLER: &str = "/runnel_doctor";

/// A publisher that answers, with the topic to ask about.
struct End {
    topic: String,
    node: String,
    uri: Uri,
}

/// The address from which a publisher sends a topic.
type PublisherAddress = Result<(String, u16), Refusal>;

/// The publishers of topics with subscribers and of the clock, or of all topics.
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
/// When the context ends first.
pub fn gather(
    graph: &Graph<'_>,
    found: &GraphFound,
    all: bool,
    hosts: &mut Hosts,
) -> Result<Vec<Offer>, CliError> {
    let ends = to_ask(found, all);
    let addresses = request_addresses(graph, &ends)?;
    hosts.look_up(addresses.iter().flatten().map(|(host, _)| host.as_str()));
    let asked: Vec<_> = ends.into_iter().zip(addresses).collect();
    let at = |(_, address): &(End, PublisherAddress)| address.as_ref().ok().cloned();
    Ok(sequential_per_server(&asked, at, |(End { topic, node, .. }, address), server| {
        let answer = address.clone().and_then(|(host, port)| offered(topic, &host, port, (hosts, server)));
        Offer { topic: topic.clone(), node: node.clone(), answer }
    }))
}

fn request_addresses(graph: &Graph<'_>, ends: &[End]) -> Result<Vec<PublisherAddress>, CliError> {
    let protocols = Value::Array(vec![Value::Array(vec!["TCPROS".into()])]);
    let question = |End { topic, uri, .. }: &End| Question {
        uri: uri.clone(),
        method: "requestTopic",
        params: vec![topic.as_str().into(), protocols.clone()],
    };
    let answers = graph.ask_all(&ends.iter().map(question).collect::<Vec<_>>())?;
    let address = |answer: Result<Value, NoAnswer>| {
        answer.map_err(|why| Refusal::Refused(why.to_string())).and_then(|answer| parse_address(&answer))
    };
    Ok(answers.into_iter().map(address).collect())
}

/// Reads `["TCPROS", host, port]`.
fn parse_address(answer: &Value) -> PublisherAddress {
    let read = || {
        let [_, host, port] = answer.as_array()? else { return None };
        Some((host.as_str()?.to_owned(), u16::try_from(port.as_int()?).ok()?))
    };
    read().ok_or_else(|| Refusal::Refused("its answer has no port".to_owned()))
}

fn offered(topic: &str, host: &str, port: u16, access: (&Hosts, &mut Server)) -> Result<Offered, Refusal> {
    let (header, _) = subscribe(topic, host, port, access)?;
    let field = |name| header.get(name).unwrap_or_default().to_owned();
    let (type_name, md5) = (field("type"), field("md5sum"));
    let latching = header.get("latching") == Some("1");
    let stamped = begins_with_header(header.get("message_definition").unwrap_or_default());
    Ok(Offered { type_name, md5, latching, stamped, host: host.to_owned(), port })
}

/// Opens a link to a publisher, as a subscriber of any type.
///
/// # Errors
/// When it does not answer, or answers with an error.
pub fn subscribe(
    topic: &str,
    host: &str,
    port: u16,
    access: (&Hosts, &mut Server),
) -> Result<(ConnectionHeader, Link), Refusal> {
    let header =
        [("callerid", CALLER), ("md5sum", "*"), ("tcp_nodelay", "1"), ("topic", topic), ("type", "*")];
    exchange_headers(&ConnectionHeader::new(header), host, port, access)
}

fn exchange_headers(
    header: &ConnectionHeader,
    host: &str,
    port: u16,
    (hosts, server): (&Hosts, &mut Server),
) -> Result<(ConnectionHeader, Link), Refusal> {
    let at = Endpoint { host: host.to_owned(), port };
    let port_fault = |fault: ServerFault| Refusal::Port { at: at.to_string(), fault };
    let address = hosts.address(host).map_err(port_fault)?;
    let open = || Link::open(SocketAddr::new(address, port), header);
    let (answer, link) = server.connect(open).map_err(port_fault)?;
    match answer.get("error") {
        Some(error) => Err(Refusal::Refused(error.to_owned())),
        None => Ok((answer, link)),
    }
}

/// Whether the first field of a definition is a header.
fn begins_with_header(definition: &str) -> bool {
    let code = |line: &'_ str| line.split('#').next().unwrap_or_default().trim().to_owned();
    let first = definition.lines().map(code).find(|line| !line.is_empty() && !line.contains('='));
    let kind = first.as_deref().and_then(|line| line.split_whitespace().next());
    matches!(kind, Some("Header" | "std_msgs/Header"))
}

/// Asks every service server for its header, unless its node does not answer.
///
/// # Errors
/// When the context ends first.
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
    Ok(sequential_per_server(&asked, at, |(((name, providers), uri), server), access| {
        let asked = providers.iter().any(|node| found.answering(node).is_some());
        let server = server.as_ref().filter(|_| asked);
        let answer = server.map(|server| served(name, &server.endpoint, (hosts, access)));
        let (name, providers) = ((*name).clone(), (*providers).clone());
        ServiceFound { name, providers, uri: uri.clone(), answer }
    }))
}

fn served(service: &str, at: &Endpoint, access: (&Hosts, &mut Server)) -> Result<Served, Refusal> {
    let header = [("callerid", CALLER), ("md5sum", "*"), ("probe", "1"), ("service", service)];
    let (answer, _) = exchange_headers(&ConnectionHeader::new(header), &at.host, at.port, access)?;
    let field = |name| answer.get(name).filter(|value| !value.is_empty()).map(str::to_owned);
    Ok(Served { node: field("callerid"), type_name: field("type") })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::doctor::found::NodeFound;
    use crate::graph::SystemState;

    #[test]
    fn only_a_first_header_field_makes_messages_stamped() {
        assert!(begins_with_header("# a header\n\nuint8 A=1 # Header\nHeader header\nint8 a"));
        assert!(begins_with_header("std_msgs/Header header\n"));
        assert!(!begins_with_header("int8 a\nHeader header\n====\nMSG: std_msgs/Header\n"));
        assert!(!begins_with_header(""));
    }

    #[test]
    fn publisher_address_is_parsed_or_refused() {
        let answer = |port: i32| Value::Array(vec!["TCPROS".into(), "robot".into(), port.into()]);
        assert_eq!(parse_address(&answer(4000)), Ok(("robot".to_owned(), 4000)));
        assert!(parse_address(&answer(70_000)).is_err() && parse_address(&Value::Array(Vec::new())).is_err());
    }

    #[test]
    fn answering_publishers_are_asked_about_used_topics() {
        let holders = |topics: &[(&str, &str)]| {
            topics.iter().map(|(topic, node)| ((*topic).to_owned(), vec![(*node).to_owned()])).collect()
        };
        let publishers = holders(&[("/used", "/a"), ("/dead", "/b"), ("/unused", "/a")]);
        let subscribers = holders(&[("/used", "/c"), ("/dead", "/c")]);
        let state = SystemState { publishers, subscribers, ..SystemState::default() };
        let alive = NodeFound { uri: Some("http://robot:1/".into()), ..NodeFound::default() };
        let dead = NodeFound { fault: Some(ServerFault::Refused), ..alive.clone() };
        let nodes = [("/a".to_owned(), alive), ("/b".to_owned(), dead)].into();
        let found = GraphFound { state, nodes, ..GraphFound::default() };
        let ask = |all| to_ask(&found, all).into_iter().map(|end| end.topic).collect::<Vec<_>>();
        assert_eq!(ask(false), ["/used"]);
        assert_eq!(ask(true), ["/unused", "/used"]);
    }
}
