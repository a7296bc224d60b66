//! A master that dies, hangs, returns, or is missing from the start.

use std::cell::RefCell;
use std::rc::Rc;

use runnel_ros1::node::{MasterFault, NodeEvent, Port};
use runnel_ros1::xmlrpc::Value;
use runnel_testkit::net::{App, Conditions, Net, answer, millis, publisher_header, secs, text_topic, texts};

use crate::linked_pair::{TOPIC, linked_pair};

fn count(net: &Net, app: App, wanted: impl Fn(&NodeEvent) -> bool) -> usize {
    net.events(app).iter().filter(|event| wanted(event)).count()
}

fn unreachable(event: &NodeEvent) -> bool {
    matches!(event, NodeEvent::MasterUnreachable { .. })
}

#[test]
fn registrations_return_and_links_stay() {
    for seed in 0..40 {
        let (mut net, master, talker, listener) = linked_pair(seed);
        net.conditions = Conditions::rough();
        net.advertise(talker, "/other");
        net.run_for(secs(1));
        net.kill(master);
        let away = net.rng.between(millis(0), secs(40));
        net.run_for(away);
        let master = net.master("hub");
        net.run_until("all is registered again", secs(5), |net| {
            net.master_of(master).registration_count() == 3
        });
        for number in 0..150 {
            net.publish(talker, TOPIC, &number.to_string());
            net.run_for(millis(100));
        }
        let expected: Vec<String> = (0..150).map(|number| number.to_string()).collect();
        assert_eq!(net.received_texts(listener), expected, "seed {seed}");
        assert_eq!(
            count(&net, listener, |event| matches!(event, NodeEvent::PublisherJoined(_))),
            1,
            "seed {seed}"
        );
        for app in [talker, listener] {
            let predicates = [unreachable, |event: &NodeEvent| matches!(event, NodeEvent::MasterReconnected)];
            let [lost, back] = predicates.map(|wanted| count(&net, app, wanted));
            assert!(lost <= 1 && back == 1, "seed {seed}: {lost} reports of the loss, {back} of the return");
        }
        assert_eq!(net.leaks(), Vec::<String>::new(), "seed {seed}");
    }
}

#[test]
fn master_gets_everything_after_each_restart() {
    for seed in 0..20 {
        let (mut net, mut master, talker, listener) = linked_pair(seed);
        net.conditions = Conditions::rough();
        for _ in 0..5 {
            net.kill(master);
            let away = net.rng.between(millis(0), millis(700));
            net.run_for(away);
            master = net.master("hub");
            // Sometimes the master dies again before everything is registered.
            let lives = net.rng.between(millis(10), millis(600));
            net.run_for(lives);
        }
        net.run_until("all is registered", secs(5), |net| net.master_of(master).registration_count() == 2);
        assert_eq!(
            (net.publishers(listener, TOPIC), net.subscribers(talker, TOPIC).len()),
            (vec!["/talker".to_owned()], 1)
        );
    }
}

/// A listener that is linked to two scripted publishers, after its scripted master has returned.
fn after_a_return() -> (Net, App, App, [runnel_testkit::net::FakePublisher; 2]) {
    let mut net = Net::new(1);
    let first = net.fake_master();
    let listener = net.node("/listener", "l");
    net.subscribe(listener, TOPIC);
    let ps = ["/p0", "/p1"].map(|name| net.fake_publisher(name, "p"));
    net.run_for(secs(1));
    net.update(first, listener, TOPIC, &[&ps[0].uri, &ps[1].uri]);
    for publisher in &ps {
        net.answer_subscriber(publisher, &publisher_header(&publisher.name, &text_topic(TOPIC)));
    }
    net.settle();
    net.kill(first);
    let second = net.fake_master();
    net.answer_with(second, |method, _| match method {
        "lookupNode" => Some(Ok(answer(-1, "unknown node [/listener]", ""))),
        _ => Some(Ok(answer(1, "", Vec::new()))),
    });
    let is_notified = |net: &Net| net.calls(second).iter().any(|call| call.method == "registerSubscriber");
    net.run_until("the new master gets the registration", secs(5), is_notified);
    net.settle();
    (net, second, listener, ps)
}

#[test]
fn lists_of_new_master_end_no_link_at_first() {
    let (mut net, master, listener, ps) = after_a_return();
    let both = ["/p0", "/p1"];
    assert_eq!(net.publishers(listener, TOPIC), both, "after the empty answer to the registration");
    for list in [vec![], vec![ps[1].uri.as_str()], vec![]] {
        net.run_for(secs(3));
        net.update(master, listener, TOPIC, &list);
        assert_eq!(net.publishers(listener, TOPIC), both, "after {list:?}");
    }
    net.run_for(secs(3600));
    assert_eq!(net.publishers(listener, TOPIC), both, "links that live are kept");
}

#[test]
fn lists_of_new_master_end_links_later() {
    let (mut net, master, listener, ps) = after_a_return();
    net.run_for(secs(11));
    net.update(master, listener, TOPIC, &[&ps[1].uri]);
    assert_eq!(net.publishers(listener, TOPIC), ["/p1"]);
}

#[test]
fn publisher_listed_by_new_master_is_linked() {
    let (mut net, master, listener, _) = after_a_return();
    let third = net.fake_publisher("/p2", "p");
    net.update(master, listener, TOPIC, &[&third.uri]);
    net.answer_subscriber(&third, &publisher_header("/p2", &text_topic(TOPIC)));
    net.settle();
    assert_eq!(net.publishers(listener, TOPIC), ["/p0", "/p1", "/p2"]);
}

#[test]
fn publisher_dead_during_outage_is_given_up() {
    let (mut net, master, talker, listener) = linked_pair(1);
    net.kill(master);
    net.kill(talker);
    net.run_for(secs(3));
    net.master("hub");
    net.run_for(secs(60));
    let wakes = net.wakes(listener);
    net.run_for(secs(3600));
    assert_eq!((net.wakes(listener), net.leaks()), (wakes, Vec::new()));
}

#[test]
fn node_without_master_reports_once_then_registers() {
    for hub in ["refuses", "is cut off"] {
        let mut net = Net::new(1);
        let (talker, listener) = (net.node("/talker", "a"), net.node("/listener", "b"));
        if hub == "is cut off" {
            net.disconnect_host("hub");
        }
        net.advertise(talker, TOPIC);
        net.subscribe(listener, TOPIC);
        net.run_for(secs(95));
        assert_eq!(count(&net, talker, unreachable), 1, "{hub}");
        net.reconnect_host("hub");
        net.master("hub");
        net.run_until("they are linked", secs(5), |net| net.publishers(listener, TOPIC) == ["/talker"]);
        net.run_for(secs(1));
        assert_eq!(net.leaks(), Vec::<String>::new(), "{hub}");
    }
}

#[test]
fn hanging_master_is_replaced_by_answering_one() {
    let mut net = Net::new(1);
    let hung = net.fake_master();
    net.answer_with(hung, |_, _| None);
    let (talker, listener) = (net.node("/talker", "a"), net.node("/listener", "b"));
    net.advertise(talker, TOPIC);
    net.subscribe(listener, TOPIC);
    net.run_until("it gets the update", secs(11), |net| count(net, talker, unreachable) == 1);
    net.run_for(secs(60));
    assert_eq!(count(&net, talker, unreachable), 1, "once");
    let open = net.node_of(talker).connection_count();
    assert!(open <= 2, "{open} connections to a master that hangs");
    net.kill(hung);
    net.master("hub");
    net.run_until("they are linked", secs(5), |net| net.publishers(listener, TOPIC) == ["/talker"]);
}

#[test]
fn stopped_master_continues_where_it_was() {
    for seed in 0..20 {
        let (mut net, master, talker, listener) = linked_pair(seed);
        net.conditions = Conditions::rough();
        net.stall(master);
        net.subscribe(listener, "/late");
        net.advertise(talker, "/late");
        let stopped = net.rng.between(millis(0), secs(60));
        net.run_for(stopped);
        net.resume(master);
        net.run_until("they are linked", secs(25), |net| net.publishers(listener, "/late") == ["/talker"]);
        net.run_for(secs(60));
        assert_eq!(net.master_of(master).registration_count(), 4, "seed {seed}");
        assert_eq!(net.publishers(listener, TOPIC), ["/talker"], "seed {seed}");
        assert_eq!(net.leaks(), Vec::<String>::new(), "seed {seed}");
    }
}

#[test]
fn changes_during_outage_reach_master() {
    for seed in 0..20 {
        let (mut net, master, talker, listener) = linked_pair(seed);
        net.stop_listening(master, 11311);
        net.break_links(talker, master, Port::Rpc);
        net.run_for(millis(300));
        net.with_node(talker, |node, now| node.unadvertise(now, TOPIC));
        net.advertise(talker, "/new");
        net.subscribe(listener, "/new");
        let away = net.rng.between(millis(0), secs(2));
        net.run_for(away);
        net.listen(master, 11311, Port::Rpc);
        net.run_until("they are linked", secs(5), |net| net.publishers(listener, "/new") == ["/talker"]);
        net.run_for(secs(5));
        // The listener's two subscriptions and the talker's new topic.
        assert_eq!(
            net.master_of(master).registration_count(),
            3,
            "seed {seed}: the old topic is unregistered"
        );
        assert_eq!(net.publishers(listener, TOPIC), Vec::<String>::new());
    }
}

#[test]
fn topic_ended_during_outage_is_not_registered() {
    let (mut net, master, talker, listener) = linked_pair(1);
    net.kill(master);
    net.run_for(secs(2));
    net.with_node(talker, |node, now| node.unadvertise(now, TOPIC));
    let master = net.master("hub");
    net.run_for(secs(30));
    assert_eq!(net.master_of(master).registration_count(), 1);
    assert_eq!((net.publishers(listener, TOPIC), net.leaks()), (Vec::new(), Vec::new()));
}

#[test]
fn new_master_gets_everything_after_new_topic() {
    let (mut net, master, talker, _) = linked_pair(1);
    // The talker does not notice the new master until it registers something.
    net.disconnect_host("a");
    net.kill(master);
    let master = net.master("hub");
    net.advertise(talker, "/new");
    net.reconnect_host("a");
    net.run_until("all is registered", secs(5), |net| net.master_of(master).registration_count() == 3);
}

#[test]
fn subscriber_learns_publishers_after_outage() {
    let (mut net, master, _, listener) = linked_pair(1);
    net.disconnect_host("b");
    let late = net.node("/late", "c");
    net.advertise(late, TOPIC);
    // Long enough for the master to give up notifying the listener.
    net.run_for(secs(60));
    net.reconnect_host("b");
    net.run_for(secs(1));
    net.break_links(listener, master, Port::Rpc);
    net.run_until("both are linked", secs(5), |net| net.publishers(listener, TOPIC) == ["/late", "/talker"]);
}

#[test]
fn master_refusal_is_reported_and_not_retried() {
    let mut net = Net::new(1);
    let master = net.fake_master();
    net.answer_with(master, |method, _| match method {
        "registerPublisher" => Some(Ok(answer(-1, "ERROR: not a valid topic", 0))),
        _ => Some(Ok(answer(1, "", texts(&[])))),
    });
    let node = net.node("/n", "a");
    net.advertise(node, TOPIC);
    net.subscribe(node, "/other");
    net.run_for(secs(60));
    let declined = MasterFault::Declined("ERROR: not a valid topic".to_owned());
    let refused = |event: &NodeEvent| match event {
        NodeEvent::RegistrationRefused { name, why, .. } => name == TOPIC && *why == declined,
        _ => false,
    };
    let registered =
        |event: &NodeEvent| matches!(event, NodeEvent::Registered { name, .. } if name == "/other");
    assert_eq!((count(&net, node, refused), count(&net, node, registered)), (1, 1));
    assert_eq!(net.calls(master).iter().filter(|call| call.method == "registerPublisher").count(), 1);
}

#[test]
fn malformed_master_answers_count_as_refusals() {
    for odd in [Value::Int(1), Value::Array(Vec::new()), answer(1, "", 7), texts(&["1", "2", "3"])] {
        let mut net = Net::new(1);
        let master = net.fake_master();
        let value = odd.clone();
        net.answer_with(master, move |_, _| Some(Ok(value.clone())));
        let node = net.node("/n", "a");
        net.subscribe(node, TOPIC);
        net.run_for(secs(60));
        assert_eq!(net.publishers(node, TOPIC), Vec::<String>::new());
        assert!(net.calls(master).len() < 5, "{odd:?}: {} calls", net.calls(master).len());
        let is_reported = |event: &NodeEvent| {
            matches!(event, NodeEvent::RegistrationRefused { .. } | NodeEvent::PeerFault { .. })
        };
        assert_eq!(count(&net, node, is_reported), 1, "{odd:?}: {:#?}", net.events(node));
    }
}

#[test]
fn malformed_publisher_list_ends_no_link() {
    let mut net = Net::new(1);
    let master = net.fake_master();
    let (talker, listener) = (net.node("/talker", "a"), net.node("/listener", "a"));
    let uris = [talker, listener].map(|app| net.node_of(app).uri());
    net.with_node(listener, |node, _| node.set_local_nodes(uris.clone()));
    let list = Rc::new(RefCell::new(texts(&[&uris[0]])));
    let (answers, own) = (Rc::clone(&list), uris[1].clone());
    net.answer_with(master, move |method, _| {
        Some(Ok(match method {
            "lookupNode" => answer(1, "", own.as_str()),
            _ => answer(1, "", answers.borrow().clone()),
        }))
    });
    net.subscribe(listener, TOPIC);
    net.run_until("it is joined", secs(1), |net| net.publishers(listener, TOPIC).len() == 1);
    *list.borrow_mut() = 7.into();
    assert_eq!(net.break_links(listener, master, Port::Rpc), 1);
    net.run_for(secs(60));
    assert_eq!(count(&net, listener, |event| matches!(event, NodeEvent::MasterReconnected)), 1);
    assert_eq!(net.publishers(listener, TOPIC).len(), 1, "{:#?}", net.events(listener));
}
