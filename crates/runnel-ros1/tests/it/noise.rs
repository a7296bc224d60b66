//! Random bytes from peers at any time: no panic, no leak, and other peers are still served.

use proptest::collection::vec;
use proptest::prelude::*;
use runnel_ros1::header::ConnectionHeader;
use runnel_ros1::http;
use runnel_ros1::node::Port;
use runnel_testkit::net::{App, Net, Socket, millis, publisher_header, secs, subscriber_header, text_topic};

const TOPIC: &str = "/chatter";

fn cases() -> ProptestConfig {
    ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() }
}

/// Bytes that begin as valid, are changed in places, and end anywhere.
fn damaged(good: Vec<u8>) -> impl Strategy<Value = Vec<u8>> {
    let length = good.len();
    let changes = vec((0..length, any::<u8>()), 0..4);
    (Just(good), changes, 0..=length, vec(any::<u8>(), 0..40)).prop_map(|(mut bytes, changes, end, tail)| {
        changes.into_iter().for_each(|(at, value)| bytes[at] = value);
        bytes.truncate(end);
        bytes.extend(tail);
        bytes
    })
}

fn noise() -> impl Strategy<Value = Vec<u8>> {
    let spec = text_topic(TOPIC);
    let header = ConnectionHeader::new(subscriber_header("/x", &spec)).emit();
    let answer = ConnectionHeader::new(publisher_header("/x", &spec)).emit();
    let call = http::request("a:1", "/", b"<?xml version=\"1.0\"?><methodCall><methodName>requestTopic</methodName><params><param><value>/x</value></param><param><value>/chatter</value></param><param><value><array><data><value><array><data><value>TCPROS</value></data></array></value></data></array></value></param></params></methodCall>", true);
    let reply = http::response(b"<?xml version=\"1.0\"?><methodResponse><params><param><value><array><data><value><int>1</int></value><value></value><value><array><data><value>TCPROS</value><value>p</value><value><int>40002</int></value></data></array></value></data></array></value></param></params></methodResponse>", true);
    prop_oneof![vec(any::<u8>(), 0..200), damaged(header), damaged(answer), damaged(call), damaged(reply)]
}

/// A linked talker and listener.
fn linked_nodes() -> (Net, App, App) {
    let mut net = Net::new(1);
    net.master("hub");
    let (talker, listener) = (net.node("/talker", "a"), net.node("/listener", "b"));
    net.advertise(talker, TOPIC);
    net.subscribe(listener, TOPIC);
    net.run_until("they are linked", secs(1), |net| net.publishers(listener, TOPIC) == ["/talker"]);
    (net, talker, listener)
}

fn still_serves(net: &mut Net, talker: App, listener: App) {
    net.publish(talker, TOPIC, "still");
    net.run_for(secs(1));
    assert_eq!(net.received_texts(listener).last().map(String::as_str), Some("still"));
    let others: Vec<String> = net.leaks().into_iter().filter(|leak| leak.starts_with("/talker")).collect();
    assert_eq!(others, Vec::<String>::new());
}

/// Sends pieces of noise with pauses, and ends in one of three ways.
fn send(net: &mut Net, socket: Socket, pieces: &[Vec<u8>], end: usize) {
    for piece in pieces {
        net.write(socket, piece);
        net.run_for(millis(2));
    }
    match end {
        0 => net.close_socket(socket),
        1 => net.finish_writing(socket),
        _ => {}
    }
    net.run_for(secs(30));
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn noise_on_node_ports_affects_no_other_peer(pieces in vec(noise(), 1..4), tcpros: bool, end in 0..3usize) {
        let (mut net, talker, listener) = linked_nodes();
        let (port, peer) = (net.node_of(talker).uri(), net.fake("peer", "c"));
        let rpc: u16 = port.trim_end_matches('/').rsplit(':').next().and_then(|port| port.parse().ok()).expect("a port");
        let socket = if tcpros { net.dial_tcpros(peer, talker) } else { net.connect_socket(peer, "a", rpc) };
        send(&mut net, socket, &pieces, end);
        still_serves(&mut net, talker, listener);
    }

    #[test]
    fn noise_from_publisher_affects_no_other_peer(pieces in vec(noise(), 1..4), slave: bool, end in 0..3usize) {
        let (mut net, talker, listener) = linked_nodes();
        let publisher = net.fake_publisher("/odd", "p");
        if slave {
            net.listen(publisher.app, publisher.rpc_port, Port::Tcpros);
        }
        let uri = net.node_of(talker).uri();
        net.update(publisher.app, listener, TOPIC, &[&uri, &publisher.uri]);
        let socket = net.accept_socket(publisher.app);
        send(&mut net, socket, &pieces, end);
        still_serves(&mut net, talker, listener);
    }

    #[test]
    fn noise_from_master_ends_no_link(pieces in vec(noise(), 1..4), end in 0..3usize) {
        let (mut net, talker, listener) = linked_nodes();
        let noisy = net.fake("noisy", "hub");
        net.listen(noisy, 7, Port::Tcpros);
        let mut config = net.node_config("/third", "c");
        config.master.endpoint.port = 7;
        let third = net.start_node(config);
        net.subscribe(third, TOPIC);
        let socket = net.accept_socket(noisy);
        send(&mut net, socket, &pieces, end);
        let uri = net.node_of(talker).uri();
        net.update(noisy, third, TOPIC, &[&uri]);
        net.run_until("it links nevertheless", secs(30), |net| net.publishers(third, TOPIC) == ["/talker"]);
        still_serves(&mut net, talker, listener);
    }
}
