//! Header fields by which the ends of a link recognize that they are on one host.

use runnel_core::local_peer::{LocalIdentity, LocalPeerId};
use runnel_ros1::node::{NodeEvent, Port, ServiceClientSpec};
use runnel_testkit::net::{
    App, FakePublisher, Net, Socket, publisher_header, secs, subscriber_header, text_service, text_topic,
};

const TOPIC: &str = "/chatter";

/// Names of the fields. The peer may be an older Runnel, or another implementation.
const FIELDS: [&str; 2] = ["runnel_process", "runnel_link"];

/// A node of a process with this id, or of one that stays on the network.
fn node(net: &mut Net, name: &str, process: Option<u128>) -> App {
    let mut config = net.node_config(name, "host");
    let secret = name.bytes().map(u128::from).sum();
    config.same_host = process.map(|process| LocalIdentity { process, secret });
    net.start_node(config)
}

/// The peers announced to the publisher, link by link.
fn peers_of_publisher(net: &Net, app: App) -> Vec<Option<LocalPeerId>> {
    let joined = net.events(app).iter().filter_map(|event| match event {
        NodeEvent::SubscriberJoined(link) => Some(link.same_host),
        _ => None,
    });
    joined.collect()
}

fn peers_of_subscriber(net: &Net, app: App) -> Vec<Option<LocalPeerId>> {
    let joined = net.events(app).iter().filter_map(|event| match event {
        NodeEvent::PublisherJoined(link) => Some(link.same_host),
        _ => None,
    });
    joined.collect()
}

/// A talker and listeners, linked.
fn linked(talker: Option<u128>, listeners: &[Option<u128>]) -> (Net, App, Vec<App>) {
    let mut net = Net::new(1);
    net.master("hub");
    let talker = node(&mut net, "/talker", talker);
    net.advertise(talker, TOPIC);
    let mut apps = Vec::new();
    for (index, process) in listeners.iter().enumerate() {
        let listener = node(&mut net, &format!("/listener{index}"), *process);
        net.subscribe(listener, TOPIC);
        apps.push(listener);
    }
    net.run_until("all are linked", secs(5), |net| net.subscribers(talker, TOPIC).len() == listeners.len());
    net.run_for(secs(1));
    (net, talker, apps)
}

#[test]
fn both_ends_know_peer_process_and_token() {
    let (net, talker, listeners) = linked(Some(7), &[Some(8)]);
    let (asked, answered) = (peers_of_publisher(&net, talker)[0], peers_of_subscriber(&net, listeners[0])[0]);
    let (asked, answered) = (asked.expect("a local peer"), answered.expect("a local peer"));
    assert_eq!((asked.process, answered.process), (8, 7));
    assert_eq!(asked.token, answered.token);
}

#[test]
fn network_only_node_has_no_local_peer() {
    for (talker, listener) in [(Some(7), None), (None, Some(8)), (None, None)] {
        let (net, talker, listeners) = linked(talker, &[listener]);
        assert_eq!(peers_of_publisher(&net, talker), [None]);
        assert_eq!(peers_of_subscriber(&net, listeners[0]), [None]);
    }
}

#[test]
fn each_link_has_its_own_token() {
    let (mut net, talker, listeners) = linked(Some(7), &[Some(8), Some(8), Some(9)]);
    assert_eq!(net.break_links(talker, listeners[0], Port::Tcpros), 1);
    net.run_until("it is linked again", secs(5), |net| net.subscribers(talker, TOPIC).len() == 3);
    let mut tokens: Vec<u128> =
        peers_of_publisher(&net, talker).iter().map(|peer| peer.expect("a local peer").token).collect();
    tokens.sort_unstable();
    tokens.dedup();
    assert_eq!(tokens.len(), 4);
}

/// A talker, and a scripted subscriber that has sent these fields in addition to the required ones.
fn dialed(process: Option<u128>, more: &[(&str, &str)]) -> (Net, App, Socket) {
    let mut net = Net::new(1);
    net.master("hub");
    let talker = node(&mut net, "/talker", process);
    net.advertise(talker, TOPIC);
    let peer = net.fake("peer", "host");
    net.run_for(secs(1));
    let spec = text_topic(TOPIC);
    let fields = [subscriber_header("/peer", &spec), more.to_vec()].concat();
    let socket = net.dial_node(peer, talker, &fields);
    net.settle();
    (net, talker, socket)
}

#[test]
fn peer_without_process_gets_no_process() {
    let (net, talker, socket) = dialed(Some(7), &[]);
    let header = net.header_received(socket).expect("an answer");
    assert!(FIELDS.iter().all(|field| header.get(field).is_none()), "{header:?}");
    assert_eq!(peers_of_publisher(&net, talker), [None]);
}

#[test]
fn peer_with_process_gets_process_without_token() {
    let [process, link] = [format!("{:032x}", 8), format!("{:032X}", 0xabc)];
    let (net, talker, socket) = dialed(Some(7), &[("runnel_process", &process), ("runnel_link", &link)]);
    let header = net.header_received(socket).expect("an answer");
    assert_eq!(header.get("runnel_process"), Some(format!("{:032x}", 7).as_str()));
    assert_eq!(header.get("runnel_link"), None);
    assert_eq!(peers_of_publisher(&net, talker), [Some(LocalPeerId { process: 8, token: 0xabc })]);
}

#[test]
fn malformed_fields_are_ignored() {
    let good = format!("{:032x}", 8);
    let long = format!("{good}0");
    for (process, link) in [
        (Some("8"), Some(good.as_str())),
        (Some(good.as_str()), Some("")),
        (Some(&good), Some("no number of thirty-two hex digit")),
        (Some(&long), Some(&good)),
        (Some("+000000000000000000000000000000f"), Some(&good)),
        (
            Some(
                "\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}",
            ),
            Some(&good),
        ),
        (Some(&good), None),
        (None, Some(&good)),
    ] {
        let fields = [("runnel_process", process), ("runnel_link", link)];
        let fields: Vec<_> = fields.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
        let (mut net, talker, socket) = dialed(Some(7), &fields);
        let header = net.header_received(socket).expect("an answer");
        assert_eq!((header.get("error"), header.get("runnel_process")), (None, None), "{fields:?}");
        assert_eq!(peers_of_publisher(&net, talker), [None], "{fields:?}");
        net.publish(talker, TOPIC, "hello");
        net.settle();
        assert_eq!(net.pieces_received(socket)[1], b"hello");
    }
}

/// A listener, and the socket of its link to a scripted publisher that has answered with these additional fields.
fn answered(process: Option<u128>, more: &[(&str, &str)]) -> (Net, App, FakePublisher, Socket) {
    let mut net = Net::new(1);
    let master = net.fake_master();
    let listener = node(&mut net, "/listener", process);
    net.subscribe(listener, TOPIC);
    let publisher = net.fake_publisher("/odd", "host");
    net.run_for(secs(1));
    net.update(master, listener, TOPIC, &[&publisher.uri]);
    let spec = text_topic(TOPIC);
    let fields = [publisher_header("/odd", &spec), more.to_vec()].concat();
    let socket = net.answer_subscriber(&publisher, &fields);
    net.settle();
    (net, listener, publisher, socket)
}

#[test]
fn subscriber_announces_process_unless_network_only() {
    let (net, _, _, socket) = answered(Some(8), &[]);
    let header = net.header_received(socket).expect("our header");
    assert_eq!(header.get("runnel_process"), Some(format!("{:032x}", 8).as_str()));
    assert_eq!(header.get("runnel_link").map(str::len), Some(32));
    let (net, _, _, socket) = answered(None, &[]);
    let header = net.header_received(socket).expect("our header");
    assert!(FIELDS.iter().all(|field| header.get(field).is_none()), "{header:?}");
}

#[test]
fn malformed_answer_keeps_link_on_network() {
    for value in ["", "7", "zz000000000000000000000000000000"] {
        let (net, listener, publisher, _) = answered(Some(8), &[("runnel_process", value)]);
        assert_eq!(peers_of_subscriber(&net, listener), [None], "{value}");
        assert_eq!(net.publishers(listener, TOPIC), [publisher.name]);
    }
}

/// The identities that a service and its client, of two processes, got from each other for one call.
fn called(persistent: bool) -> [Option<LocalPeerId>; 2] {
    let mut net = Net::new(1);
    net.master("hub");
    let (server, client) = (node(&mut net, "/server", Some(7)), node(&mut net, "/client", Some(8)));
    net.provide(server, "/echo");
    net.run_for(secs(1));
    let spec = text_service("/echo");
    let (service, type_name, md5) = (spec.service, spec.type_name, spec.md5);
    let spec = ServiceClientSpec { service, type_name, md5, persistent, probe: false };
    let link = net.call_service_as(client, spec, "hello", secs(5));
    net.run_for(secs(1));
    assert_eq!(net.answers(client, link), [Ok("hello".to_owned())]);
    let at_server = net.events(server).iter().find_map(|event| match event {
        NodeEvent::ServiceClientJoined(link) => Some(link.same_host),
        _ => None,
    });
    let at_client = net.events(client).iter().find_map(|event| match event {
        NodeEvent::ServiceLinked(link) => Some(link.same_host),
        _ => None,
    });
    [at_server, at_client].map(|events| events.expect("a link"))
}

#[test]
fn only_persistent_service_link_has_local_peer() {
    let [at_server, at_client] = called(true).map(|peer| peer.expect("a local peer"));
    assert_eq!((at_server.process, at_client.process), (8, 7));
    assert_eq!(at_server.token, at_client.token);
    assert_eq!(called(false), [None, None]);
}
