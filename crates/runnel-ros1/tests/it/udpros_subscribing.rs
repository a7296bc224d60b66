//! UDPROS requests of the subscriber, and fallback to TCPROS.

use std::cell::RefCell;
use std::rc::Rc;

use runnel_core::time::Instant;
use runnel_ros1::header::{ConnectionHeader, HeaderError};
use runnel_ros1::http;
use runnel_ros1::net::Transmit;
use runnel_ros1::node::{HandshakeFault, LinkFault, NextStep, Node, NodeConfig, PeerFault, Port, TypeSum};
use runnel_ros1::rpc::CallError;
use runnel_ros1::xmlrpc::{Value, encode_call};
use runnel_testkit::net::{
    App, FakePublisher, Net, answer, millis, publisher_header, secs, subscriber_header, text_topic, texts,
};

use crate::udpros_common::{TOPIC, framed, has_reported, header, sent, udpros_topic};

/// A listener that requests UDPROS, with a scripted publisher. Its answers come from the list, the last one repeats;
/// without any it answers with its TCPROS port.
fn scene(answers: Vec<Value>) -> (Net, App, FakePublisher) {
    let mut net = Net::new(1);
    let master = net.fake_master();
    let listener = net.node("/listener", "l");
    net.subscribe_as(listener, udpros_topic());
    let publisher = net.fake_publisher("/talker", "p");
    let tcpros: Value = vec!["TCPROS".into(), "p".into(), i32::from(publisher.tcpros_port).into()].into();
    let left = Rc::new(RefCell::new(answers));
    net.answer_with(publisher.app, move |_, _| {
        let mut left = left.borrow_mut();
        let next = if left.is_empty() { answer(1, "ready", tcpros.clone()) } else { left.remove(0) };
        Some(Ok(next))
    });
    net.run_for(secs(1));
    net.update(master, listener, TOPIC, &[&publisher.uri]);
    (net, listener, publisher)
}

/// The answer of a publisher that agrees to send datagrams with this connection id.
fn udpros_answer(number: i32, header: Value) -> Value {
    answer(1, "ready", vec!["UDPROS".into(), "p".into(), 9.into(), number.into(), 1500.into(), header])
}

/// A header as roscpp answers it: without `latching`.
fn valid_header() -> Value {
    let spec = text_topic(TOPIC);
    let fields = [("callerid", "/talker"), ("md5sum", spec.md5.as_str()), ("type", spec.type_name.as_str())];
    header(&fields)
}

#[test]
fn request_offers_udpros_before_tcpros() {
    let (mut net, _, publisher) = scene(vec![]);
    net.run_for(millis(100));
    let [_, _, Value::Array(offers)] = net.calls(publisher.app)[0].params.as_slice() else { panic!() };
    let [udpros, tcpros] = offers.as_slice() else { panic!("{offers:?}") };
    assert_eq!(*tcpros, texts(&["TCPROS"]));
    let [name, Value::Binary(bytes), host, Value::Int(port), longest] = udpros.as_array().unwrap() else {
        panic!()
    };
    assert_eq!((name, host, longest), (&"UDPROS".into(), &"l".into(), &1472.into()));
    assert!(*port >= 40_000);
    let header = ConnectionHeader::parse(bytes).unwrap();
    let spec = text_topic(TOPIC);
    for (key, value) in subscriber_header("/listener", &spec) {
        assert_eq!(header.get(key), Some(value), "{key}");
    }
}

#[test]
fn tcpros_only_publisher_is_linked_by_tcpros() {
    let (mut net, listener, publisher) = scene(vec![]);
    net.answer_subscriber(&publisher, &publisher_header("/talker", &text_topic(TOPIC)));
    net.run_until("it is linked", secs(1), |net| net.publishers(listener, TOPIC) == ["/talker"]);
    assert_eq!((net.calls(publisher.app).len(), net.datagram_sockets(listener)), (1, 0));
    assert_eq!(net.leaks(), Vec::<String>::new());
}

#[test]
fn datagrams_are_accepted_by_connection_id() {
    let (mut net, listener, publisher) = scene(vec![udpros_answer(-2, valid_header())]);
    net.run_until("it is linked", secs(1), |net| net.publishers(listener, TOPIC) == ["/talker"]);
    let [_, _, Value::Array(offers)] = net.calls(publisher.app)[0].params.as_slice() else { panic!() };
    let port = offers[0].as_array().unwrap()[3].as_int().unwrap() as u16;
    let (socket, _) = net.open_datagrams(publisher.app);
    let number = u32::MAX - 1;
    for datagram in [framed(number, 1, "a"), framed(7, 2, "not ours"), vec![1, 2, 3], framed(number, 2, "b")]
    {
        net.send_datagram(socket, "l", port, &datagram);
    }
    net.run_until("both messages arrive", secs(1), |net| net.received_texts(listener) == ["a", "b"]);
}

/// Whether a fault is the expected one.
type Check = fn(&LinkFault) -> bool;

#[test]
fn invalid_udpros_answer_falls_back_immediately() {
    let other_type = [("callerid", "/t"), ("md5sum", "8"), ("type", "a/B")];
    let number: Value = 5.into();
    let row = |fields: Vec<Value>| answer(1, "", fields);
    let (name, host): (Value, Value) = ("UDPROS".into(), "p".into());
    let other_sum: Check = |fault| match fault {
        LinkFault::Handshake(HandshakeFault::OfferedType(types)) => types.offered == TypeSum::new("a/B", "8"),
        _ => false,
    };
    let no_sum: Check =
        |fault| *fault == LinkFault::Handshake(HandshakeFault::Header(HeaderError::Missing("md5sum")));
    let refuses: Check = |fault| *fault == LinkFault::Handshake(HandshakeFault::Rejected("no".into()));
    let malformed: Check = |fault| {
        matches!(fault, LinkFault::Handshake(HandshakeFault::Header(HeaderError::FieldBeyondHeader { .. })))
    };
    let no_address: Check = |fault| matches!(fault, LinkFault::NotAnAddress(_));
    let declined: Check = |fault| *fault == LinkFault::RequestDeclined("Unknown Error".into());
    let odd = [
        (other_sum, udpros_answer(1, header(&other_type))),
        (no_sum, udpros_answer(1, header(&[("callerid", "/t"), ("type", "a/B")]))),
        (refuses, udpros_answer(1, header(&[("error", "no")]))),
        (malformed, udpros_answer(1, Value::Binary(vec![9, 0, 0, 0, 1]))),
        (no_address, udpros_answer(1, "text".into())),
        (no_address, row(vec![name.clone(), host.clone(), number.clone()])),
        (
            no_address,
            row(vec![name.clone(), host.clone(), 70_000.into(), number.clone(), 1500.into(), valid_header()]),
        ),
        (no_address, row(vec!["UNKNOWN".into(), host, number])),
        (declined, answer(0, "Unknown Error", 0)),
    ];
    for (is_it, value) in odd {
        let (mut net, listener, publisher) = scene(vec![value.clone()]);
        net.answer_subscriber(&publisher, &publisher_header("/talker", &text_topic(TOPIC)));
        net.run_until("it is linked", millis(50), |net| net.publishers(listener, TOPIC) == ["/talker"]);
        assert_eq!(net.calls(publisher.app)[1].params[2], vec![texts(&["TCPROS"])].into(), "{value:?}");
        let is_reported = has_reported(&net, listener, |fault| match fault {
            PeerFault::Publisher { uri, fault, next: NextStep::AskForTcpros, .. } => {
                *uri == publisher.uri && is_it(fault)
            }
            _ => false,
        });
        assert!(is_reported, "{value:?}");
        assert_eq!(net.datagram_sockets(listener), 0, "{value:?}");
        assert_eq!(net.leaks(), Vec::<String>::new(), "{value:?}");
    }
}

#[test]
fn unanswered_udpros_request_is_repeated() {
    let (mut net, listener, publisher) = scene(vec![]);
    let mut quiet = true;
    net.answer_with(publisher.app, move |_, _| {
        (!std::mem::take(&mut quiet)).then(|| Ok(udpros_answer(1, valid_header())))
    });
    net.run_until("it is linked", secs(30), |net| net.publishers(listener, TOPIC) == ["/talker"]);
    let timed_out = |fault: &LinkFault| matches!(fault, LinkFault::Call(error) if matches!(**error, CallError::TimedOut { .. }));
    assert!(has_reported(&net, listener, |fault| match fault {
        PeerFault::Publisher { uri, fault, next: NextStep::Retry, .. } => {
            *uri == publisher.uri && timed_out(fault)
        }
        _ => false,
    }));
    assert_eq!(net.datagram_sockets(listener), 1);
    assert_eq!(net.leaks(), Vec::<String>::new());
}

#[test]
fn late_answer_to_canceled_request_is_ignored() {
    let mut net = Net::new(1);
    let master = net.fake_master();
    let listener = net.node("/listener", "l");
    net.subscribe_as(listener, udpros_topic());
    let publisher = net.fake_publisher("/talker", "p");
    let mut number = 0;
    net.answer_with(publisher.app, move |_, _| {
        number += 1;
        Some(Ok(udpros_answer(number, valid_header())))
    });
    net.run_for(secs(1));
    net.stall(publisher.app);
    for uris in [&[publisher.uri.as_str()][..], &[], &[publisher.uri.as_str()]] {
        net.update(master, listener, TOPIC, uris);
        net.run_for(millis(20));
    }
    net.resume(publisher.app);
    net.run_until("it is linked", secs(1), |net| net.publishers(listener, TOPIC) == ["/talker"]);
    net.run_for(millis(20));
    let [_, second] = net.calls(publisher.app) else { panic!("two requests") };
    let offers = second.params[2].as_array().unwrap();
    let port = offers[0].as_array().unwrap()[3].as_int().unwrap() as u16;
    let (socket, _) = net.open_datagrams(publisher.app);
    net.send_datagram(socket, "l", port, &framed(2, 1, "a"));
    net.run_until("the message arrives", secs(1), |net| net.received_texts(listener) == ["a"]);
    assert_eq!(net.leaks(), Vec::<String>::new());
}

#[test]
fn requested_datagram_fits_one_packet() {
    for (host, longest) in [("t", 1472), ("10.0.0.1", 1472), ("fe80::1", 1452)] {
        let mut net = Net::new(1);
        let config = NodeConfig { host: host.to_owned(), ..net.node_config("/listener", "l") };
        let (mut node, now) = (Node::new(config), Instant(0));
        node.subscribe(now, udpros_topic()).unwrap();
        let call = node.handle_accepted(now, Port::Rpc, "10.0.0.9:1000".parse().unwrap()).unwrap();
        let update: [Value; 3] = ["/master".into(), TOPIC.into(), texts(&["http://t:1/"])];
        let request = http::request("l", "/", &encode_call("publisherUpdate", &update).unwrap(), false);
        node.handle_data(now, call, &request);
        let opened = std::iter::from_fn(|| node.poll_transmit()).find_map(|transmit| match transmit {
            Transmit::OpenDatagram { conn, .. } => Some(conn),
            _ => None,
        });
        node.handle_bound(now, opened.unwrap(), 5000);
        let connect = std::iter::from_fn(|| node.poll_transmit()).find_map(|transmit| match transmit {
            Transmit::Connect { conn, to } if to.host == "t" => Some(conn),
            _ => None,
        });
        node.handle_connected(now, connect.unwrap());
        assert!(sent(&mut node).contains(&format!("<i4>{longest}</i4>")), "{host}");
    }
}
