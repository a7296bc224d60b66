//! UDPROS offers of subscribers, and the publisher's answers.

use runnel_core::time::Instant;
use runnel_ros1::header::{ConnectionHeader, HeaderError};
use runnel_ros1::http;
use runnel_ros1::net::Transmit;
use runnel_ros1::node::{HandshakeFault, Limits, Node, OfferFault, PeerFault, Port, TopicSpec};
use runnel_ros1::rpc::Uri;
use runnel_ros1::xmlrpc::{Value, encode_call};
use runnel_testkit::net::{
    App, Net, Socket, millis, publisher_header, secs, subscriber_header, text_topic, texts,
};

use crate::udpros_common::{TOPIC, framed, has_reported, header, sent};

/// A talker with this subscriber limit, and a scripted caller.
fn talker_and_caller(subscribers: usize) -> (Net, App, App) {
    talker_with(Limits { subscribers, ..Limits::default() })
}

fn talker_with(limits: Limits) -> (Net, App, App) {
    let mut net = Net::new(1);
    net.master("hub");
    let mut config = net.node_config("/talker", "t");
    config.limits = limits;
    let talker = net.start_node(config);
    net.advertise(talker, TOPIC);
    let caller = net.fake("caller", "c");
    (net, talker, caller)
}

fn offer(header: Value, port: i32, longest: i32) -> Value {
    vec!["UDPROS".into(), header, "other-host".into(), port.into(), longest.into()].into()
}

fn offer_of(name: &str, port: u16) -> Value {
    offer(header(&subscriber_header(name, &text_topic(TOPIC))), port.into(), 1500)
}

/// Status and value of the answer to these offers.
fn request(net: &mut Net, caller: App, talker: App, offers: Vec<Value>) -> (i32, Value) {
    let uri = net.node_of(talker).uri();
    let reply = net.call(caller, &uri, "requestTopic", &["/c".into(), TOPIC.into(), offers.into()]).unwrap();
    let Value::Array(reply) = reply else { panic!("{reply:?}") };
    (reply[0].as_int().unwrap(), reply[2].clone())
}

fn protocol(value: &Value) -> Option<&str> {
    value.as_array()?.first()?.as_str()
}

#[test]
fn subscriber_gets_its_first_offer() {
    let (mut net, talker, caller) = talker_and_caller(10);
    let (_, port) = net.open_datagrams(caller);
    let unknown = || texts(&["RUNNEL", "x"]);
    let (udpros, tcpros) = (|| offer_of("/c", port), || texts(&["TCPROS"]));
    for (offers, expected) in [
        (vec![udpros()], "UDPROS"),
        (vec![unknown(), udpros(), tcpros()], "UDPROS"),
        (vec![tcpros(), udpros()], "TCPROS"),
    ] {
        let (status, value) = request(&mut net, caller, talker, offers);
        assert_eq!((status, protocol(&value)), (1, Some(expected)), "{value:?}");
    }
    assert_eq!(net.subscribers(talker, TOPIC), ["/c"]);
}

#[test]
fn datagrams_go_to_caller_address_and_offered_port() {
    let (mut net, talker, caller) = talker_and_caller(10);
    let (socket, port) = net.open_datagrams(caller);
    let (_, value) = request(&mut net, caller, talker, vec![offer_of("/c", port)]);
    let [_, host, Value::Int(_), Value::Int(number), longest, Value::Binary(bytes)] =
        value.as_array().unwrap()
    else {
        panic!("{value:?}")
    };
    assert_eq!((host, longest), (&"t".into(), &1472.into()));
    let header = ConnectionHeader::parse(bytes).unwrap();
    let spec = text_topic(TOPIC);
    for (key, value) in publisher_header("/talker", &spec) {
        assert_eq!(header.get(key), Some(value), "{key}");
    }
    net.publish(talker, TOPIC, "hello");
    net.run_for(millis(10));
    assert_eq!(net.received(socket), framed(number.cast_unsigned(), 1, "hello"));
}

#[test]
fn datagram_limit_of_subscriber_is_respected() {
    let table = [
        (512, 512),
        (1000, 1000),
        (1472, 1472),
        (1500, 1472),
        (1501, 1501),
        (9000, 9000),
        (i32::MAX, 65_507),
    ];
    for (asked, expected) in table {
        let (mut net, talker, caller) = talker_and_caller(10);
        let (socket, port) = net.open_datagrams(caller);
        let offers = vec![offer(header(&subscriber_header("/c", &text_topic(TOPIC))), port.into(), asked)];
        let (_, value) = request(&mut net, caller, talker, offers);
        assert_eq!(value.as_array().unwrap()[4], expected.into());
        net.publish(talker, TOPIC, &"x".repeat(expected as usize - 12));
        net.run_for(millis(10));
        assert_eq!(net.received(socket).len(), expected as usize, "one datagram");
    }
}

/// Whether a fault is the expected one.
type Check = Box<dyn Fn(&OfferFault) -> bool>;

#[test]
fn invalid_offers_are_refused_or_fall_back() {
    let spec = text_topic(TOPIC);
    let sound = || header(&subscriber_header("/c", &spec));
    let other = TopicSpec { md5: "8".repeat(32), ..text_topic(TOPIC) };
    let unpublished = text_topic("/unpublished");
    let of_header = |is_it: fn(&HandshakeFault) -> bool| move |fault: &OfferFault| matches!(fault, OfferFault::Handshake(fault) if is_it(fault));
    let is_other_type = of_header(|fault| matches!(fault, HandshakeFault::SubscriberType(_)));
    let is_not_published = of_header(
        |fault| matches!(fault, HandshakeFault::NotPublished { topic, .. } if topic == "/unpublished"),
    );
    let lacks_name = of_header(|fault| *fault == HandshakeFault::Header(HeaderError::Missing("callerid")));
    let is_malformed = of_header(|fault| matches!(fault, HandshakeFault::Header(_)));
    let is = |expected: OfferFault| move |fault: &OfferFault| *fault == expected;
    let odd: [(Check, Value); 11] = [
        (Box::new(is_other_type), offer(header(&subscriber_header("/c", &other)), 5, 1500)),
        (Box::new(is_not_published), offer(header(&subscriber_header("/c", &unpublished)), 5, 1500)),
        (Box::new(lacks_name), offer(header(&[("topic", TOPIC), ("md5sum", "*")]), 5, 1500)),
        (Box::new(is_malformed), offer(Value::Binary(vec![1]), 5, 1500)),
        (Box::new(is(OfferFault::NotAnOffer)), offer("text".into(), 5, 1500)),
        (Box::new(is(OfferFault::NoPort)), offer(sound(), 0, 1500)),
        (Box::new(is(OfferFault::NoPort)), offer(sound(), -1, 1500)),
        (Box::new(is(OfferFault::NoPort)), offer(sound(), 65_536, 1500)),
        (Box::new(is(OfferFault::DatagramsTooShort)), offer(sound(), 5, 511)),
        (Box::new(is(OfferFault::DatagramsTooShort)), offer(sound(), 5, -1500)),
        (Box::new(is(OfferFault::NotAnOffer)), texts(&["UDPROS"])),
    ];
    for (is_it, bad) in odd {
        let (mut net, talker, caller) = talker_and_caller(10);
        assert_eq!(request(&mut net, caller, talker, vec![bad.clone()]).0, 0, "{bad:?}");
        let is_reported = has_reported(
            &net,
            talker,
            |fault| matches!(fault, PeerFault::DatagramOffer { topic, fault, .. } if topic == TOPIC && is_it(fault)),
        );
        assert!(is_reported, "{bad:?}");
        let (status, value) = request(&mut net, caller, talker, vec![bad.clone(), texts(&["TCPROS"])]);
        assert_eq!((status, protocol(&value)), (1, Some("TCPROS")), "{bad:?}");
        assert_eq!(net.datagram_sockets(talker), 0, "{bad:?}");
    }
}

/// Sends an offer for each name, each with its own socket.
fn ask_as(net: &mut Net, caller: App, talker: App, names: &[&str]) -> Vec<(i32, Socket)> {
    let mut ask = |name: &&str| {
        let (socket, port) = net.open_datagrams(caller);
        (request(net, caller, talker, vec![offer_of(name, port)]).0, socket)
    };
    names.iter().map(&mut ask).collect()
}

#[test]
fn udpros_subscribers_count_towards_limit() {
    let (mut net, talker, caller) = talker_and_caller(3);
    net.dial_node(caller, talker, &subscriber_header("/tcp", &text_topic(TOPIC)));
    net.run_for(millis(10));
    let asked = ask_as(&mut net, caller, talker, &["/a", "/b", "/c"]);
    let statuses: Vec<i32> = asked.iter().map(|(status, _)| *status).collect();
    assert_eq!(statuses, [1, 1, 0]);
    let is_full = OfferFault::Handshake(HandshakeFault::TooManyLinks { links: 3, node: "/talker".into() });
    assert!(has_reported(&net, talker, |fault| {
        matches!(fault, PeerFault::DatagramOffer { fault, .. } if *fault == is_full)
    }));
    // A link that ended frees its place.
    net.close_socket(asked[0].1);
    net.publish(talker, TOPIC, "x");
    net.run_for(millis(10));
    assert_eq!(net.subscribers(talker, TOPIC), ["/b", "/tcp"]);
    assert_eq!(ask_as(&mut net, caller, talker, &["/d"])[0].0, 1);
    assert_eq!(net.leaks(), Vec::<String>::new());
}

#[test]
fn oldest_udpros_link_is_evicted_first() {
    let limits = Limits { datagram_subscribers: 3, datagram_subscribers_per_ip: 2, ..Limits::default() };
    let (mut net, talker, caller) = talker_with(limits);
    net.dial_node(caller, talker, &subscriber_header("/tcp", &text_topic(TOPIC)));
    net.run_for(millis(10));
    let other = net.fake("other", "o");
    let third = net.fake("third", "x");
    // The remaining subscribers after each request.
    let steps: [(App, &str, &[&str]); 6] = [
        (other, "/o", &["/o", "/tcp"]),
        (caller, "/a", &["/a", "/o", "/tcp"]),
        (caller, "/b", &["/a", "/b", "/o", "/tcp"]),
        (caller, "/c", &["/b", "/c", "/o", "/tcp"]),
        (third, "/x", &["/b", "/c", "/tcp", "/x"]),
        (caller, "/c", &["/b", "/c", "/tcp", "/x"]),
    ];
    for (app, name, stay) in steps {
        assert_eq!(ask_as(&mut net, app, talker, &[name])[0].0, 1);
        assert_eq!(net.subscribers(talker, TOPIC), stay, "after {name}");
        assert_eq!(net.datagram_sockets(talker), stay.len() - 1);
    }
    for (name, most) in [("/a", 2), ("/o", 3)] {
        assert!(has_reported(&net, talker, |fault| matches!(
            fault,
            PeerFault::DatagramLinkDisplaced { subscriber, topic, limit, .. }
                if subscriber == name && topic == TOPIC && *limit == most
        )));
    }
    assert_eq!(net.leaks(), Vec::<String>::new());
}

#[test]
fn ipv6_datagrams_fit_one_packet() {
    let mut net = Net::new(1);
    let config = net.node_config("/talker", "t");
    let (mut node, now) = (Node::new(config), Instant(0));
    node.advertise(now, text_topic(TOPIC)).unwrap();
    let peer = "[fe80::1%7]:1000".parse().unwrap();
    let call = node.handle_accepted(now, Port::Rpc, peer).unwrap();
    let offers: Value = vec![offer_of("/c", 4000)].into();
    let request = encode_call("requestTopic", &["/c".into(), TOPIC.into(), offers]).unwrap();
    node.handle_data(now, call, &http::request("t", "/", &request, false));
    let mut transmits = std::iter::from_fn(|| node.poll_transmit());
    let opened = transmits.find_map(|transmit| match transmit {
        Transmit::OpenDatagram { conn, to } => Some((conn, to)),
        _ => None,
    });
    let (conn, to) = opened.unwrap();
    assert_eq!(to, Some("[fe80::1%7]:4000".parse().unwrap()));
    node.handle_bound(now, conn, 5000);
    assert!(sent(&mut node).contains("<i4>1452</i4>"));
}

#[test]
fn repeated_request_keeps_one_link() {
    let (mut net, talker, caller) = talker_and_caller(2);
    let asked = ask_as(&mut net, caller, talker, &["/same"; 20]);
    assert!(asked.iter().all(|(status, _)| *status == 1));
    assert_eq!((net.subscribers(talker, TOPIC).len(), net.datagram_sockets(talker)), (1, 1));
    // A node of that name on another host is a different subscriber.
    let other = net.fake("other", "o");
    assert_eq!(ask_as(&mut net, other, talker, &["/same"])[0].0, 1);
    assert_eq!(net.subscribers(talker, TOPIC), ["/same", "/same"]);
    // The limit is reached, but a repeated request is still accepted.
    assert_eq!(ask_as(&mut net, caller, talker, &["/more"])[0].0, 0);
    let last = ask_as(&mut net, caller, talker, &["/same"])[0];
    assert_eq!((last.0, net.datagram_sockets(talker)), (1, 2));
    net.publish(talker, TOPIC, "x");
    net.run_for(millis(10));
    assert!(net.received(asked[0].1).is_empty() && !net.received(last.1).is_empty());
    assert_eq!(net.leaks(), Vec::<String>::new());
}

#[test]
fn topic_end_answers_pending_udpros_request() {
    for also_tcpros in [false, true] {
        let (mut net, talker, caller) = talker_and_caller(3);
        let (_, port) = net.open_datagrams(caller);
        let uri = Uri::parse(&net.node_of(talker).uri()).unwrap();
        let offers = [Some(offer_of("/c", port)), also_tcpros.then(|| texts(&["TCPROS"]))];
        let offers: Value = offers.into_iter().flatten().collect::<Vec<_>>().into();
        let call = encode_call("requestTopic", &["/c".into(), TOPIC.into(), offers]).unwrap();
        let socket = net.connect_socket(caller, "t", uri.endpoint.port);
        net.write(socket, &http::request("t", "/", &call, false));
        net.run_until("a socket is requested", secs(1), |net| net.datagram_sockets(talker) == 1);
        net.with_node(talker, |node, now| node.unadvertise(now, TOPIC));
        net.run_until("the call is answered", secs(1), |net| net.is_over(socket));
        let answer = String::from_utf8_lossy(net.received(socket)).into_owned();
        assert!(answer.contains("no longer published"), "{answer}");
        assert_eq!(net.datagram_sockets(talker), 0);
        assert_eq!(net.leaks(), Vec::<String>::new());
    }
}
