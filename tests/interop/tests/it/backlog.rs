//! Many connections to one rospy node, whose listeners have a backlog of 5: none may be dropped there, as its SYN
//! would be repeated after 1 s.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use interop::doctor::expect_findings;
use interop::sockets::{connections_to, syn_retransmissions};
use interop::{Master, Server, Side, TIMEOUT, ready, wait_until};
use runnel::msgs::std_msgs::msg::String as Text;
use runnel::{Context, ContextOptions};
use runnel_testkit::process::{Signal, deadline_in};

/// Topics of the node that Runnel subscribes to.
const TOPICS: usize = 20;

/// Most connections to one server in progress at a time.
const IN_PROGRESS: usize = 4;

fn port(uri: &str) -> u16 {
    uri.trim_end_matches('/').rsplit(':').next().unwrap().parse().unwrap()
}

#[test]
fn twenty_rospy_topics_connect_without_dropped_connections() {
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
    // Runnel's connections wait in the backlog while rospy is stopped.
    publisher.stop(deadline_in(TIMEOUT)).unwrap();
    let subscribe = |number| {
        let into = Arc::clone(&received);
        let on_message = move |_: &Text| {
            into.fetch_add(1, Ordering::SeqCst);
        };
        node.create_subscription(&format!("topic_{number}"), 1, on_message).unwrap()
    };
    let _subscriptions: Vec<_> = (0..TOPICS).map(subscribe).collect();
    let spinner = context.clone();
    let spinning = std::thread::spawn(move || spinner.spin().unwrap());
    for number in 0..TOPICS {
        let topic = format!("/topic_{number}");
        wait_until("the subscription is registered", deadline_in(TIMEOUT), || {
            graph.nodes_at(Side::Subscribers, &topic) == ["/listener"]
        });
    }
    wait_until("connections are in progress", deadline_in(TIMEOUT), || {
        connections_to(api).len() >= IN_PROGRESS
    });
    publisher.signal(Signal::CONT).unwrap();
    wait_until("all topics are linked", deadline_in(TIMEOUT), || received.load(Ordering::SeqCst) == TOPICS);
    assert_eq!(syn_retransmissions() - before, 0, "connections were dropped");
    context.shutdown();
    spinning.join().unwrap();
}

#[test]
fn doctor_checks_many_rospy_topics_without_dropped_connections() {
    let master = Master::start(Server::Rosmaster);
    let _publisher = ready(master.graph().rospy("many_topics.py", &["10"]));
    let before = syn_retransmissions();
    expect_findings(master.graph(), &[], 0, &["11 topics", "0 errors, 0 warnings"]);
    assert_eq!(syn_retransmissions() - before, 0, "connections were dropped");
}
