//! Faults of links between publishers and subscribers, from the reports of both ends.

use std::collections::BTreeSet;

use runnel_ros1::rpc::Uri;

use super::finding::{Area, Finding};
use super::found::{GraphFound, NodeFound};
use super::topics::have_different_types;
use crate::graph::{Connection, Drops};

/// Advice for ends that are not connected.
const RESTART: &str = "read the subscriber's log (another definition of the type, a host name that does not \
                       resolve there, a firewall, or UDPROS, which the publisher does not support), and restart it";

/// A publisher and a subscriber that the master lists and that both answer.
struct Pair<'g> {
    topic: &'g str,
    publisher: &'g str,
    subscriber: &'g str,
    /// Whether each end reports the link; `None` if it reports no links.
    publisher_knows: Option<bool>,
    subscriber_knows: Option<bool>,
}

pub fn judge(graph: &GraphFound) -> Vec<Finding> {
    let mut findings: Vec<Finding> = broken(graph).map(|pair| pair.finding()).collect();
    for (name, node) in &graph.nodes {
        findings.extend(node.drops.iter().filter_map(|drops| dropping(name, node, drops, graph)));
    }
    findings
}

/// The nodes with half-open or missing links. A second look may find them complete.
pub fn suspects(graph: &GraphFound) -> BTreeSet<String> {
    broken(graph).flat_map(|pair| [pair.publisher.to_owned(), pair.subscriber.to_owned()]).collect()
}

fn broken(graph: &GraphFound) -> impl Iterator<Item = Pair<'_>> {
    pairs(graph).filter(|pair| [pair.publisher_knows, pair.subscriber_knows].contains(&Some(false)))
}

/// All pairs that should be linked over the network.
fn pairs(graph: &GraphFound) -> impl Iterator<Item = Pair<'_>> {
    graph.state.publishers.iter().flat_map(move |(topic, publishers)| {
        let ends = publishers.iter().flat_map(move |publisher| {
            graph.subscribers(topic).iter().map(move |subscriber| (publisher.as_str(), subscriber.as_str()))
        });
        ends.filter_map(move |(publisher, subscriber)| pair(topic, publisher, subscriber, graph))
    })
}

fn pair<'g>(
    topic: &'g str,
    publisher: &'g str,
    subscriber: &'g str,
    graph: &'g GraphFound,
) -> Option<Pair<'g>> {
    let (from, to) = (graph.answering(publisher)?, graph.answering(subscriber)?);
    if publisher == subscriber || in_one_process(from, to) {
        return None;
    }
    if have_different_types(topic, publisher, subscriber, graph) {
        return None;
    }
    let knows = |node: &NodeFound, knows: &dyn Fn(&Connection) -> bool| {
        let connections = node.connections.as_ref()?;
        Some(connections.iter().any(|link| link.connected && link.topic == topic && knows(link)))
    };
    let publisher_knows = knows(from, &|link| link.direction != "i" && link.peer == subscriber);
    let subscriber_knows = knows(to, &|link| link.direction != "o" && is_peer(&link.peer, publisher, from));
    Some(Pair { topic, publisher, subscriber, publisher_knows, subscriber_knows })
}

/// Nodes of one process may exchange messages without a link.
fn in_one_process(one: &NodeFound, other: &NodeFound) -> bool {
    one.pid.is_some() && one.pid == other.pid && one.address == other.address
}

/// Whether a subscriber's name of its peer means this publisher: its URI or its name.
fn is_peer(peer: &str, name: &str, node: &NodeFound) -> bool {
    let endpoint = |uri: &str| Uri::parse(uri).ok().map(|uri| uri.endpoint);
    peer == name || endpoint(peer).is_some_and(|peer| node.uri.as_deref().and_then(endpoint) == Some(peer))
}

impl Pair<'_> {
    fn finding(&self) -> Finding {
        let Self { topic, publisher, subscriber, .. } = self;
        let ends = format!("{publisher} -> {subscriber}");
        match (self.publisher_knows, self.subscriber_knows) {
            (Some(false), Some(true)) => {
                let what = format!("{ends}: the subscriber has a connection that the publisher has lost");
                Finding::error(Area::Link, *topic, what, "restart the subscriber")
            }
            (Some(true), Some(false)) => {
                let what = format!("{ends}: the publisher sends, but the subscriber has no connection");
                Finding::error(Area::Link, *topic, what, RESTART)
            }
            _ => Finding::error(Area::Link, *topic, format!("{ends}: not connected"), RESTART),
        }
    }
}

/// The messages that a link has dropped: a warning while the count grows.
fn dropping(name: &str, node: &NodeFound, drops: &Drops, graph: &GraphFound) -> Option<Finding> {
    let Drops { topic, direction, id, count } = drops;
    if *count <= 0 {
        return None;
    }
    let same = |later: &&Drops| (&later.topic, later.direction, later.id) == (topic, *direction, *id);
    let later = node.drops_later.iter().find(same).map_or(*count, |later| later.count);
    let peer = peer(node, drops, graph);
    let (what, advice) = match *direction {
        "o" => (
            format!("{name} drops messages for {peer}, which receives too slowly: {later} in all"),
            "make its callback faster, publish less, or give the publisher a longer queue",
        ),
        _ => (
            format!("{name} drops messages of {peer}, its callback is too slow: {later} in all"),
            "make the callback faster, or give the subscription a longer queue",
        ),
    };
    match later - count {
        new if new > 0 => {
            Some(Finding::warning(Area::Link, topic, format!("{what}, {new} during this check"), advice))
        }
        _ => Some(Finding::info(Area::Link, topic, format!("{what}, none during this check"), "")),
    }
}

/// The node at the other end of a link.
fn peer(node: &NodeFound, drops: &Drops, graph: &GraphFound) -> String {
    let connections = node.connections.as_deref().unwrap_or_default();
    let same = |link: &&Connection| link.id == drops.id && link.direction == drops.direction;
    let Some(link) = connections.iter().find(same) else { return "a link that has ended".to_owned() };
    let named = graph.nodes.iter().find(|(name, node)| is_peer(&link.peer, name, node));
    named.map_or_else(|| link.peer.clone(), |(name, _)| name.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::doctor::finding::Severity;
    use crate::commands::doctor::found::ServerFault;

    fn link(direction: &str, peer: &str) -> Connection {
        let (direction, peer) = (direction.to_owned(), peer.to_owned());
        Connection { id: 7, topic: "/t".into(), direction, peer, connected: true, ..Connection::default() }
    }

    /// `/a` publishes, `/b` subscribes; the arguments are their reports.
    fn graph(publisher: Option<Vec<Connection>>, subscriber: Option<Vec<Connection>>) -> GraphFound {
        let node = |port, connections| NodeFound {
            uri: Some(format!("http://robot:{port}/")),
            pid: Some(port),
            connections,
            ..NodeFound::default()
        };
        let nodes = [("/a".to_owned(), node(1, publisher)), ("/b".to_owned(), node(2, subscriber))].into();
        let mut graph = GraphFound { nodes, ..GraphFound::default() };
        graph.state.publishers.insert("/t".into(), vec!["/a".into()]);
        graph.state.subscribers.insert("/t".into(), vec!["/b".into()]);
        graph
    }

    fn sound() -> GraphFound {
        graph(Some(vec![link("o", "/b")]), Some(vec![link("i", "http://robot:1")]))
    }

    fn reported(graph: &GraphFound) -> Vec<(Severity, String)> {
        judge(graph).into_iter().map(|found| (found.severity, found.what)).collect()
    }

    #[test]
    fn link_known_to_both_ends_is_sound() {
        assert_eq!(reported(&sound()), []);
        assert!(suspects(&sound()).is_empty());
    }

    #[test]
    fn link_unknown_to_an_end_is_an_error() {
        let cases = [
            (Some(vec![]), Some(vec![link("i", "http://robot:1/")]), "the publisher has lost"),
            (Some(vec![link("o", "/b")]), Some(vec![]), "the subscriber has no connection"),
            (Some(vec![]), Some(vec![]), "not connected"),
            (None, Some(vec![link("i", "http://robot:3/")]), "not connected"),
            (Some(vec![link("o", "/c")]), None, "not connected"),
            (Some(vec![Connection { connected: false, ..link("o", "/b") }]), None, "not connected"),
        ];
        for (publisher, subscriber, said) in cases {
            let graph = graph(publisher, subscriber);
            let reported = reported(&graph);
            let [(Severity::Error, what)] = &reported[..] else { panic!("{said}: {reported:?}") };
            assert!(what.starts_with("/a -> /b: ") && what.contains(said), "{what}");
            assert!(suspects(&graph).iter().eq(["/a", "/b"]));
        }
    }

    #[test]
    fn end_without_report_is_not_blamed() {
        assert_eq!(reported(&graph(None, None)), []);
        assert_eq!(reported(&graph(None, Some(vec![link("i", "/a")]))), [], "called by its name");
        let mut dead = graph(Some(vec![]), Some(vec![]));
        dead.nodes.entry("/b".into()).and_modify(|node| node.fault = Some(ServerFault::Mute));
        assert_eq!(reported(&dead), []);
        let mut one_process = graph(Some(vec![]), Some(vec![]));
        one_process.nodes.values_mut().for_each(|node| node.pid = Some(5));
        assert_eq!(reported(&one_process), []);
    }

    #[test]
    fn type_mismatch_is_no_link_finding() {
        let mut graph = graph(Some(vec![]), Some(vec![]));
        let of = |name: &str| Some([("/t".to_owned(), name.to_owned())].into());
        graph.nodes.entry("/a".into()).and_modify(|node| node.publications = of("x/Y"));
        graph.nodes.entry("/b".into()).and_modify(|node| node.subscriptions = of("x/Z"));
        assert_eq!(reported(&graph), []);
        graph.nodes.entry("/b".into()).and_modify(|node| node.subscriptions = of("x/Y"));
        assert_eq!(reported(&graph).len(), 1);
    }

    #[test]
    fn growing_drop_count_is_a_warning() {
        let drops = |direction, count| vec![Drops { topic: "/t".into(), direction, id: 7, count }];
        let mut graph = sound();
        let mut drop = |node: &str, direction, counts: [i64; 2]| {
            graph.nodes.entry(node.into()).and_modify(|node| {
                node.drops = drops(direction, counts[0]);
                node.drops_later = drops(direction, counts[1]);
            });
            reported(&graph)
        };
        assert_eq!(drop("/a", "o", [0, 0]), []);
        let grown = drop("/a", "o", [5, 9]);
        let [(Severity::Warning, what)] = &grown[..] else { panic!("{grown:?}") };
        assert!(what.contains("/a drops messages for /b") && what.contains("9 in all, 4 during"), "{what}");
        let stands = drop("/a", "o", [5, 5]);
        let [(Severity::Info, what)] = &stands[..] else { panic!("{stands:?}") };
        assert!(what.contains("none during this check"), "{what}");
        drop("/a", "o", [0, 0]);
        let slow = drop("/b", "i", [5, 9]);
        let [(Severity::Warning, what)] = &slow[..] else { panic!("{slow:?}") };
        assert!(what.contains("/b drops messages of /a"), "{what}");
    }
}
