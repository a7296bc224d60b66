//! Tests of dual nodes: each message arrives once, whichever graph delivers it.

use std::sync::{Arc, Mutex};

use crate::common::{Graph, LONG, spin_until};
use crate::dual_scene::{Listener, Talker, context, domain};
use runnel::msgs::std_msgs::msg::UInt32;
use runnel::{Context, ContextOptions, Graphs, MasterOptions, QoS, Ros2Graph};
use runnel_testkit::process::free_port;

#[test]
fn dual_nodes_receive_once_while_they_match() {
    let (all, many) = (QoS::keep_all(), QoS::keep_last(10_000));
    for (offered, asked) in [
        (all, all),
        (many.best_effort(), many.best_effort()),
        (many.transient_local(), many.transient_local()),
    ] {
        let (graph, domain) = (Graph::new(), domain());
        let [a, b] = [0, 1].map(|_| context(&graph.uri, Graphs::Both, domain));
        let talker = a.create_node("talker").unwrap();
        let publisher = talker.create_publisher::<UInt32>("count", offered).unwrap();
        let talks = Talker::new(publisher.clone());
        for round in 0..5 {
            let listener = Listener::new(&b, asked);
            spin_until(&b, "it receives", || listener.received.lock().unwrap().len() > 500);
            assert_eq!((publisher.subscription_count(), listener.subscription.publisher_count()), (1, 1));
            listener.check();
            drop(listener);
            spin_until(&b, &format!("it is gone, round {round}"), || publisher.subscription_count() == 0);
        }
        talks.end();
    }
}

#[test]
fn late_master_doubles_and_loses_nothing() {
    let domain = domain();
    let host =
        Context::with_options(ContextOptions::default().signals(false).arguments(Vec::<String>::new()));
    let host = host.unwrap();
    let port = free_port();
    let uri = format!("http://127.0.0.1:{port}/");
    let [a, b] = [0, 1].map(|_| context(&uri, Graphs::Both, domain));
    let talker = a.create_node("talker").unwrap();
    let publisher = talker.create_publisher::<UInt32>("count", QoS::keep_all()).unwrap();
    let listener = Listener::new(&b, QoS::keep_all());
    let talks = Talker::new(publisher.clone());
    spin_until(&b, "it receives by ROS 2", || listener.last() > Some(100));
    host.start_master(MasterOptions::at((std::net::Ipv4Addr::LOCALHOST, port))).unwrap();
    let registered = |node: &str| {
        let state = a.call_master("getSystemState", &["/test".into()], LONG).unwrap();
        format!("{state:?}").contains(node)
    };
    spin_until(&b, "both are in ROS 1 as well", || registered("/talker") && registered("/listener"));
    let received = listener.last();
    spin_until(&b, "it continues to receive", || listener.last() > received.map(|number| number + 1000));
    let last = talks.end();
    spin_until(&b, "it receives the last", || listener.last() == Some(last));
    listener.check();
    assert_eq!((publisher.subscription_count(), listener.subscription.publisher_count()), (1, 1));
    drop(listener.node);
}

#[test]
fn nodes_without_common_ros2_domain_use_ros1() {
    let graph = Graph::new();
    let (a, b) = (context(&graph.uri, Graphs::Both, domain()), context(&graph.uri, Graphs::Both, domain()));
    let talker = a.create_node("talker").unwrap();
    let talks = Talker::new(talker.create_publisher::<UInt32>("count", QoS::keep_all()).unwrap());
    let listener = Listener::new(&b, QoS::keep_all());
    spin_until(&b, "it receives", || listener.received.lock().unwrap().len() > 100);
    let last = talks.end();
    spin_until(&b, "it receives the last", || listener.last() == Some(last));
    listener.check();
}

#[test]
fn dual_nodes_match_once() {
    let (graph, domain) = (Graph::new(), domain());
    let [a, b] = [0, 1].map(|_| context(&graph.uri, Graphs::Both, domain));
    let talker = a.create_node("talker").unwrap();
    let publisher = talker.create_publisher::<UInt32>("count", QoS::keep_all()).unwrap();
    let listener = Listener::new(&b, QoS::keep_all());
    let talks = Talker::new(publisher.clone());
    spin_until(&b, "they match in both", || listener.received.lock().unwrap().len() > 500);
    talks.end();
    let (publisher, subscription) = (publisher.matched_status(), listener.subscription.matched_status());
    assert_eq!((publisher.current_count, subscription.current_count, subscription.total_count), (1, 1, 1));
}

#[test]
fn qos_incompatible_in_ros2_is_served_by_ros1() {
    let (graph, domain) = (Graph::new(), domain());
    let [a, b] = [0, 1].map(|_| context(&graph.uri, Graphs::Both, domain));
    let talker = a.create_node("talker").unwrap();
    let talks = Talker::new(talker.create_publisher::<UInt32>("count", QoS::sensor_data()).unwrap());
    let listener = Listener::new(&b, QoS::keep_all());
    spin_until(&b, "it receives", || listener.received.lock().unwrap().len() > 100);
    talks.end();
    listener.check();
}

/// RTPS serves the best-effort subscription, whose QoS is compatible, and the ROS 1 link serves the reliable one.
fn check_mixed_reliability(ipc: bool) {
    let (graph, domain) = (Graph::new(), domain());
    let options = || graph.options().graphs(Graphs::Both).domain_id(domain).ipc(ipc);
    let [a, b] = [0, 1].map(|_| Context::with_options(options()).unwrap());
    let talker = a.create_node("talker").unwrap();
    let many = QoS::keep_last(10_000);
    let publisher = talker.create_publisher::<UInt32>("count", many.best_effort()).unwrap();
    let best_effort = Listener::new(&b, many.best_effort());
    let talks = Talker::at_pace_of(&best_effort, publisher.clone());
    spin_until(&b, "the best-effort one receives", || best_effort.last().is_some());
    let subscribe = |qos| {
        let received = Arc::new(Mutex::new(Vec::new()));
        let into = Arc::clone(&received);
        let receives = move |number: &UInt32| into.lock().unwrap().push(number.data);
        (best_effort.node.create_subscription("count", qos, receives).unwrap(), received)
    };
    // The first subscription exists during the handover, the second one joins after it.
    let (_early, early) = subscribe(many);
    spin_until(&b, "all receive much", || early.lock().unwrap().len() > 3000);
    let (_late, late) = subscribe(many);
    spin_until(&b, "the late one receives much", || late.lock().unwrap().len() > 1000);
    let last = talks.end();
    spin_until(&b, "all receive the last", || {
        [&best_effort.received, &early, &late]
            .iter()
            .all(|received| received.lock().unwrap().last() == Some(&last))
    });
    best_effort.check();
    for received in [early, late] {
        let received = received.lock().unwrap();
        assert!(received.windows(2).all(|pair| pair[1] == pair[0] + 1), "ipc {ipc}: of {}", received.len());
    }
    assert_eq!(publisher.subscription_count(), 1);
}

#[test]
fn reliable_subscription_shares_best_effort_link() {
    [false, true].into_iter().for_each(check_mixed_reliability);
}

#[test]
fn late_subscriptions_get_kept_messages_within_both_depths() {
    let graph = Graph::new();
    let context = context(&graph.uri, Graphs::Both, domain());
    let talker = context.create_node("talker").unwrap();
    let qos = QoS::keep_last(10).transient_local();
    let publisher = talker.create_publisher::<UInt32>("count", qos).unwrap();
    (0..10).for_each(|data| publisher.publish(UInt32 { data }).unwrap());
    let first = Listener::new(&context, qos);
    let next = Arc::new(Mutex::new(Vec::new()));
    let into = Arc::clone(&next);
    let receives = move |number: &UInt32| into.lock().unwrap().push(number.data);
    let _subscription = first.node.create_subscription("count", qos, receives).unwrap();
    spin_until(&context, "both receive the last", || {
        [&first.received, &next].iter().all(|received| received.lock().unwrap().last() == Some(&9))
    });
    for received in [first.received, next] {
        assert_eq!(*received.lock().unwrap(), (0..10).collect::<Vec<_>>());
    }
}

#[test]
fn recreated_subscription_gets_kept_messages() {
    let (graph, domain) = (Graph::new(), domain());
    let [a, b] = [0, 1].map(|_| context(&graph.uri, Graphs::Both, domain));
    let (talker, node) = (a.create_node("talker").unwrap(), b.create_node("listener").unwrap());
    let qos = QoS::keep_last(10).transient_local();
    let publisher = talker.create_publisher::<UInt32>("count", qos).unwrap();
    (0..3).for_each(|data| publisher.publish(UInt32 { data }).unwrap());
    // A ROS 1 link from before the match in ROS 2 delivers only the last kept message.
    for context in [&a, &b] {
        let has_met = |graph: &Ros2Graph| {
            graph.participants.iter().any(|of| !of.is_own && of.is_complete && of.answers)
        };
        assert!(context.wait_for_ros2_graph(LONG, has_met).unwrap());
    }
    // The ROS 1 link of the dropped subscription ends a little later than the next one is known.
    for _ in 0..30 {
        let received = Arc::new(Mutex::new(Vec::new()));
        let into = Arc::clone(&received);
        let receives = move |number: &UInt32| into.lock().unwrap().push(number.data);
        let _subscription = node.create_subscription("count", qos, receives).unwrap();
        spin_until(&b, "it receives the last", || received.lock().unwrap().last() == Some(&2));
        assert_eq!(*received.lock().unwrap(), [0, 1, 2]);
    }
}

#[test]
fn dual_publisher_reaches_both_graphs() {
    let (graph, domain) = (Graph::new(), domain());
    let contexts =
        [Graphs::Both, Graphs::Ros1, Graphs::Ros2].map(|graphs| context(&graph.uri, graphs, domain));
    let [a, ros1, ros2] = &contexts;
    let talker = a.create_node("talker").unwrap();
    let publisher = talker.create_publisher::<UInt32>("count", QoS::keep_all()).unwrap();
    let listeners =
        [(ros1, Listener::new(ros1, QoS::keep_all())), (ros2, Listener::new(ros2, QoS::keep_all()))];
    assert!(publisher.wait_for_subscribers(2, LONG).unwrap());
    let talks = Talker::new(publisher);
    for (context, listener) in &listeners {
        spin_until(context, "it receives", || listener.received.lock().unwrap().len() > 100);
        listener.check();
    }
    talks.end();
}
