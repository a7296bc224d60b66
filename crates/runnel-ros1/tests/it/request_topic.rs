//! `requestTopic`: calls to publishers' nodes, and answers of this node.

use std::cell::RefCell;
use std::rc::Rc;

use runnel_ros1::node::{LinkFault, NextStep, NodeEvent, PeerFault};
use runnel_ros1::xmlrpc::{Fault, Value};
use runnel_testkit::net::{
    App, FakePublisher, Net, answer, millis, publisher_header, secs, subscriber_header, text_topic, texts,
};

const TOPIC: &str = "/chatter";

/// A listener with a scripted publisher. The publisher's answers to `requestTopic` come from the list; the last one
/// repeats.
fn scene(answers: Vec<Result<Value, Fault>>) -> (Net, App, FakePublisher) {
    let mut net = Net::new(1);
    let master = net.fake_master();
    let listener = net.node("/listener", "l");
    net.subscribe(listener, TOPIC);
    let publisher = net.fake_publisher("/talker", "p");
    let left = Rc::new(RefCell::new(answers));
    net.answer_with(publisher.app, move |_, _| {
        let mut left = left.borrow_mut();
        Some(if left.len() > 1 { left.remove(0) } else { left[0].clone() })
    });
    net.run_for(secs(1));
    net.update(master, listener, TOPIC, &[&publisher.uri]);
    (net, listener, publisher)
}

fn address(publisher_port: u16) -> Value {
    answer(1, "ready", vec!["TCPROS".into(), "p".into(), i32::from(publisher_port).into()])
}

/// The port that `scene` assigns to its publisher.
fn port_of_scene() -> u16 {
    scene(vec![Ok(answer(0, "", 0))]).2.tcpros_port
}

#[test]
fn request_names_subscriber_topic_and_tcpros() {
    let (mut net, _, publisher) = scene(vec![Ok(address(port_of_scene()))]);
    net.run_for(secs(1));
    let call = &net.calls(publisher.app)[0];
    let protocols = Value::Array(vec![texts(&["TCPROS"])]);
    assert_eq!(
        (call.method.as_str(), &call.params),
        ("requestTopic", &vec!["/listener".into(), TOPIC.into(), protocols])
    );
}

#[test]
fn refusal_is_retried_until_publisher_is_ready() {
    let refusals = [
        answer(0, "Unknown Error", 0),
        answer(-1, "Not a publisher of [/chatter]", Vec::new()),
        answer(0, "no supported protocol implementations", Vec::new()),
    ];
    let answers = refusals.into_iter().chain([address(port_of_scene())]).map(Ok).collect();
    let (mut net, listener, publisher) = scene(answers);
    net.answer_subscriber(&publisher, &publisher_header("/talker", &text_topic(TOPIC)));
    net.run_until("it is linked", secs(1), |net| net.publishers(listener, TOPIC) == ["/talker"]);
    assert_eq!(net.calls(publisher.app).len(), 4);
    let is_reported = |event: &NodeEvent| match event {
        NodeEvent::PeerFault { why: PeerFault::Publisher { fault, .. } } => {
            *fault == LinkFault::RequestDeclined("Unknown Error".to_owned())
        }
        _ => false,
    };
    assert!(net.events(listener).iter().any(is_reported), "the reason is reported");
}

#[test]
fn malformed_answers_are_reported_and_retried() {
    let odd = [
        Value::Int(3),
        Value::Array(Vec::new()),
        answer(1, "", 0),
        answer(1, "", Vec::new()),
        answer(1, "", vec!["TCPROS".into(), "p".into()]),
        answer(1, "", vec!["TCPROS".into(), "p".into(), 65_536.into()]),
        answer(1, "", vec!["TCPROS".into(), "p".into(), (-1).into()]),
        answer(1, "", vec!["TCPROS".into(), 5.into(), 5.into()]),
        answer(1, "", vec!["UDPROS".into(), "p".into(), 5.into()]),
        answer(1, "", vec!["TCPROS".into(), "no such host".into(), 5.into()]),
        answer(1, "", vec!["TCPROS".into(), "p".into(), 0.into()]),
    ];
    for value in odd {
        let (mut net, listener, publisher) = scene(vec![Ok(value.clone()), Ok(address(port_of_scene()))]);
        net.answer_subscriber(&publisher, &publisher_header("/talker", &text_topic(TOPIC)));
        net.run_until("it is linked", secs(1), |net| net.publishers(listener, TOPIC) == ["/talker"]);
        let is_reported = |event: &NodeEvent| match event {
            NodeEvent::PeerFault { why: PeerFault::Publisher { uri, next: NextStep::Retry, .. } } => {
                *uri == publisher.uri
            }
            _ => false,
        };
        assert!(net.events(listener).iter().any(is_reported), "{value:?}");
        assert_eq!(net.leaks(), Vec::<String>::new());
    }
}

#[test]
fn fault_is_retried() {
    let fault = Fault { code: -1, message: "requestTopic: unknown method name".to_owned() };
    let (mut net, listener, publisher) = scene(vec![Err(fault), Ok(address(port_of_scene()))]);
    net.answer_subscriber(&publisher, &publisher_header("/talker", &text_topic(TOPIC)));
    net.run_until("it is linked", secs(1), |net| net.publishers(listener, TOPIC) == ["/talker"]);
}

#[test]
fn silent_publisher_is_asked_again_after_ten_seconds() {
    let (mut net, listener, publisher) = scene(vec![Ok(address(port_of_scene()))]);
    net.run_for(millis(1));
    let (mut quiet, answers) = (true, address(publisher.tcpros_port));
    net.answer_with(publisher.app, move |_, _| (!std::mem::take(&mut quiet)).then(|| Ok(answers.clone())));
    let first = net.now();
    net.answer_subscriber(&publisher, &publisher_header("/talker", &text_topic(TOPIC)));
    net.run_until("it is linked", secs(1), |net| net.publishers(listener, TOPIC) == ["/talker"]);
    let waited = net.now().since(first);
    assert!(waited >= secs(10) && waited < secs(11), "{waited:?}");
}

#[test]
fn node_answers_with_tcpros_after_unknown_offers() {
    let mut net = Net::new(1);
    net.master("hub");
    let (talker, caller) = (net.node("/talker", "a"), net.fake("caller", "b"));
    net.advertise(talker, TOPIC);
    let uri = net.node_of(talker).uri();
    let tcpros = || texts(&["TCPROS"]);
    let udpros: Value =
        vec!["UDPROS".into(), Value::Binary(vec![1, 2]), "b".into(), 5.into(), 1500.into()].into();
    let offers: [Vec<Value>; 5] = [
        vec![tcpros()],
        vec![texts(&["RUNNEL", "x", "y"]), tcpros()],
        vec![udpros.clone(), tcpros()],
        vec![Vec::new().into(), 5.into(), vec![5.into()].into(), tcpros()],
        vec![tcpros(), udpros.clone()],
    ];
    let mut addresses = Vec::new();
    for offer in offers {
        let reply = net.call(caller, &uri, "requestTopic", &["/c".into(), TOPIC.into(), offer.into()]);
        addresses.push(reply.expect("an answer"));
    }
    addresses.dedup();
    let [Value::Array(reply)] = addresses.as_slice() else { panic!("{addresses:?}") };
    let [Value::Int(1), Value::String(_), Value::Array(protocol)] = reply.as_slice() else {
        panic!("{reply:?}")
    };
    let [Value::String(name), Value::String(host), Value::Int(port)] = protocol.as_slice() else { panic!() };
    assert_eq!((name.as_str(), host.as_str()), ("TCPROS", "a"));
    let spec = text_topic(TOPIC);
    let socket = net.connect_socket(caller, host, *port as u16);
    net.write_header(socket, &subscriber_header("/c", &spec));
    net.run_until("it is a subscriber", secs(1), |net| net.subscribers(talker, TOPIC) == ["/c"]);
}

#[test]
fn unknown_topic_and_unknown_protocols_are_refused() {
    let mut net = Net::new(1);
    net.master("hub");
    let (talker, caller) = (net.node("/talker", "a"), net.fake("caller", "b"));
    net.advertise(talker, TOPIC);
    net.subscribe(talker, "/subscribed");
    let uri = net.node_of(talker).uri();
    let mut ask = |topic: &str, offer: Vec<Value>| {
        let reply = net.call(caller, &uri, "requestTopic", &["/c".into(), topic.into(), offer.into()]);
        reply.expect("an answer").as_array().and_then(|reply| reply.first()?.as_int())
    };
    assert_eq!(ask("/subscribed", vec![texts(&["TCPROS"])]), Some(-1));
    assert_eq!(ask("/nothing", vec![texts(&["TCPROS"])]), Some(-1));
    assert_eq!(ask(TOPIC, vec![texts(&["UDPROS"])]), Some(0));
    assert_eq!(ask(TOPIC, Vec::new()), Some(0));
    assert_eq!(ask(TOPIC, vec!["TCPROS".into()]), Some(0), "a protocol is an array");
}

#[test]
fn removed_publisher_is_not_asked_again() {
    let (mut net, listener, publisher) = scene(vec![Ok(address(port_of_scene()))]);
    net.answer_with(publisher.app, |_, _| None);
    net.run_until("it is asked", secs(1), |net| net.calls(publisher.app).len() == 1);
    let open = |net: &Net| net.node_of(listener).connection_count();
    let before = open(&net);
    let master = net.fake("another hand of the master", "hub");
    net.update(master, listener, TOPIC, &[]);
    net.run_for(millis(100));
    assert_eq!(open(&net), before - 1);
    // The fate of the first call does not affect the second.
    net.update(master, listener, TOPIC, &[&publisher.uri]);
    net.run_for(secs(5));
    net.update(master, listener, TOPIC, &[]);
    net.update(master, listener, TOPIC, &[&publisher.uri]);
    net.run_for(secs(9));
    let is_reported = |event: &NodeEvent| {
        let retry = NextStep::Retry;
        matches!(event, NodeEvent::PeerFault { why: PeerFault::Publisher { next, .. } } if *next == retry)
    };
    assert!(!net.events(listener).iter().any(is_reported), "{:#?}", net.events(listener));
}

/// A listener of 20 topics, all of one scripted publisher, which answers `requestTopic` with `answers`.
fn scene_of_many(answers: Option<Value>) -> (Net, App, FakePublisher, Vec<String>) {
    let mut net = Net::new(1);
    let master = net.fake_master();
    let listener = net.node("/listener", "l");
    let topics: Vec<String> = (0..20).map(|number| format!("/topic{number}")).collect();
    topics.iter().for_each(|topic| net.subscribe(listener, topic));
    let publisher = net.fake_publisher("/talker", "p");
    let address =
        answers.or_else(|| Some(address(publisher.tcpros_port))).filter(|value| *value != Value::Int(0));
    net.answer_with(publisher.app, move |_, _| address.clone().map(Ok));
    net.run_for(secs(1));
    topics.iter().for_each(|topic| net.update(master, listener, topic, &[&publisher.uri]));
    (net, listener, publisher, topics)
}

#[test]
fn silent_publisher_gets_four_requests_at_a_time() {
    let (mut net, _, publisher, _) = scene_of_many(Some(Value::Int(0)));
    net.run_for(secs(5));
    assert_eq!(net.calls(publisher.app).len(), 4);
}

#[test]
fn topics_of_one_publisher_connect_four_at_a_time() {
    let (mut net, listener, publisher, topics) = scene_of_many(None);
    net.run_for(secs(5));
    assert_eq!((net.calls(publisher.app).len(), net.accepted_count(publisher.app)), (20, 4));
    let mut sockets = Vec::new();
    while sockets.len() < topics.len() {
        assert!(net.accepted_count(publisher.app) <= 4);
        sockets.push(net.answer_subscriber(&publisher, &publisher_header("/talker", &text_topic(TOPIC))));
    }
    let linked = |net: &Net| topics.iter().all(|topic| net.publishers(listener, topic) == ["/talker"]);
    net.run_until("all are linked", secs(1), linked);
}

#[test]
fn waiting_links_use_freed_slots() {
    let (mut net, listener, publisher, topics) = scene_of_many(None);
    net.run_for(secs(1));
    // Four links whose header never arrives end, with their topic or by closing.
    let first: Vec<_> = (0..4).map(|_| net.accept_socket(publisher.app)).collect();
    net.close_socket(first[0]);
    net.run_until("the next connects", secs(1), |net| net.accepted_count(publisher.app) == 1);
    for topic in &topics {
        net.with_node(listener, |node, now| node.unsubscribe(now, topic));
    }
    net.run_for(secs(30));
    assert_eq!(net.publishers(listener, &topics[0]), Vec::<String>::new());
    assert_eq!(net.leaks(), Vec::<String>::new());
}
