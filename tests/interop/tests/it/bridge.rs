//! `runnel bridge` between the originals, beside a second bridge and beside nodes that are in both graphs.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use interop::ros2::{Distro, Origin as Ros2Origin};
use interop::ros2_checks::expect_line;
use interop::{Master, Origin, Server, TIMEOUT, ready, wait_until};
use runnel::core::dynamic::DynamicMessage;
use runnel::core::schema::{Generation, Kind, Schema, TypeName};
use runnel::msgs::std_msgs::msg::String as Text;
use runnel::msgs::std_srvs::srv::{Trigger, TriggerRequest, TriggerResponse};
use runnel::{Error, Graphs, Publisher};
use runnel_testkit::process::{Peer, Signal, deadline_in};

use crate::bridge_scene::{End, TwoGraphs, publish, publish_until, publish_until_received};

const KILTED: Ros2Origin = Ros2Origin::Ros2(Distro::Kilted);

/// Publishes numbers, and then the text `end`, which arrives last.
fn publish_numbers(publisher: &Publisher<Text>, begins: &str, count: usize) {
    (0..count).for_each(|number| publish(publisher, format!("{begins}{number}")));
    publish(publisher, format!("{begins}end"));
}

fn numbers(count: usize) -> Vec<String> {
    (0..count).map(|number| number.to_string()).chain(["end".to_owned()]).collect()
}

fn ends(mut peer: Peer) {
    peer.signal(Signal::INT).unwrap();
    assert!(peer.wait_exit(deadline_in(TIMEOUT)).unwrap().success(), "{}", peer.output());
}

#[test]
fn rospy_and_rclpy_exchange_texts_both_ways() {
    let graphs = TwoGraphs::new(Server::Rosmaster);
    let bridge = graphs.bridge();
    let mut listener = ready(graphs.ros2.listener(KILTED, &["/text", "--count", "5", "--show"]));
    let _talker = graphs.master.graph().talker(Origin::Rospy, &["/text", "--count", "5"]);
    for number in 1..=5 {
        expect_line(&mut listener, &format!("got {number} {{\"data\":\"hello {number}\"}}"));
    }
    assert!(listener.wait_exit(deadline_in(TIMEOUT)).unwrap().success(), "{}", listener.output());
    let mut listener = ready(graphs.master.graph().listener(Origin::Rospy, &["/back", "--count", "5"]));
    let _talker = graphs.ros2.talker(KILTED, &["/back", "--count", "5"]);
    expect_line(&mut listener, "done");
    ends(bridge);
}

#[test]
fn roscpp_exchanges_long_messages_with_ros2() {
    let graphs = TwoGraphs::new(Server::Runnel);
    let bridge = graphs.bridge();
    let image = ["/image", "--count", "5", "--type", "sensor_msgs/msg/Image"];
    let mut listener = ready(graphs.ros2.listener(KILTED, &image));
    let words = ["/image", "--count", "5", "--type", "sensor_msgs/Image", "--size", "300000"];
    let _talker = graphs.master.graph().talker(Origin::Roscpp, &words);
    expect_line(&mut listener, "done");
    let bytes = ["/bytes", "--count", "5", "--type", "std_msgs/UInt8MultiArray"];
    let mut listener = ready(graphs.master.graph().listener(Origin::Roscpp, &bytes));
    let words = ["/bytes", "--count", "5", "--type", "std_msgs/msg/UInt8MultiArray", "--size", "300000"];
    let _talker = graphs.ros2.talker(Ros2Origin::Cyclone, &words);
    expect_line(&mut listener, "done");
    ends(bridge);
}

#[test]
fn late_subscribers_get_latched_messages_both_ways() {
    let graphs = TwoGraphs::new(Server::Runnel);
    let bridge = graphs.bridge();
    let _talker = ready(
        graphs.master.graph().talker(Origin::Rospy, &["/map", "--latch", "--count", "1", "--wait", "0"]),
    );
    let late = ["/map", "--durability", "transient_local", "--count", "1"];
    for _ in 0..2 {
        let mut listener = graphs.ros2.listener(KILTED, &late);
        expect_line(&mut listener, "done");
    }
    let kept = ["/kept", "--durability", "transient_local", "--depth", "1", "--count", "1", "--wait", "0"];
    let mut talker = graphs.ros2.talker(KILTED, &kept);
    expect_line(&mut talker, "done");
    for _ in 0..2 {
        let mut listener = graphs.master.graph().listener(Origin::Rospy, &["/kept", "--count", "1"]);
        expect_line(&mut listener, "done");
    }
    ends(bridge);
}

#[test]
fn two_bridges_carry_each_message_once() {
    const COUNT: usize = 200;
    let graphs = TwoGraphs::new(Server::Runnel);
    let (one, two) = (graphs.end(Graphs::Ros1, "one"), graphs.end(Graphs::Ros2, "two"));
    // Both graphs publish the topic and subscribe to it, so that a loop would have no end.
    let (to_ros2, to_ros1) = (one.publisher("both"), two.publisher("both"));
    let (at_two, at_one) = (two.collect("both"), one.collect("both"));
    let _bridges = [graphs.bridge(), graphs.bridge()];
    wait_until("one bridge carries each direction", deadline_in(TIMEOUT), || {
        let rows = graphs.rows("/both");
        ["ros1", "ros2"].iter().all(|to| {
            let count = |state: &str| rows.iter().filter(|(_, other, of)| other == to && of == state).count();
            (count("carried"), count("other_bridge")) == (1, 1)
        })
    });
    publish_until_received(&to_ros2, "a", &at_two);
    publish_until_received(&to_ros1, "b", &at_one);
    publish_numbers(&to_ros2, "one ", COUNT);
    publish_numbers(&to_ros1, "two ", COUNT);
    for collected in [&at_one, &at_two] {
        wait_until("all has arrived", deadline_in(TIMEOUT), || {
            collected.has("one end") && collected.has("two end")
        });
        for begins in ["one ", "two "] {
            assert_eq!(collected.of(begins), numbers(COUNT));
        }
    }
}

/// Checks that each end receives each message of each end once.
fn each_receives_each_message_once(ends: [&End; 3]) {
    const COUNT: usize = 200;
    let publishers = ends.map(|end| end.publisher("chat"));
    let collected = ends.map(|end| end.collect("chat"));
    for (index, publisher) in publishers.iter().enumerate() {
        for collected in &collected {
            publish_until_received(publisher, &format!("from {index}"), collected);
        }
    }
    for (index, publisher) in publishers.iter().enumerate() {
        publish_numbers(publisher, &format!("{index} "), COUNT);
    }
    for collected in &collected {
        for index in 0..publishers.len() {
            let begins = format!("{index} ");
            wait_until("all has arrived", deadline_in(TIMEOUT), || collected.has(&format!("{begins}end")));
            assert_eq!(collected.of(&begins), numbers(COUNT));
        }
    }
}

#[test]
fn dual_node_gets_each_message_once() {
    let graphs = TwoGraphs::new(Server::Runnel);
    let _bridge = graphs.bridge();
    let (one, two) = (graphs.end(Graphs::Ros1, "one"), graphs.end(Graphs::Ros2, "two"));
    each_receives_each_message_once([&one, &two, &graphs.end(Graphs::Both, "both")]);
}

/// To the bridge, it is in ROS 2 only.
#[test]
fn dual_node_of_another_master_gets_each_message_once() {
    let graphs = TwoGraphs::new(Server::Runnel);
    let other = Master::start(Server::Runnel);
    let _bridge = graphs.bridge();
    let one = graphs.end(Graphs::Ros1, "one");
    let (both, far) = (graphs.end(Graphs::Both, "both"), graphs.end_at(&other, "far"));
    each_receives_each_message_once([&one, &both, &far]);
}

#[test]
fn service_of_a_dual_node_of_another_master_is_carried() {
    let graphs = TwoGraphs::new(Server::Runnel);
    let other = Master::start(Server::Runnel);
    let _bridge = graphs.bridge();
    let (one, far) = (graphs.end(Graphs::Ros1, "one"), graphs.end_at(&other, "far"));
    let answer =
        |_: &TriggerRequest| Ok::<_, Error>(TriggerResponse { success: true, message: "far".into() });
    let _server = far.node.create_service::<Trigger, _>("/far_away", answer).unwrap();
    let client = one.node.create_client::<Trigger>("/far_away").unwrap();
    let limit = Duration::from_secs(TIMEOUT);
    assert!(client.wait_for_service(limit).unwrap());
    assert_eq!(client.call_timeout(&TriggerRequest::default(), limit).unwrap().message, "far");
}

#[test]
fn types_that_do_not_correspond_are_reported_once() {
    let graphs = TwoGraphs::new(Server::Runnel);
    let mut bridge = graphs.bridge();
    let one = graphs.end(Graphs::Ros1, "one");
    let _publisher = one.publisher("odd");
    let words = ["/odd", "--type", "std_msgs/msg/UInt8MultiArray"];
    let _listener = ready(graphs.ros2.listener(KILTED, &words));
    let is_report = |line: &str| line.contains("topic /odd is not carried from ROS 1 to ROS 2");
    let line = bridge.wait_for_line(is_report, deadline_in(TIMEOUT)).unwrap();
    assert!(line.contains("std_msgs/String") && line.contains("UInt8MultiArray"), "{line}");
    let mut status = graphs.runnel(&["bridge", "--status"]);
    assert!(status.wait_exit(deadline_in(TIMEOUT)).unwrap().success(), "{}", status.output());
    assert!(status.output().contains("/odd: ROS 1 to ROS 2: not carried: type"), "{}", status.output());
    // A topic that is carried meanwhile shows that the bridge has looked at both graphs again.
    let two = graphs.end(Graphs::Ros2, "two");
    publish_until_received(&one.publisher("even"), "text", &two.collect("even"));
    assert_eq!(bridge.lines().iter().filter(|line| is_report(line)).count(), 1);
}

fn own_type(generation: Generation) -> Arc<Schema> {
    let name = TypeName::new("own_msgs", "Reading");
    let mut library = runnel::msgs::library();
    let text = "std_msgs/Header header\nfloat64[] valuesRead\nstring unit";
    library.add_text(Kind::Message, name.clone(), text, "Reading.msg");
    library.message_in(generation, &name).expect("a sound definition")
}

#[test]
fn unknown_type_is_learned_from_its_publisher() {
    let graphs = TwoGraphs::new(Server::Runnel);
    let _bridge = graphs.bridge();
    let (one, two) = (graphs.end(Graphs::Ros1, "one"), graphs.end(Graphs::Ros2, "two"));
    let schema = own_type(Generation::Ros1);
    let publisher = one.node.create_dynamic_publisher("reading", &schema, 10).unwrap();
    let received = Arc::new(Mutex::new(None));
    let taken = Arc::clone(&received);
    let take = move |message: &DynamicMessage| *taken.lock().unwrap() = Some(message.clone());
    let _subscription =
        two.node.create_dynamic_subscription("reading", &own_type(Generation::Ros2), 10, take).unwrap();
    let mut message = DynamicMessage::default_of(&schema).unwrap();
    message.set("unit", "metre").unwrap();
    publish_until(
        "the message has arrived",
        || publisher.publish(&message).unwrap(),
        || received.lock().unwrap().is_some(),
    );
    let received = received.lock().unwrap().clone().unwrap();
    assert_eq!(received.get("unit").unwrap().as_str(), Some("metre"));
}
