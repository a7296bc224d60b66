//! Many connections to one node of rospy, whose listeners have a backlog of 5: none is dropped there, which would be sent
//! again after 1 s.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use interop::doctor::finds;
use interop::sockets::{connections_to, syn_retransmissions};
use interop::{Master, PATIENCE, Server, Side, ready, wait_until};
use runnel::msgs::std_msgs::msg::String as Text;
use runnel::{Context, ContextOptions};
use runnel_testkit::process::{Signal, deadline_in};

/// Topics of the node that Runnel subscribes to.
const TOPICS: usize = 20;

/// As many connections to one server are in progress at a time.
const IN_PROGRESS: usize = 4;

fn port(uri: &str) -> u16 {
    uri.trim_end_matches('/').rsplit(':').next().unwrap().parse().unwrap()
}

#[test]
fn twenty_topics_of_rospy_are_linked_with_no_connection_dropped() {
    let master = Master::start(Server::Rosmaster);
    let graph = master.graph();
    let publisher = ready(graph.rospy("many_topics.py", &[&TOPICS.to_string()]));
    let api = port(&graph.uri_of("/many_topics").expect("it is registered"));
    let before = syn_retransmissions();
    let arguments = [format!("__master:={}", graph.master_uri())];
    let context =
        Context::with_options(ContextOptions::default().arguments(arguments).signals(false)).unwrap();
    let node = context.create_node("listener").unwrap();
    let received = Arc::new(AtomicUsize::new(0));
    // What Runnel connects while rospy stands still waits in the backlog.
    publisher.stop(deadline_in(PATIENCE)).unwrap();
    let subscribe = |number| {
        let into = Arc::clone(&received);
        let hear = move |_: &Text| {
            into.fetch_add(1, Ordering::SeqCst);
        };
        node.create_subscription(&format!("topic_{number}"), 1, hear).unwrap()
    };
    let _subscriptions: Vec<_> = (0..TOPICS).map(subscribe).collect();
    let spinner = context.clone();
    let spinning = std::thread::spawn(move || spinner.spin().unwrap());
    for number in 0..TOPICS {
        let topic = format!("/topic_{number}");
        wait_until("the subscription is registered", deadline_in(PATIENCE), || {
            graph.nodes_at(Side::Subscribers, &topic) == ["/listener"]
        });
    }
    wait_until("connections are in progress", deadline_in(PATIENCE), || {
        connections_to(api).len() >= IN_PROGRESS
    });
    publisher.signal(Signal::CONT).unwrap();
    wait_until("all topics are linked", deadline_in(PATIENCE), || received.load(Ordering::SeqCst) == TOPICS);
    assert_eq!(syn_retransmissions() - before, 0, "connections were dropped");
    context.shutdown();
    spinning.join().unwrap();
}

#[test]
fn doctor_finds_rospy_with_many_topics_healthy_with_no_connection_dropped() {
    let master = Master::start(Server::Rosmaster);
    let _publisher = ready(master.graph().rospy("many_topics.py", &["10"]));
    let before = syn_retransmissions();
    finds(master.graph(), &[], 0, &["11 topics", "0 errors, 0 warnings"]);
    assert_eq!(syn_retransmissions() - before, 0, "connections were dropped");
}
