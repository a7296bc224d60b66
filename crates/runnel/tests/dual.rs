//! Nodes that are in both graphs at once: whatever they meet by, each message comes once.

mod common;

use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::{Graph, LONG, spin_until};
use runnel::msgs::std_msgs::UInt32;
use runnel::{Context, ContextOptions, Graphs, MasterOptions, Node, Publisher, QoS, Subscription};
use runnel_testkit::namespace::require_private_network;

/// A domain that no other test has.
fn domain() -> u16 {
    require_private_network();
    static DOMAIN: AtomicU16 = AtomicU16::new(100);
    DOMAIN.fetch_add(1, Ordering::Relaxed)
}

fn context(master: &str, graphs: Graphs, domain: u16) -> Context {
    let options = ContextOptions::default().signals(false).arguments([format!("__master:={master}")]);
    Context::with_options(options.graphs(graphs).domain_id(domain)).unwrap()
}

/// What a subscription has heard.
struct Listener {
    subscription: Subscription,
    heard: Arc<Mutex<Vec<u32>>>,
    node: Node,
}

impl Listener {
    fn new(context: &Context, qos: QoS) -> Self {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let into = Arc::clone(&heard);
        let node = context.create_node("listener").unwrap();
        let subscription = node
            .create_subscription("count", qos, move |number: &UInt32| into.lock().unwrap().push(number.data))
            .unwrap();
        Self { subscription, heard, node }
    }

    fn last(&self) -> Option<u32> {
        self.heard.lock().unwrap().last().copied()
    }

    /// Each number has come once and in order, from the first that came.
    #[track_caller]
    fn check(&self) {
        let heard = self.heard.lock().unwrap();
        let breaks = heard.windows(2).find(|pair| pair[1] != pair[0] + 1);
        assert_eq!(breaks, None, "of {} messages", heard.len());
    }
}

/// Counts up in a thread of its own until it is told to end; gives the last number.
struct Talker {
    ending: Arc<std::sync::atomic::AtomicBool>,
    counts: std::thread::JoinHandle<u32>,
}

impl Talker {
    fn new(publisher: Publisher<UInt32>) -> Self {
        let ending = Arc::new(std::sync::atomic::AtomicBool::new(false));
        let ends = Arc::clone(&ending);
        let counts = std::thread::spawn(move || {
            let mut number = 0;
            while !ends.load(Ordering::Relaxed) {
                publisher.publish(UInt32 { data: number }).unwrap();
                number += 1;
                // The pace of the talker.
                std::thread::sleep(Duration::from_micros(500));
            }
            number - 1
        });
        Self { ending, counts }
    }

    fn end(self) -> u32 {
        self.ending.store(true, Ordering::Relaxed);
        self.counts.join().unwrap()
    }
}

#[test]
fn two_nodes_of_both_graphs_hear_each_message_once_while_they_meet_in_one_after_the_other() {
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
            spin_until(&b, "it hears", || listener.heard.lock().unwrap().len() > 500);
            assert_eq!((publisher.subscription_count(), listener.subscription.publisher_count()), (1, 1));
            listener.check();
            drop(listener);
            spin_until(&b, &format!("it is gone, round {round}"), || publisher.subscription_count() == 0);
        }
        talks.end();
    }
}

#[test]
fn a_master_that_comes_late_doubles_and_loses_nothing() {
    let domain = domain();
    let host =
        Context::with_options(ContextOptions::default().signals(false).arguments(Vec::<String>::new()));
    let host = host.unwrap();
    // A port that is free, since a master just had it.
    let port = {
        let first = Graph::new();
        first.uri.trim_end_matches('/').rsplit(':').next().unwrap().parse::<u16>().unwrap()
    };
    let uri = format!("http://127.0.0.1:{port}/");
    let [a, b] = [0, 1].map(|_| context(&uri, Graphs::Both, domain));
    let talker = a.create_node("talker").unwrap();
    let publisher = talker.create_publisher::<UInt32>("count", QoS::keep_all()).unwrap();
    let listener = Listener::new(&b, QoS::keep_all());
    let talks = Talker::new(publisher.clone());
    spin_until(&b, "it hears by ROS 2", || listener.last() > Some(100));
    host.start_master(MasterOptions::at((std::net::Ipv4Addr::LOCALHOST, port))).unwrap();
    let registered = |node: &str| {
        let state = a.call_master("getSystemState", &["/test".into()], LONG).unwrap();
        format!("{state:?}").contains(node)
    };
    spin_until(&b, "both are in ROS 1 as well", || registered("/talker") && registered("/listener"));
    let heard = listener.last();
    spin_until(&b, "it hears on", || listener.last() > heard.map(|number| number + 1000));
    let last = talks.end();
    spin_until(&b, "it hears the last", || listener.last() == Some(last));
    listener.check();
    assert_eq!((publisher.subscription_count(), listener.subscription.publisher_count()), (1, 1));
    drop(listener.node);
}

#[test]
fn nodes_that_do_not_meet_in_ros_2_meet_in_ros_1() {
    let graph = Graph::new();
    let (a, b) = (context(&graph.uri, Graphs::Both, domain()), context(&graph.uri, Graphs::Both, domain()));
    let talker = a.create_node("talker").unwrap();
    let talks = Talker::new(talker.create_publisher::<UInt32>("count", QoS::keep_all()).unwrap());
    let listener = Listener::new(&b, QoS::keep_all());
    spin_until(&b, "it hears", || listener.heard.lock().unwrap().len() > 100);
    let last = talks.end();
    spin_until(&b, "it hears the last", || listener.last() == Some(last));
    listener.check();
}

#[test]
fn a_subscription_that_asks_in_ros_2_for_more_than_is_offered_is_served_by_ros_1() {
    let (graph, domain) = (Graph::new(), domain());
    let [a, b] = [0, 1].map(|_| context(&graph.uri, Graphs::Both, domain));
    let talker = a.create_node("talker").unwrap();
    let talks = Talker::new(talker.create_publisher::<UInt32>("count", QoS::sensor_data()).unwrap());
    let listener = Listener::new(&b, QoS::keep_all());
    spin_until(&b, "it hears", || listener.heard.lock().unwrap().len() > 100);
    talks.end();
    listener.check();
}

#[test]
fn one_publisher_of_both_graphs_is_heard_in_each() {
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
        spin_until(context, "it hears", || listener.heard.lock().unwrap().len() > 100);
        listener.check();
    }
    talks.end();
}
