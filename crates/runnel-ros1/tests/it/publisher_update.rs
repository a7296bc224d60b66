//! Effects of a publisher list on links that exist, are being made, or are missing.

use runnel_ros1::node::{Limits, NodeConfig, NodeEvent, PeerFault, Port};
use runnel_testkit::net::{
    App, FakePublisher, Net, Socket, answer, micros, millis, publisher_header, secs, text_topic,
};

const TOPIC: &str = "/chatter";

/// A scripted master, a listener, and scripted publishers that the master has not listed.
fn scene(publishers: usize) -> (Net, App, App, Vec<FakePublisher>) {
    scene_with(Limits::default(), publishers)
}

/// The same with these limits for the listener.
fn scene_with(limits: Limits, publishers: usize) -> (Net, App, App, Vec<FakePublisher>) {
    let mut net = Net::new(1);
    let master = net.fake_master();
    let config = net.node_config("/listener", "l");
    let listener = net.start_node(NodeConfig { limits, ..config });
    net.subscribe(listener, TOPIC);
    let publishers = (0..publishers).map(|number| net.fake_publisher(&format!("/p{number}"), "p")).collect();
    net.run_for(secs(1));
    (net, master, listener, publishers)
}

fn welcome(net: &mut Net, publisher: &FakePublisher) -> Socket {
    let socket = net.answer_subscriber(publisher, &publisher_header(&publisher.name, &text_topic(TOPIC)));
    net.settle();
    socket
}

#[test]
fn linked_publisher_is_not_linked_again() {
    let (mut net, master, listener, ps) = scene(1);
    net.update(master, listener, TOPIC, &[&ps[0].uri]);
    let socket = welcome(&mut net, &ps[0]);
    for _ in 0..3 {
        net.update(master, listener, TOPIC, &[&ps[0].uri, &ps[0].uri]);
    }
    net.run_for(secs(30));
    assert_eq!((net.accepted_count(ps[0].app), net.is_over(socket)), (0, false));
    assert_eq!(net.calls(ps[0].app).len(), 1, "one request for its address");
}

#[test]
fn pending_link_is_not_made_twice() {
    let (mut net, master, listener, ps) = scene(1);
    net.update(master, listener, TOPIC, &[&ps[0].uri]);
    let socket = net.accept_socket(ps[0].app);
    net.update(master, listener, TOPIC, &[&ps[0].uri]);
    net.write_header(socket, &publisher_header("/p0", &text_topic(TOPIC)));
    net.run_until("it is linked", secs(1), |net| net.publishers(listener, TOPIC) == ["/p0"]);
    net.run_for(secs(5));
    assert_eq!((net.calls(ps[0].app).len(), net.accepted_count(ps[0].app)), (1, 0));
}

#[test]
fn only_unlisted_publisher_is_unlinked() {
    let (mut net, master, listener, ps) = scene(2);
    net.update(master, listener, TOPIC, &[&ps[0].uri, &ps[1].uri]);
    let (first, second) = (welcome(&mut net, &ps[0]), welcome(&mut net, &ps[1]));
    net.update(master, listener, TOPIC, &[&ps[1].uri]);
    net.run_for(secs(30));
    assert_eq!((net.is_over(first), net.is_over(second)), (true, false));
    assert_eq!(net.publishers(listener, TOPIC), ["/p1"]);
    assert_eq!(net.accepted_count(ps[0].app), 0, "and it is not retried");
}

#[test]
fn empty_list_ends_every_link() {
    let (mut net, master, listener, ps) = scene(2);
    net.update(master, listener, TOPIC, &[&ps[0].uri, &ps[1].uri]);
    let sockets = [welcome(&mut net, &ps[0]), welcome(&mut net, &ps[1])];
    net.update(master, listener, TOPIC, &[]);
    net.settle();
    assert!(sockets.iter().all(|socket| net.is_over(*socket)));
    assert_eq!(net.leaks(), Vec::<String>::new());
}

#[test]
fn pending_link_to_removed_publisher_ends() {
    // From the first request until after the header, in steps of a fifth of a segment's delay.
    for step in 0..60 {
        let (mut net, master, listener, ps) = scene(1);
        net.update(master, listener, TOPIC, &[&ps[0].uri]);
        net.run_for(micros(200 * step));
        net.update(master, listener, TOPIC, &[]);
        net.run_for(secs(60));
        assert_eq!(net.publishers(listener, TOPIC), Vec::<String>::new(), "step {step}");
        if net.accepted_count(ps[0].app) > 0 {
            let socket = net.accept_socket(ps[0].app);
            assert!(net.is_over(socket) && net.accepted_count(ps[0].app) == 0, "step {step}");
        }
        assert_eq!(net.leaks(), Vec::<String>::new(), "step {step}");
    }
}

#[test]
fn publisher_is_identified_by_host_and_port() {
    let (mut net, master, listener, ps) = scene(1);
    net.update(master, listener, TOPIC, &[&ps[0].uri]);
    let socket = welcome(&mut net, &ps[0]);
    let bare = ps[0].uri.trim_end_matches('/').to_owned();
    net.update(master, listener, TOPIC, &[&bare]);
    net.update(master, listener, TOPIC, &[&bare, &ps[0].uri, &format!("{bare}/RPC2")]);
    net.update(master, listener, TOPIC, &[&format!("{bare}/RPC2")]);
    net.run_for(secs(5));
    assert_eq!((net.is_over(socket), net.accepted_count(ps[0].app)), (false, 0));
}

#[test]
fn invalid_uri_is_skipped() {
    let (mut net, master, listener, ps) = scene(1);
    let uris = ["", "http://", "rosrpc://p:1", &ps[0].uri, "http://p:99999/"];
    let reply = net.update_answer(master, listener, TOPIC, &uris);
    assert_eq!(reply, answer(0, "Bad xml-rpc URI: []", 0), "as roscpp answers");
    welcome(&mut net, &ps[0]);
    assert_eq!(net.publishers(listener, TOPIC), ["/p0"]);
    let reports = net.events(listener).iter().filter_map(|event| match event {
        NodeEvent::PeerFault { why: PeerFault::PublisherUris { faults, .. } } => Some(faults),
        _ => None,
    });
    let texts: Vec<Vec<&str>> =
        reports.map(|faults| faults.iter().map(|fault| fault.text.as_str()).collect()).collect();
    assert_eq!(texts, [["", "http://", "rosrpc://p:1", "http://p:99999/"]], "{:#?}", net.events(listener));
}

#[test]
fn list_for_unknown_topic_is_ignored() {
    let (mut net, master, listener, ps) = scene(1);
    let reply = net.update_answer(master, listener, "/other", &[&ps[0].uri]);
    assert_eq!(reply, answer(0, "Unknown Error", 0), "as roscpp answers");
    net.run_for(secs(5));
    assert_eq!(net.calls(ps[0].app), []);
}

#[test]
fn late_registration_answer_undoes_no_update() {
    let (mut net, master, listener, ps) = scene(1);
    // The master answers late: an update has listed the publisher meanwhile.
    let late = ps[0].uri.clone();
    net.stall(master);
    net.subscribe(listener, "/late");
    net.run_for(millis(100));
    let caller = net.fake("master's other hand", "hub");
    net.update(caller, listener, "/late", &[&late]);
    net.answer_subscriber(&ps[0], &publisher_header("/p0", &text_topic("/late")));
    net.settle();
    net.answer_with(master, |_, _| Some(Ok(answer(1, "", Vec::new()))));
    net.resume(master);
    net.run_for(secs(5));
    assert_eq!(net.publishers(listener, "/late"), ["/p0"]);
}

#[test]
fn nodes_of_one_process_need_no_connection() {
    let mut net = Net::new(1);
    net.master("hub");
    let (talker, listener) = (net.node("/talker", "a"), net.node("/listener", "a"));
    let uris = [talker, listener].map(|app| net.node_of(app).uri());
    for app in [talker, listener] {
        net.with_node(app, |node, _| node.set_local_nodes(uris.clone()));
    }
    net.advertise(talker, TOPIC);
    net.subscribe(listener, TOPIC);
    net.subscribe(talker, TOPIC);
    net.run_for(secs(1));
    net.publish(talker, TOPIC, "hello");
    net.run_for(secs(1));
    assert_eq!(
        (net.received_texts(listener), net.received_texts(talker)),
        (vec!["hello".to_owned()], vec!["hello".to_owned()])
    );
    assert_eq!(net.count_links(talker, listener, Port::Tcpros), 0);
    net.with_node(talker, |node, now| node.unadvertise(now, TOPIC));
    net.run_for(secs(1));
    assert_eq!(net.publishers(listener, TOPIC), Vec::<String>::new(), "and removed when they unregister");
}

#[test]
fn publishers_beyond_limit_wait_for_free_place() {
    let limits = Limits { publishers_per_topic: 2, ..Limits::default() };
    let (mut net, master, listener, ps) = scene_with(limits, 3);
    net.update(master, listener, TOPIC, &[&ps[0].uri, &ps[1].uri]);
    for publisher in &ps[..2] {
        welcome(&mut net, publisher);
    }
    net.update(master, listener, TOPIC, &[&ps[0].uri, &ps[1].uri, &ps[2].uri]);
    net.run_for(secs(5));
    assert_eq!(net.publishers(listener, TOPIC), ["/p0", "/p1"]);
    let is_reported = |event: &NodeEvent| match event {
        NodeEvent::PeerFault { why: PeerFault::TooManyPublishers { first, others: 0, limit: 2, .. } } => {
            *first == ps[2].uri
        }
        _ => false,
    };
    assert!(net.events(listener).iter().any(is_reported), "and it is reported");
    net.update(master, listener, TOPIC, &[&ps[1].uri, &ps[2].uri]);
    welcome(&mut net, &ps[2]);
    assert_eq!(net.publishers(listener, TOPIC), ["/p1", "/p2"]);
}

#[test]
fn unlinked_publishers_are_one_log_line() {
    let limits = Limits { publishers_per_topic: 2, ..Limits::default() };
    let (mut net, master, listener, _) = scene_with(limits, 0);
    let before = net.events(listener).len();
    let uris: Vec<String> = (1..5000).map(|port| format!("http://p:{port}/")).collect();
    let odd: Vec<String> = (1..5000).map(|number| format!("rosrpc://p:{number}")).collect();
    let all: Vec<&str> = uris.iter().chain(&odd).map(String::as_str).collect();
    let reply = net.update_answer(master, listener, TOPIC, &all);
    assert_eq!(reply, answer(0, "Bad xml-rpc URI: [rosrpc://p:1]", 0), "as roscpp answers");
    net.settle();
    let is_reported = |event: &&NodeEvent| match event {
        NodeEvent::PeerFault { why } => !matches!(why, PeerFault::Publisher { .. }),
        _ => false,
    };
    let reports: Vec<&NodeEvent> = net.events(listener)[before..].iter().filter(is_reported).collect();
    assert!(
        matches!(
            reports[..],
            [
                NodeEvent::PeerFault { why: PeerFault::PublisherUris { .. } },
                NodeEvent::PeerFault { why: PeerFault::TooManyPublishers { others: 4996, .. } },
            ]
        ),
        "{reports:#?}"
    );
}
