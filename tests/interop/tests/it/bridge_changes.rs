//! `runnel bridge` when ends, types and hosts change, and with a bag that rosbag plays.

use std::path::Path;
use std::sync::{Arc, Mutex};

use interop::ros2::{Distro, Origin as Ros2Origin};
use interop::ros2_checks::expect_line;
use interop::{Origin, Server, TIMEOUT, built, ready, wait_until};
use runnel::core::dynamic::DynamicMessage;
use runnel::core::schema::{Generation, Kind, Schema, TypeName};
use runnel::{DynamicPublisher, Graphs, Node, QoS, Subscription};
use runnel_testkit::process::{Peer, Signal, deadline_in};

use crate::bridge_scene::{TwoGraphs, publish, publish_until, publish_until_received};

type Received<M> = Arc<Mutex<Vec<M>>>;

/// A bridge in a container that shares the network, but not the name of the host.
fn bridge_of_other_host(graphs: &TwoGraphs) -> Peer {
    let mut command = graphs.ros2.command("unshare");
    let script = "echo another_host >/proc/sys/kernel/hostname && exec \"$0\" bridge";
    command.args(["--uts", "sh", "-c", script]).arg(built("runnel"));
    Peer::spawn("runnel of another host", command).unwrap()
}

#[test]
fn bridges_of_hosts_with_different_names_recognize_each_other() {
    let graphs = TwoGraphs::new(Server::Runnel);
    let (one, two) = (graphs.end(Graphs::Ros1, "one"), graphs.end(Graphs::Ros2, "two"));
    let (publisher, received) = (one.publisher("named"), two.collect("named"));
    let _bridges = [graphs.bridge(), bridge_of_other_host(&graphs)];
    wait_until("one bridge carries the topic", deadline_in(TIMEOUT), || {
        let rows = graphs.rows("/named");
        let count = |state: &str| rows.iter().filter(|(.., of)| of == state).count();
        (count("carried"), count("other_bridge")) == (1, 1)
    });
    publish_until_received(&publisher, "begin", &received);
    (0..20).for_each(|number| publish(&publisher, number.to_string()));
    publish(&publisher, "end");
    wait_until("all has arrived", deadline_in(TIMEOUT), || {
        received.texts().last().is_some_and(|text| text == "end")
    });
    let texts = received.texts();
    let numbers: Vec<&String> = texts.iter().filter(|text| text.parse::<u32>().is_ok()).collect();
    assert_eq!(numbers.len(), 20, "{texts:?}");
}

fn messages(graphs: &TwoGraphs, topic: &str) -> u64 {
    let rows = graphs.reported("topics").into_iter().filter(|(_, row)| row["topic"] == topic);
    rows.filter_map(|(_, row)| row["messages"].as_u64()).sum()
}

/// The bridge replaces its publisher when a subscription requests more than that offers.
#[test]
fn counts_survive_a_replaced_publisher() {
    let graphs = TwoGraphs::new(Server::Runnel);
    let _bridge = graphs.bridge();
    let (one, two) = (graphs.end(Graphs::Ros1, "one"), graphs.end(Graphs::Ros2, "two"));
    let publisher = one.publisher("counted");
    let publish = || publish(&publisher, "text");
    let first = two.collect("counted");
    publish_until("texts have arrived", publish, || first.texts().len() >= 5);
    wait_until("they are counted", deadline_in(TIMEOUT), || messages(&graphs, "/counted") >= 5);
    let before = messages(&graphs, "/counted");
    let late = two.collect_with("counted", QoS::keep_last(1).transient_local());
    publish_until("the other subscription is served", publish, || !late.texts().is_empty());
    wait_until("all are counted", deadline_in(TIMEOUT), || messages(&graphs, "/counted") > before);
}

fn reading(generation: Generation, text: &str) -> Arc<Schema> {
    let name = TypeName::new("own_msgs", "Reading");
    let mut library = runnel::msgs::library();
    library.add_text(Kind::Message, name.clone(), text.to_owned(), "Reading.msg");
    library.message_in(generation, &name).unwrap()
}

fn subscribe(node: &Node, text: &str) -> (Received<DynamicMessage>, Subscription) {
    let received = Received::default();
    let into = Arc::clone(&received);
    let take = move |message: &DynamicMessage| into.lock().unwrap().push(message.clone());
    let schema = reading(Generation::Ros2, text);
    (received, node.create_dynamic_subscription("reading", &schema, 10, take).unwrap())
}

fn publisher(node: &Node, text: &str) -> DynamicPublisher {
    node.create_dynamic_publisher("reading", &reading(Generation::Ros1, text), 10).unwrap()
}

#[test]
fn changed_type_is_learned_again() {
    const OLD: &str = "float64 value";
    const NEW: &str = "float64 value\nstring unit";
    let graphs = TwoGraphs::new(Server::Runnel);
    let _bridge = graphs.bridge();
    let two = graphs.end(Graphs::Ros2, "two");
    let before = graphs.end(Graphs::Ros1, "before");
    let old = publisher(&before.node, OLD);
    let (received, old_subscription) = subscribe(&two.node, OLD);
    let message = DynamicMessage::default_of(old.schema()).unwrap();
    publish_until(
        "the old type is carried",
        || old.publish(&message).unwrap(),
        || !received.lock().unwrap().is_empty(),
    );
    // The topic has ends on both sides all the time.
    let after = graphs.end(Graphs::Ros1, "after");
    let new = publisher(&after.node, NEW);
    let three = graphs.end(Graphs::Ros2, "three");
    let (received, _subscription) = subscribe(&three.node, NEW);
    drop((old, before, old_subscription));
    let message = DynamicMessage::default_of(new.schema()).unwrap();
    publish_until(
        "the new type is carried",
        || new.publish(&message).unwrap(),
        || !received.lock().unwrap().is_empty(),
    );
}

/// Records a talker with rosbag, and plays the bag with it.
#[test]
fn bag_that_rosbag_plays_arrives_in_rclpy() {
    let graphs = TwoGraphs::new(Server::Rosmaster);
    let folder = graphs.ros2.home().to_owned();
    let bag = Path::new(&folder).join("recorded.bag");
    let bag = bag.to_str().unwrap();
    let graph = graphs.master.graph();
    let mut recorder = graph.tool("rosbag", &["record", "-O", bag, "--limit=5", "/text"]);
    let mut talker = graph.talker(Origin::Rospy, &["/text", "--count", "5"]);
    assert!(recorder.wait_exit(deadline_in(TIMEOUT)).unwrap().success(), "{}", recorder.output());
    talker.signal(Signal::INT).unwrap();
    talker.wait_exit(deadline_in(TIMEOUT)).unwrap();
    let _bridge = graphs.bridge();
    let words = ["/text", "--count", "5", "--show"];
    let mut listener = ready(graphs.ros2.listener(Ros2Origin::Ros2(Distro::Kilted), &words));
    let mut player = graph.tool("rosbag", &["play", "--wait-for-subscribers", bag]);
    for number in 1..=5 {
        expect_line(&mut listener, &format!("got {number} {{\"data\":\"hello {number}\"}}"));
    }
    assert!(player.wait_exit(deadline_in(TIMEOUT)).unwrap().success(), "{}", player.output());
}
