//! Links that end unexpectedly are made again.

use std::time::Duration;

use runnel_ros1::node::{NextStep, Node, NodeEvent, PeerFault, Port};
use runnel_testkit::net::{
    App, Conditions, FakePublisher, Net, Socket, millis, publisher_header, secs, text_topic,
};

use crate::linked_pair::{TOPIC, linked_pair};

/// A listener with a scripted publisher, and the listener's first connection to it.
fn scripted() -> (Net, App, FakePublisher, App) {
    let mut net = Net::new(1);
    let master = net.fake_master();
    let listener = net.node("/listener", "l");
    net.subscribe(listener, TOPIC);
    let publisher = net.fake_publisher("/talker", "p");
    net.run_for(secs(1));
    net.update(master, listener, TOPIC, &[&publisher.uri]);
    (net, listener, publisher, master)
}

fn welcome(net: &mut Net, publisher: &FakePublisher) -> Socket {
    let socket = net.answer_subscriber(publisher, &publisher_header(&publisher.name, &text_topic(TOPIC)));
    net.settle();
    socket
}

/// Time until the next request for the publisher's address.
fn time_until_request(net: &mut Net, publisher: &FakePublisher) -> Duration {
    let (before, app) = (net.calls(publisher.app).len(), publisher.app);
    net.run_until("it is asked again", secs(25), |net| net.calls(app).len() > before)
}

fn close_to(time: Duration, expected: Duration) -> bool {
    time >= expected && time < expected + millis(10)
}

#[test]
fn broken_link_reconnects_after_100_ms() {
    let (mut net, _, talker, listener) = linked_pair(1);
    assert_eq!(net.break_links(talker, listener, Port::Tcpros), 1);
    assert_eq!(net.publishers(listener, TOPIC), Vec::<String>::new());
    let elapsed =
        net.run_until("they are linked", secs(1), |net| net.publishers(listener, TOPIC) == ["/talker"]);
    assert!(close_to(elapsed, millis(100)), "{elapsed:?}");
    net.publish(talker, TOPIC, "hello");
    net.run_for(secs(1));
    assert_eq!((net.received_texts(listener), net.leaks()), (vec!["hello".to_owned()], Vec::new()));
}

#[test]
fn retry_pauses_grow_to_twenty_seconds() {
    let (mut net, _, publisher, _) = scripted();
    let socket = welcome(&mut net, &publisher);
    // From now on it announces an address where no process listens.
    net.stop_listening(publisher.app, publisher.tcpros_port);
    net.close_socket(socket);
    let mut pause = millis(100);
    for attempt in 0..12 {
        let elapsed = time_until_request(&mut net, &publisher);
        assert!(close_to(elapsed, pause), "try {attempt}: {elapsed:?} instead of {pause:?}");
        pause = (pause * 2).min(secs(20));
    }
}

#[test]
fn closed_link_is_reported_after_one_second() {
    let (mut net, listener, publisher, _) = scripted();
    let socket = welcome(&mut net, &publisher);
    net.stop_listening(publisher.app, publisher.tcpros_port);
    net.close_socket(socket);
    let is_reported = |event: &&NodeEvent| {
        let retry = NextStep::Retry;
        matches!(event, NodeEvent::PeerFault { why: PeerFault::Publisher { next, .. } } if *next == retry)
    };
    net.run_for(secs(1));
    assert_eq!(
        (net.calls(publisher.app).len(), net.events(listener).iter().filter(is_reported).count()),
        (4, 0)
    );
    net.run_for(secs(60));
    assert_eq!(net.events(listener).iter().filter(is_reported).count(), 1);
}

#[test]
fn accepted_header_resets_retry_pause() {
    let (mut net, _, publisher, _) = scripted();
    let socket = welcome(&mut net, &publisher);
    net.stop_listening(publisher.app, publisher.tcpros_port);
    net.close_socket(socket);
    for _ in 0..5 {
        time_until_request(&mut net, &publisher);
    }
    net.listen(publisher.app, publisher.tcpros_port, Port::Tcpros);
    let socket = welcome(&mut net, &publisher);
    net.close_socket(socket);
    let elapsed = time_until_request(&mut net, &publisher);
    assert!(close_to(elapsed, millis(100)), "{elapsed:?}");
}

#[test]
fn closing_publisher_is_retried_with_growing_pauses() {
    let (mut net, listener, publisher, _) = scripted();
    for pause in [100, 200, 400, 800] {
        let socket = net.accept_socket(publisher.app);
        net.write(socket, &[9, 0]);
        net.close_socket(socket);
        let elapsed = time_until_request(&mut net, &publisher);
        assert!(close_to(elapsed, millis(pause)), "{elapsed:?}");
    }
    welcome(&mut net, &publisher);
    assert_eq!(net.publishers(listener, TOPIC), ["/talker"]);
}

#[test]
fn publisher_at_new_port_is_found() {
    let (mut net, listener, publisher, _) = scripted();
    let socket = welcome(&mut net, &publisher);
    let port = net.free_port("p");
    net.listen(publisher.app, port, Port::Tcpros);
    net.stop_listening(publisher.app, publisher.tcpros_port);
    let address = vec!["TCPROS".into(), "p".into(), i32::from(port).into()];
    net.answer_with(publisher.app, move |_, _| Some(Ok(runnel_testkit::net::answer(1, "", address.clone()))));
    net.close_socket(socket);
    welcome(&mut net, &publisher);
    assert_eq!(net.publishers(listener, TOPIC), ["/talker"]);
}

#[test]
fn publisher_restarted_at_new_address_is_linked_once() {
    for seed in 0..40 {
        let (mut net, master, talker, listener) = linked_pair(seed);
        net.conditions = Conditions::rough();
        net.kill(talker);
        let away = net.rng.between(millis(0), secs(12));
        net.run_for(away);
        let again = net.node("/talker", "c");
        net.advertise(again, TOPIC);
        net.run_until("it is linked", secs(2), |net| net.publishers(listener, TOPIC) == ["/talker"]);
        net.publish(again, TOPIC, "back");
        net.run_for(secs(40));
        assert_eq!(net.received_texts(listener), ["back"], "seed {seed}");
        assert_eq!((net.leaks(), net.master_of(master).node_count()), (Vec::new(), 2), "seed {seed}");
    }
}

#[test]
fn publisher_restarted_at_same_ports_is_linked_once() {
    for seed in 0..40 {
        let mut net = Net::new(seed);
        net.conditions = Conditions::rough();
        net.master("hub");
        let config = net.node_config("/talker", "a");
        let (mut talker, listener) = (net.start_node(config.clone()), net.node("/listener", "b"));
        net.advertise(talker, TOPIC);
        net.subscribe(listener, TOPIC);
        for _ in 0..3 {
            net.run_until("they are linked", secs(25), |net| net.publishers(listener, TOPIC) == ["/talker"]);
            net.kill(talker);
            let away = net.rng.between(millis(0), secs(3));
            net.run_for(away);
            talker = net.start_node(config.clone());
            net.advertise(talker, TOPIC);
        }
        net.run_for(secs(45));
        assert_eq!(net.publishers(listener, TOPIC), ["/talker"], "seed {seed}");
        assert_eq!(net.leaks(), Vec::<String>::new(), "seed {seed}");
    }
}

#[test]
fn dead_publisher_is_dropped_when_unlisted() {
    let (mut net, master, talker, listener) = linked_pair(1);
    net.kill(talker);
    net.run_until("the master notices", secs(30), |net| net.master_of(master).node_count() == 1);
    // Deadlines of steps that have ended may still run out.
    net.run_for(secs(30));
    let wakes = net.wakes(listener);
    net.run_for(secs(3600));
    assert_eq!((net.wakes(listener), net.leaks()), (wakes, Vec::new()), "nothing is tried any more");
}

#[test]
fn stopped_publisher_is_received_after_resuming() {
    let mut net = Net::new(1);
    net.master("hub");
    let (talker, listener) = (net.node("/talker", "a"), net.node("/listener", "b"));
    net.advertise(talker, TOPIC);
    net.run_for(secs(1));
    net.stall(talker);
    net.subscribe(listener, TOPIC);
    net.run_for(secs(120));
    assert_eq!(net.publishers(listener, TOPIC), Vec::<String>::new());
    let open = net.node_of(listener).connection_count();
    assert!(open <= 3, "{open} connections while it waits");
    net.resume(talker);
    net.run_until("they are linked", secs(25), |net| net.publishers(listener, TOPIC) == ["/talker"]);
    net.run_for(secs(30));
    assert_eq!((net.subscribers(talker, TOPIC), net.leaks()), (vec!["/listener".to_owned()], Vec::new()));
}

#[test]
fn link_survives_network_outage() {
    let (mut net, _, talker, listener) = linked_pair(1);
    net.disconnect_host("a");
    net.publish(talker, TOPIC, "meanwhile");
    net.run_for(secs(30));
    assert_eq!(net.received_texts(listener), Vec::<String>::new());
    net.reconnect_host("a");
    net.publish(talker, TOPIC, "after");
    net.run_for(secs(1));
    assert_eq!(net.received_texts(listener), ["meanwhile", "after"]);
}

#[test]
fn pending_link_completes_after_network_outage() {
    for steps in 0..60 {
        let mut net = Net::new(1);
        net.master("hub");
        let (talker, listener) = (net.node("/talker", "a"), net.node("/listener", "b"));
        net.advertise(talker, TOPIC);
        net.subscribe(listener, TOPIC);
        for _ in 0..steps {
            net.step();
        }
        net.disconnect_host("b");
        net.run_for(secs(60));
        net.reconnect_host("b");
        net.run_until("they are linked", secs(25), |net| net.publishers(listener, TOPIC) == ["/talker"]);
        net.run_for(secs(60));
        assert_eq!(net.publishers(listener, TOPIC), ["/talker"], "after {steps} steps");
        assert_eq!(net.leaks(), Vec::<String>::new(), "after {steps} steps");
    }
}

#[test]
fn end_of_one_link_affects_no_other() {
    let mut net = Net::new(1);
    net.master("hub");
    let talkers = ["/a", "/b"].map(|name| net.node(name, "t"));
    let listener = net.node("/listener", "l");
    talkers.iter().for_each(|talker| net.advertise(*talker, TOPIC));
    net.subscribe(listener, TOPIC);
    net.run_until("all are linked", secs(1), |net| net.publishers(listener, TOPIC) == ["/a", "/b"]);
    net.break_links(talkers[0], listener, Port::Tcpros);
    assert_eq!(net.publishers(listener, TOPIC), ["/b"]);
    net.publish(talkers[1], TOPIC, "still");
    net.run_until("both are linked again", secs(1), |net| net.publishers(listener, TOPIC) == ["/a", "/b"]);
    assert_eq!(net.received_texts(listener), ["still"]);
    assert_eq!(Node::connection_count(net.node_of(listener)), 3, "the master, and two links");
}
