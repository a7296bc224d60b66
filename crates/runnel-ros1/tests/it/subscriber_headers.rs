//! Subscribers' connection headers, as checked by the publisher.

use runnel_core::time::Instant;
use runnel_ros1::header::{ConnectionHeader, MAX_HEADER, MAX_VALUE};
use runnel_ros1::node::{HandshakeFault, Limits, Node, NodeEvent, PeerFault, Port, TopicSpec};
use runnel_testkit::net::{App, Conditions, Net, Socket, millis, secs, subscriber_header, text_topic};

const TOPIC: &str = "/chatter";

/// A talker, and a scripted peer without ports.
fn scene() -> (Net, App, App) {
    scene_with(Limits::default())
}

fn scene_with(limits: Limits) -> (Net, App, App) {
    let mut net = Net::new(1);
    net.master("hub");
    let mut config = net.node_config("/talker", "a");
    config.limits = limits;
    let talker = net.start_node(config);
    net.advertise(talker, TOPIC);
    let peer = net.fake("peer", "b");
    net.run_for(secs(1));
    (net, talker, peer)
}

/// Sends a valid header with this field replaced, added or removed; returns the socket.
fn dial_with(net: &mut Net, peer: App, talker: App, field: &str, value: Option<&str>) -> Socket {
    let spec = text_topic(TOPIC);
    let mut fields = subscriber_header("/peer", &spec);
    fields.retain(|(key, _)| *key != field);
    fields.extend(value.map(|value| (field, value)));
    let socket = net.dial_node(peer, talker, &fields);
    net.settle();
    socket
}

/// The text of the error header, after which the connection was closed and no subscriber joined.
fn refusal(net: &Net, talker: App, socket: Socket) -> String {
    let header = net.header_received(socket).expect("an answer");
    assert!(net.is_over(socket), "closed after the error");
    assert_eq!(net.pieces_received(socket).len(), 1, "nothing after the error");
    assert_eq!(net.subscribers(talker, TOPIC), Vec::<String>::new());
    header.get("error").unwrap_or_else(|| panic!("no error in {header:?}")).to_owned()
}

#[test]
fn valid_header_gets_all_required_fields() {
    let (mut net, talker, peer) = scene();
    let socket = dial_with(&mut net, peer, talker, "", None);
    let header = net.header_received(socket).expect("an answer");
    let spec = text_topic(TOPIC);
    let expected = [
        ("callerid", "/talker"),
        ("latching", "0"),
        ("md5sum", &spec.md5),
        ("message_definition", "string data\n"),
        ("topic", TOPIC),
        ("type", "std_msgs/String"),
    ];
    expected.iter().for_each(|(key, value)| assert_eq!(header.get(key), Some(*value), "{key}"));
    net.publish(talker, TOPIC, "hello");
    net.settle();
    assert_eq!(net.pieces_received(socket)[1], b"hello");
}

#[test]
fn missing_subscriber_fields_are_named() {
    for field in ["topic", "md5sum", "callerid"] {
        for value in [None, Some("")] {
            let (mut net, talker, peer) = scene();
            let socket = dial_with(&mut net, peer, talker, field, value);
            let why = refusal(&net, talker, socket);
            assert!(why.contains(field), "{why}");
        }
    }
}

#[test]
fn type_may_be_missing_or_any() {
    for value in [None, Some("*"), Some("what/Ever")] {
        let (mut net, talker, peer) = scene();
        dial_with(&mut net, peer, talker, "type", value);
        assert_eq!(net.subscribers(talker, TOPIC), ["/peer"], "{value:?}");
    }
}

#[test]
fn subscriber_to_any_md5sum_is_accepted() {
    let (mut net, talker, peer) = scene();
    dial_with(&mut net, peer, talker, "md5sum", Some("*"));
    assert_eq!(net.subscribers(talker, TOPIC), ["/peer"]);
}

#[test]
fn type_mismatch_is_refused_with_both_types() {
    let (mut net, talker, peer) = scene();
    let other = TopicSpec { type_name: "std_msgs/Int16".into(), md5: "8".repeat(32), ..text_topic(TOPIC) };
    let socket = net.dial_node(peer, talker, &subscriber_header("/peer", &other));
    net.settle();
    let why = refusal(&net, talker, socket);
    for part in
        [TOPIC, "/talker", "/peer", "std_msgs/String", "std_msgs/Int16", &other.md5, &text_topic(TOPIC).md5]
    {
        assert!(why.contains(part), "{part} is not in: {why}");
    }
}

#[test]
fn refused_subscriber_affects_no_other() {
    let (mut net, talker, peer) = scene();
    let listener = net.node("/listener", "c");
    net.subscribe(listener, TOPIC);
    net.run_for(secs(1));
    for (field, value) in [("md5sum", Some("1")), ("topic", Some("/none")), ("callerid", None)] {
        let socket = dial_with(&mut net, peer, talker, field, value);
        assert!(net.header_received(socket).expect("an answer").get("error").is_some());
    }
    net.publish(talker, TOPIC, "hello");
    net.run_for(secs(1));
    assert_eq!(net.received_texts(listener), ["hello"]);
    assert_eq!(net.leaks(), Vec::<String>::new());
}

#[test]
fn unknown_topic_and_service_are_refused() {
    let (mut net, talker, peer) = scene();
    let socket = dial_with(&mut net, peer, talker, "topic", Some("/none"));
    assert!(refusal(&net, talker, socket).contains("/none"));
    let socket = dial_with(&mut net, peer, talker, "service", Some("/talker/go"));
    assert!(refusal(&net, talker, socket).contains("/talker/go"));
    let probe = [("callerid", "/rosservice"), ("md5sum", "*"), ("probe", "1"), ("service", "/talker/go")];
    let socket = net.dial_node(peer, talker, &probe);
    net.settle();
    assert!(refusal(&net, talker, socket).contains("/talker/go"));
}

#[test]
fn malformed_header_is_refused_and_peer_named() {
    let field_beyond = [&8u32.to_le_bytes()[..], &100u32.to_le_bytes(), b"a=bc"].concat();
    let no_equals = [&7u32.to_le_bytes()[..], &3u32.to_le_bytes(), b"abc"].concat();
    let many = ConnectionHeader::new((0..200).map(|_| ("k", "v"))).emit();
    for bytes in [field_beyond, no_equals, many, vec![0; 4]] {
        let (mut net, talker, peer) = scene();
        let socket = net.dial_tcpros(peer, talker);
        net.write(socket, &bytes);
        net.settle();
        refusal(&net, talker, socket);
        let is_reported = |event: &NodeEvent| match event {
            NodeEvent::PeerFault { why: PeerFault::Incoming { peer, fault: HandshakeFault::Header(_) } } => {
                peer.to_string().starts_with("10.0.0.")
            }
            _ => false,
        };
        assert!(net.events(talker).iter().any(is_reported), "{bytes:?}");
    }
}

#[test]
fn header_may_arrive_bytewise() {
    let (mut net, talker, peer) = scene();
    net.conditions = Conditions::byte_by_byte();
    let socket = dial_with(&mut net, peer, talker, "", None);
    net.publish(talker, TOPIC, "hello");
    net.settle();
    assert_eq!(net.pieces_received(socket)[1], b"hello");
}

#[test]
fn too_long_header_is_closed_immediately() {
    for claimed in [MAX_HEADER as u32 + 1, u32::MAX] {
        let (mut net, talker, peer) = scene();
        let socket = net.dial_tcpros(peer, talker);
        net.write(socket, &claimed.to_le_bytes());
        net.settle();
        assert!(net.is_over(socket), "{claimed}");
        assert_eq!(net.leaks(), Vec::<String>::new());
    }
}

#[test]
fn slow_header_is_closed_after_ten_seconds() {
    for writes in [false, true] {
        let (mut net, talker, peer) = scene();
        let socket = net.dial_tcpros(peer, talker);
        let since = net.now();
        if writes {
            net.write(socket, b"\x20");
        }
        net.run_until("it is closed", secs(11), |net| net.is_over(socket));
        assert!(net.now().since(since) >= secs(9));
        net.write(socket, b"\0");
        net.run_for(secs(1));
        assert_eq!(net.leaks(), Vec::<String>::new());
    }
}

#[test]
fn silent_connections_do_not_block_subscriber() {
    let (mut net, talker, peer) = scene();
    let listener = net.node("/listener", "c");
    for number in 0..1000 {
        net.dial_tcpros(peer, talker);
        if number == 500 {
            net.subscribe(listener, TOPIC);
        }
    }
    let most = Limits::default().half_open;
    assert!(
        net.node_of(talker).connection_count() <= most + 10,
        "{}",
        net.node_of(talker).connection_count()
    );
    net.publish(talker, TOPIC, "hello");
    net.run_for(secs(1));
    assert_eq!(net.received_texts(listener), ["hello"]);
    net.run_for(secs(10));
    assert!(net.node_of(talker).connection_count() < 10);
    assert_eq!(net.leaks(), Vec::<String>::new());
}

#[test]
fn silent_callers_do_not_block_slave_api() {
    let (mut net, talker, peer) = scene();
    let uri = net.node_of(talker).uri();
    let port: u16 =
        uri.trim_end_matches('/').rsplit(':').next().and_then(|port| port.parse().ok()).expect("a port");
    for _ in 0..1000 {
        net.connect_socket(peer, "a", port);
    }
    assert!(net.node_of(talker).connection_count() <= 520, "{}", net.node_of(talker).connection_count());
    net.call(peer, &uri, "getPid", &["/c".into()]).expect("an answer");
    net.run_for(secs(11));
    assert!(net.node_of(talker).connection_count() < 10);
    assert_eq!(net.leaks(), Vec::<String>::new());
}

#[test]
fn subscriber_limit_holds_for_simultaneous_headers() {
    let (mut net, talker, peer) = scene_with(Limits { subscribers: 2, ..Limits::default() });
    let sockets: Vec<Socket> = (0..5).map(|_| net.dial_tcpros(peer, talker)).collect();
    let spec = text_topic(TOPIC);
    sockets.iter().for_each(|socket| net.write_header(*socket, &subscriber_header("/peer", &spec)));
    net.run_for(millis(100));
    assert_eq!(net.subscribers(talker, TOPIC), ["/peer", "/peer"]);
    assert_eq!(sockets.iter().filter(|socket| net.is_over(**socket)).count(), 3);
    net.close_socket(sockets[0]);
    net.run_for(millis(100));
    net.dial_node(peer, talker, &subscriber_header("/next", &spec));
    net.run_for(millis(100));
    assert_eq!(net.subscribers(talker, TOPIC), ["/next", "/peer"], "one goes, one may come");
}

#[test]
fn half_closed_subscriber_leaves_nothing() {
    let (mut net, talker, peer) = scene();
    let half = net.dial_tcpros(peer, talker);
    net.finish_writing(half);
    let whole = dial_with(&mut net, peer, talker, "", None);
    net.close_socket(whole);
    net.run_for(secs(1));
    assert!(net.is_over(half));
    assert_eq!((net.subscribers(talker, TOPIC).len(), net.leaks()), (0, Vec::new()));
}

#[test]
fn subscriber_with_too_long_name_is_refused() {
    let (mut net, talker, peer) = scene();
    let socket = dial_with(&mut net, peer, talker, "callerid", Some(&"/n".repeat(MAX_VALUE)));
    assert!(refusal(&net, talker, socket).contains("callerid"));
}

#[test]
fn repeated_silent_connections_leave_nothing() {
    let config = Net::new(1).node_config("/n", "a");
    let (mut node, now) = (Node::new(config), Instant(0));
    let mut events = 0;
    for _ in 0..10_000 {
        node.handle_accepted(now, Port::Rpc, "10.0.0.9:1000".parse().unwrap())
            .expect("an older connection is evicted");
        events += std::iter::from_fn(|| node.poll_event()).count();
        while node.poll_transmit().is_some() {}
    }
    assert_eq!(
        (node.connection_count(), events),
        (512, 10_000 - 512),
        "each evicted connection is reported immediately"
    );
}
