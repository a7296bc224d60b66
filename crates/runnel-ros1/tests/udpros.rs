//! How links of UDPROS are agreed on, or are not and fall back to TCPROS.

use std::cell::RefCell;
use std::rc::Rc;

use runnel_core::time::Instant;
use runnel_ros1::header::ConnectionHeader;
use runnel_ros1::http;
use runnel_ros1::net::Transmit;
use runnel_ros1::node::{Limits, Node, NodeConfig, NodeEvent, Port, TopicSpec};
use runnel_ros1::rpc::Uri;
use runnel_ros1::xmlrpc::{Value, encode_call};
use runnel_testkit::net::{
    App, FakePublisher, Net, Socket, answer, millis, publisher_header, secs, subscriber_header, text_topic,
    texts,
};

const TOPIC: &str = "/chatter";

/// A topic whose subscriber wants datagrams.
fn wished() -> TopicSpec {
    TopicSpec { udpros: true, ..text_topic(TOPIC) }
}

fn told(net: &Net, app: App, words: &[&str]) -> bool {
    let says = |event: &NodeEvent| match event {
        NodeEvent::PeerTrouble { why } => words.iter().all(|word| why.contains(word)),
        _ => false,
    };
    net.events(app).iter().any(says)
}

/// The transport, direction and peer of each row of a node's getBusInfo.
fn bus(net: &mut Net, asking: App, node: App) -> Vec<(String, String, String)> {
    let uri = net.node_of(node).uri();
    let reply = net.call(asking, &uri, "getBusInfo", &["/tool".into()]).unwrap();
    let rows = reply.as_array().unwrap()[2].as_array().unwrap();
    let text = |row: &Value, place: usize| row.as_array().unwrap()[place].as_str().unwrap().to_owned();
    rows.iter().map(|row| (text(row, 3), text(row, 2), text(row, 1))).collect()
}

/// A talker and a listener that wants datagrams, who have met.
fn pair() -> (Net, App, App) {
    let mut net = Net::new(1);
    net.master("hub");
    let (talker, listener) = (net.node("/talker", "t"), net.node("/listener", "l"));
    net.advertise(talker, TOPIC);
    net.subscribe_as(listener, wished());
    net.run_until("they meet", secs(1), |net| net.publishers(listener, TOPIC) == ["/talker"]);
    (net, talker, listener)
}

#[test]
fn two_nodes_agree_on_datagrams() {
    let (mut net, talker, listener) = pair();
    assert_eq!((net.datagram_sockets(talker), net.datagram_sockets(listener)), (1, 1));
    let long = "long ".repeat(2000);
    for message in ["a", "", &long] {
        net.publish(talker, TOPIC, message);
    }
    net.run_until("all is heard", secs(1), |net| net.heard(listener) == ["a", "", &long]);
    let tool = net.fake("tool", "x");
    let uri = net.node_of(talker).uri();
    assert_eq!(bus(&mut net, tool, talker), [("UDPROS".into(), "o".into(), "/listener".into())]);
    assert_eq!(bus(&mut net, tool, listener), [("UDPROS".into(), "i".into(), uri)]);
    assert_eq!(net.leaks(), Vec::<String>::new());
}

#[test]
fn rows_of_the_slave_api_count_what_datagrams_carried_and_lost() {
    let (mut net, talker, listener) = pair();
    let tool = net.fake("tool", "x");
    net.publish(talker, TOPIC, "one");
    net.run_until("the first is heard", secs(1), |net| net.heard(listener) == ["one"]);
    net.cut("l");
    net.publish(talker, TOPIC, "lost");
    net.run_for(millis(10));
    net.mend("l");
    net.publish(talker, TOPIC, "three");
    net.run_until("the third is heard", secs(1), |net| net.heard(listener) == ["one", "three"]);
    let uri = net.node_of(listener).uri();
    let reply = net.call(tool, &uri, "getBusStats", &["/tool".into()]).unwrap();
    let subscriptions = &reply.as_array().unwrap()[2].as_array().unwrap()[1];
    let row = &subscriptions.as_array().unwrap()[0].as_array().unwrap()[1].as_array().unwrap()[0];
    assert_eq!(
        row.as_array().unwrap()[1..4],
        [16.into(), 1.into(), true.into()],
        "bytes, dropped, connected"
    );
}

#[test]
fn a_latched_message_follows_the_answer() {
    let mut net = Net::new(1);
    net.master("hub");
    let (talker, listener) = (net.node("/talker", "t"), net.node("/listener", "l"));
    net.advertise_as(talker, TopicSpec { latching: true, ..text_topic(TOPIC) });
    net.publish(talker, TOPIC, "kept");
    net.subscribe_as(listener, wished());
    net.run_until("it is heard", secs(1), |net| net.heard(listener) == ["kept"]);
    assert_eq!(net.datagram_sockets(listener), 1);
}

#[test]
fn links_end_with_the_subscription_the_publication_and_their_nodes() {
    type End = fn(&mut Net, App, App);
    let ends: [(&str, End); 4] = [
        ("unsubscribe", |net, _, listener| net.with_node(listener, |node, now| node.unsubscribe(now, TOPIC))),
        ("unadvertise", |net, talker, _| net.with_node(talker, |node, now| node.unadvertise(now, TOPIC))),
        ("stop the listener", |net, _, listener| net.stop(listener)),
        ("stop the talker", |net, talker, _| net.stop(talker)),
    ];
    for (what, end) in ends {
        let (mut net, talker, listener) = pair();
        end(&mut net, talker, listener);
        net.run_for(secs(2));
        if net.is_running(talker) {
            // The publisher learns of it when nobody takes what it sends.
            net.publish(talker, TOPIC, "x");
            net.run_for(secs(1));
            assert_eq!(
                (net.subscribers(talker, TOPIC).len(), net.datagram_sockets(talker)),
                (0, 0),
                "{what}"
            );
        }
        if net.is_running(listener) {
            assert_eq!(
                (net.publishers(listener, TOPIC).len(), net.datagram_sockets(listener)),
                (0, 0),
                "{what}"
            );
        }
        assert_eq!(net.leaks(), Vec::<String>::new(), "{what}");
    }
}

#[test]
fn a_listener_that_wants_every_message_as_well_brings_the_link_to_a_connection() {
    let (mut net, talker, listener) = pair();
    net.subscribe(listener, TOPIC);
    net.run_until("the new link stands", secs(1), |net| {
        net.datagram_sockets(listener) == 0 && net.publishers(listener, TOPIC) == ["/talker"]
    });
    net.publish(talker, TOPIC, "x");
    net.run_until("it is heard", secs(1), |net| net.heard(listener) == ["x"]);
    net.run_for(secs(1));
    assert_eq!((net.subscribers(talker, TOPIC).len(), net.datagram_sockets(talker)), (1, 0));
    net.subscribe_as(listener, wished());
    net.run_for(secs(1));
    assert_eq!(net.datagram_sockets(listener), 0, "and there it stays");
    assert_eq!(net.leaks(), Vec::<String>::new());
}

/// A listener that wants datagrams and has been told of a scripted publisher. Its answers come from the list, the last one
/// again and again; without any it answers with its TCPROS port.
fn scene(answers: Vec<Value>) -> (Net, App, FakePublisher) {
    let mut net = Net::new(1);
    let master = net.fake_master();
    let listener = net.node("/listener", "l");
    net.subscribe_as(listener, wished());
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

fn header(fields: &[(&str, &str)]) -> Value {
    Value::Binary(ConnectionHeader::new(fields.iter().copied()).emit().split_off(4))
}

/// The answer of a publisher that will send datagrams with this number.
fn udpros_answer(number: i32, header: Value) -> Value {
    answer(1, "ready", vec!["UDPROS".into(), "p".into(), 9.into(), number.into(), 1500.into(), header])
}

/// As roscpp answers: without `latching`.
fn sound_header() -> Value {
    let spec = text_topic(TOPIC);
    let fields = [("callerid", "/talker"), ("md5sum", spec.md5.as_str()), ("type", spec.type_name.as_str())];
    header(&fields)
}

fn framed(number: u32, id: u8, text: &str) -> Vec<u8> {
    let length = (text.len() as u32).to_le_bytes();
    [&number.to_le_bytes()[..], &[0, id, 1, 0], &length, text.as_bytes()].concat()
}

#[test]
fn the_question_offers_datagrams_first_with_our_header_and_port() {
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
fn a_publisher_that_knows_only_connections_gets_one() {
    let (mut net, listener, publisher) = scene(vec![]);
    net.answer_subscriber(&publisher, &publisher_header("/talker", &text_topic(TOPIC)));
    net.run_until("it is linked", secs(1), |net| net.publishers(listener, TOPIC) == ["/talker"]);
    assert_eq!((net.calls(publisher.app).len(), net.datagram_sockets(listener)), (1, 0));
    assert_eq!(net.leaks(), Vec::<String>::new());
}

#[test]
fn datagrams_may_come_from_any_port_and_count_by_their_number() {
    let (mut net, listener, publisher) = scene(vec![udpros_answer(-2, sound_header())]);
    net.run_until("it is linked", secs(1), |net| net.publishers(listener, TOPIC) == ["/talker"]);
    let [_, _, Value::Array(offers)] = net.calls(publisher.app)[0].params.as_slice() else { panic!() };
    let port = offers[0].as_array().unwrap()[3].as_int().unwrap() as u16;
    let (socket, _) = net.open_datagrams(publisher.app);
    let number = u32::MAX - 1;
    for datagram in [framed(number, 1, "a"), framed(7, 2, "not ours"), vec![1, 2, 3], framed(number, 2, "b")]
    {
        net.send_datagram(socket, "l", port, &datagram);
    }
    net.run_until("both are heard", secs(1), |net| net.heard(listener) == ["a", "b"]);
}

#[test]
fn whatever_is_wrong_with_an_answer_the_publisher_is_asked_for_a_connection_at_once() {
    let other_type = [("callerid", "/t"), ("md5sum", "8"), ("type", "a/B")];
    let number: Value = 5.into();
    let row = |fields: Vec<Value>| answer(1, "", fields);
    let (name, host): (Value, Value) = ("UDPROS".into(), "p".into());
    let odd = [
        ("md5sum 8", udpros_answer(1, header(&other_type))),
        ("md5sum", udpros_answer(1, header(&[("callerid", "/t"), ("type", "a/B")]))),
        ("refuses us: no", udpros_answer(1, header(&[("error", "no")]))),
        ("connection header", udpros_answer(1, Value::Binary(vec![9, 0, 0, 0, 1]))),
        ("not an address", udpros_answer(1, "text".into())),
        ("not an address", row(vec![name.clone(), host.clone(), number.clone()])),
        (
            "not an address",
            row(vec![name.clone(), host.clone(), 70_000.into(), number.clone(), 1500.into(), sound_header()]),
        ),
        ("not an address", row(vec!["UNKNOWN".into(), host, number])),
        ("Unknown Error", answer(0, "Unknown Error", 0)),
    ];
    for (why, value) in odd {
        let (mut net, listener, publisher) = scene(vec![value.clone()]);
        net.answer_subscriber(&publisher, &publisher_header("/talker", &text_topic(TOPIC)));
        net.run_until("it is linked", millis(50), |net| net.publishers(listener, TOPIC) == ["/talker"]);
        assert_eq!(net.calls(publisher.app)[1].params[2], vec![texts(&["TCPROS"])].into(), "{value:?}");
        assert!(told(&net, listener, &[&publisher.uri, "no datagrams", why]), "{value:?}");
        assert_eq!(net.datagram_sockets(listener), 0, "{value:?}");
        assert_eq!(net.leaks(), Vec::<String>::new(), "{value:?}");
    }
}

#[test]
fn a_publisher_that_does_not_answer_the_wish_is_asked_again() {
    let (mut net, listener, publisher) = scene(vec![]);
    let mut quiet = true;
    net.answer_with(publisher.app, move |_, _| {
        (!std::mem::take(&mut quiet)).then(|| Ok(udpros_answer(1, sound_header())))
    });
    net.run_until("it is linked", secs(30), |net| net.publishers(listener, TOPIC) == ["/talker"]);
    assert!(told(&net, listener, &[&publisher.uri, "no answer in time", "tried again"]));
    assert_eq!(net.datagram_sockets(listener), 1);
    assert_eq!(net.leaks(), Vec::<String>::new());
}

#[test]
fn a_publisher_whose_host_was_away_sends_datagrams_again() {
    let mut net = Net::new(1);
    net.master("hub");
    let (talker, listener) = (net.node("/talker", "t"), net.node("/listener", "l"));
    net.advertise(talker, TOPIC);
    net.run_for(secs(1));
    net.cut("t");
    net.subscribe_as(listener, wished());
    net.run_until("it fails", secs(60), |net| told(net, listener, &["publisher of", "tried again"]));
    net.mend("t");
    net.run_until("they meet", secs(60), |net| net.publishers(listener, TOPIC) == ["/talker"]);
    assert_eq!((net.datagram_sockets(talker), net.datagram_sockets(listener)), (1, 1));
}

#[test]
fn an_answer_to_a_wish_that_was_given_up_is_passed_over() {
    let mut net = Net::new(1);
    let master = net.fake_master();
    let listener = net.node("/listener", "l");
    net.subscribe_as(listener, wished());
    let publisher = net.fake_publisher("/talker", "p");
    let mut number = 0;
    net.answer_with(publisher.app, move |_, _| {
        number += 1;
        Some(Ok(udpros_answer(number, sound_header())))
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
    let [_, second] = net.calls(publisher.app) else { panic!("two questions") };
    let offers = second.params[2].as_array().unwrap();
    let port = offers[0].as_array().unwrap()[3].as_int().unwrap() as u16;
    let (socket, _) = net.open_datagrams(publisher.app);
    net.send_datagram(socket, "l", port, &framed(2, 1, "a"));
    net.run_until("it is heard", secs(1), |net| net.heard(listener) == ["a"]);
    assert_eq!(net.leaks(), Vec::<String>::new());
}

#[test]
fn a_publisher_that_is_listed_again_and_silent_is_asked_again_and_one_that_speaks_is_not() {
    let (mut net, talker, listener) = pair();
    let (master, uri) = (net.fake("other master", "m"), net.node_of(talker).uri());
    let sockets = |net: &Net| {
        net.events(listener).iter().filter(|event| matches!(event, NodeEvent::PublisherJoined(_))).count()
    };
    net.update(master, listener, TOPIC, &[&uri]);
    net.run_for(millis(500));
    net.publish(talker, TOPIC, "speaks");
    net.run_for(secs(2));
    assert_eq!(sockets(&net), 1);
    net.update(master, listener, TOPIC, &[&uri]);
    net.run_for(secs(2));
    assert_eq!(sockets(&net), 2);
    net.publish(talker, TOPIC, "once");
    net.run_for(secs(1));
    assert_eq!(net.heard(listener), ["speaks", "once"]);
    assert_eq!((net.subscribers(talker, TOPIC).len(), net.leaks()), (1, Vec::new()));
}

#[test]
fn without_a_socket_for_datagrams_a_publisher_offers_a_connection() {
    let (mut net, talker, listener) = without_sockets("t");
    net.run_until("they meet", secs(1), |net| net.publishers(listener, TOPIC) == ["/talker"]);
    assert_eq!(net.datagram_sockets(listener) + net.datagram_sockets(talker), 0);
    assert!(told(&net, talker, &["no datagrams", "Too many open files"]));
    net.run_for(secs(1));
    assert_eq!(net.leaks(), Vec::<String>::new());
}

#[test]
fn without_a_socket_for_datagrams_a_subscriber_tries_again() {
    let (mut net, talker, listener) = without_sockets("l");
    net.run_until("it is told", secs(1), |net| {
        told(net, listener, &["no datagrams", "Too many open files", "tried again"])
    });
    net.refuse_datagram_sockets("l", false);
    net.run_until("they meet", secs(5), |net| net.publishers(listener, TOPIC) == ["/talker"]);
    assert_eq!((net.datagram_sockets(listener), net.datagram_sockets(talker)), (1, 1));
    net.run_for(secs(1));
    assert_eq!(net.leaks(), Vec::<String>::new());
}

/// A talker and a listener that wants datagrams, one of whose hosts has no sockets for them.
fn without_sockets(host: &str) -> (Net, App, App) {
    let mut net = Net::new(1);
    net.master("hub");
    let (talker, listener) = (net.node("/talker", "t"), net.node("/listener", "l"));
    net.refuse_datagram_sockets(host, true);
    net.advertise(talker, TOPIC);
    net.subscribe_as(listener, wished());
    (net, talker, listener)
}

/// A talker that takes so many subscribers, and somebody who asks it.
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
    vec!["UDPROS".into(), header, "elsewhere".into(), port.into(), longest.into()].into()
}

fn offer_of(name: &str, port: u16) -> Value {
    offer(header(&subscriber_header(name, &text_topic(TOPIC))), port.into(), 1500)
}

/// The status and value of the answer to these offers.
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
fn a_subscriber_gets_what_it_offers_first() {
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
fn datagrams_go_to_the_callers_address_and_the_port_that_it_offers() {
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
fn what_a_subscriber_takes_at_most_is_kept_to() {
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

#[test]
fn offers_that_are_not_sound_are_refused_or_passed_over_for_a_connection() {
    let spec = text_topic(TOPIC);
    let sound = || header(&subscriber_header("/c", &spec));
    let other = TopicSpec { md5: "8".repeat(32), ..text_topic(TOPIC) };
    let elsewhere = text_topic("/elsewhere");
    let odd = [
        ("md5sum", offer(header(&subscriber_header("/c", &other)), 5, 1500)),
        ("elsewhere", offer(header(&subscriber_header("/c", &elsewhere)), 5, 1500)),
        ("callerid", offer(header(&[("topic", TOPIC), ("md5sum", "*")]), 5, 1500)),
        ("connection header", offer(Value::Binary(vec![1]), 5, 1500)),
        ("not [UDPROS", offer("text".into(), 5, 1500)),
        ("no port", offer(sound(), 0, 1500)),
        ("no port", offer(sound(), -1, 1500)),
        ("no port", offer(sound(), 65_536, 1500)),
        ("512 bytes", offer(sound(), 5, 511)),
        ("512 bytes", offer(sound(), 5, -1500)),
        ("not [UDPROS", texts(&["UDPROS"])),
    ];
    for (why, bad) in odd {
        let (mut net, talker, caller) = talker_and_caller(10);
        assert_eq!(request(&mut net, caller, talker, vec![bad.clone()]).0, 0, "{bad:?}");
        assert!(told(&net, talker, &["10.0.0.", "UDPROS", why]), "{bad:?}");
        let (status, value) = request(&mut net, caller, talker, vec![bad.clone(), texts(&["TCPROS"])]);
        assert_eq!((status, protocol(&value)), (1, Some("TCPROS")), "{bad:?}");
        assert_eq!(net.datagram_sockets(talker), 0, "{bad:?}");
    }
}

/// Offers of so many names, each with a socket of its own that takes what comes.
fn ask_as(net: &mut Net, caller: App, talker: App, names: &[&str]) -> Vec<(i32, Socket)> {
    let mut ask = |name: &&str| {
        let (socket, port) = net.open_datagrams(caller);
        (request(net, caller, talker, vec![offer_of(name, port)]).0, socket)
    };
    names.iter().map(&mut ask).collect()
}

#[test]
fn subscribers_that_get_datagrams_count_with_the_others() {
    let (mut net, talker, caller) = talker_and_caller(3);
    net.dial_node(caller, talker, &subscriber_header("/tcp", &text_topic(TOPIC)));
    net.run_for(millis(10));
    let asked = ask_as(&mut net, caller, talker, &["/a", "/b", "/c"]);
    let statuses: Vec<i32> = asked.iter().map(|(status, _)| *status).collect();
    assert_eq!(statuses, [1, 1, 0]);
    assert!(told(&net, talker, &["UDPROS", "3 subscribers and clients are connected"]));
    // One that is gone makes room.
    net.hang_up(asked[0].1);
    net.publish(talker, TOPIC, "x");
    net.run_for(millis(10));
    assert_eq!(net.subscribers(talker, TOPIC), ["/b", "/tcp"]);
    assert_eq!(ask_as(&mut net, caller, talker, &["/d"])[0].0, 1);
    assert_eq!(net.leaks(), Vec::<String>::new());
}

#[test]
fn the_oldest_link_of_datagrams_gives_way_to_a_newer_one_and_connections_stay() {
    let limits = Limits { datagram_subscribers: 3, datagram_subscribers_per_ip: 2, ..Limits::default() };
    let (mut net, talker, caller) = talker_with(limits);
    net.dial_node(caller, talker, &subscriber_header("/tcp", &text_topic(TOPIC)));
    net.run_for(millis(10));
    let other = net.fake("other", "o");
    let third = net.fake("third", "x");
    // Who stays, after each that asks.
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
    assert!(told(&net, talker, &["10.0.0.", "[/a]", TOPIC, "ended for a newer one", "2"]));
    assert!(told(&net, talker, &["10.0.0.", "[/o]", TOPIC, "ended for a newer one", "3"]));
    assert_eq!(net.leaks(), Vec::<String>::new());
}

#[test]
fn over_ipv6_datagrams_go_to_the_callers_link_and_fit_into_one_packet() {
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
fn a_subscriber_asks_for_one_packet_in_each_datagram() {
    for (host, longest) in [("t", 1472), ("10.0.0.1", 1472), ("fe80::1", 1452)] {
        let mut net = Net::new(1);
        let config = NodeConfig { host: host.to_owned(), ..net.node_config("/listener", "l") };
        let (mut node, now) = (Node::new(config), Instant(0));
        node.subscribe(now, wished()).unwrap();
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

/// What a node wants to send, all connections together.
fn sent(node: &mut Node) -> String {
    let bytes = std::iter::from_fn(|| node.poll_transmit()).flat_map(|transmit| match transmit {
        Transmit::Send { bytes, .. } => bytes,
        _ => Vec::new(),
    });
    String::from_utf8_lossy(&bytes.collect::<Vec<u8>>()).into_owned()
}

#[test]
fn who_asks_again_and_again_has_one_link() {
    let (mut net, talker, caller) = talker_and_caller(2);
    let asked = ask_as(&mut net, caller, talker, &["/same"; 20]);
    assert!(asked.iter().all(|(status, _)| *status == 1));
    assert_eq!((net.subscribers(talker, TOPIC).len(), net.datagram_sockets(talker)), (1, 1));
    // Another host's node of that name is not the same.
    let other = net.fake("other", "o");
    assert_eq!(ask_as(&mut net, other, talker, &["/same"])[0].0, 1);
    assert_eq!(net.subscribers(talker, TOPIC), ["/same", "/same"]);
    // There is no room for more, but for who asks again there is.
    assert_eq!(ask_as(&mut net, caller, talker, &["/more"])[0].0, 0);
    let last = ask_as(&mut net, caller, talker, &["/same"])[0];
    assert_eq!((last.0, net.datagram_sockets(talker)), (1, 2));
    net.publish(talker, TOPIC, "x");
    net.run_for(millis(10));
    assert!(net.received(asked[0].1).is_empty() && !net.received(last.1).is_empty());
    assert_eq!(net.leaks(), Vec::<String>::new());
}

#[test]
fn a_topic_that_ends_while_a_socket_is_opened_leaves_nobody_waiting() {
    for also_tcpros in [false, true] {
        let (mut net, talker, caller) = talker_and_caller(3);
        let (_, port) = net.open_datagrams(caller);
        let uri = Uri::parse(&net.node_of(talker).uri()).unwrap();
        let offers = [Some(offer_of("/c", port)), also_tcpros.then(|| texts(&["TCPROS"]))];
        let offers: Value = offers.into_iter().flatten().collect::<Vec<_>>().into();
        let call = encode_call("requestTopic", &["/c".into(), TOPIC.into(), offers]).unwrap();
        let socket = net.dial(caller, "t", uri.endpoint.port);
        net.write(socket, &http::request("t", "/", &call, false));
        net.run_until("a socket is asked for", secs(1), |net| net.datagram_sockets(talker) == 1);
        net.with_node(talker, |node, now| node.unadvertise(now, TOPIC));
        net.run_until("the call is answered", secs(1), |net| net.is_over(socket));
        let answer = String::from_utf8_lossy(net.received(socket)).into_owned();
        assert!(answer.contains("published no longer"), "{answer}");
        assert_eq!(net.datagram_sockets(talker), 0);
        assert_eq!(net.leaks(), Vec::<String>::new());
    }
}
