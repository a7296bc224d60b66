//! `runnel bridge` between the originals, beside a second bridge and beside nodes that are in both graphs.

use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use interop::ros2::{Distro, Origin as Ros2Origin};
use interop::ros2_checks::expect_line;
use interop::{Origin, Server, TIMEOUT, ready, wait_until};
use runnel::core::dynamic::DynamicMessage;
use runnel::core::schema::{Generation, Kind, Schema, TypeName};
use runnel::msgs::sensor_msgs::msg::Image;
use runnel::msgs::std_msgs::msg::String as Text;
use runnel::{Context, Error, Graphs, Node, Publisher, QoS, Subscription};
use runnel_testkit::process::{Peer, Signal, deadline_in};

use crate::bridge_scene::TwoGraphs;

const KILTED: Ros2Origin = Ros2Origin::Ros2(Distro::Kilted);

/// A Runnel node, whose context spins.
struct End {
    context: Context,
    node: Node,
    spinning: Option<JoinHandle<Result<(), Error>>>,
}

impl End {
    fn of(scene: &TwoGraphs, graphs: Graphs, name: &str) -> Self {
        let context = Context::with_options(scene.options(graphs)).expect("a context");
        let node = context.create_node(name).expect("a node");
        let spun = context.clone();
        let spinning = Some(thread::spawn(move || spun.spin()));
        Self { context, node, spinning }
    }

    fn publisher(&self, topic: &str) -> Publisher<Text> {
        self.node.create_publisher(topic, QoS::keep_last(1000)).expect("a publisher")
    }

    fn collect(&self, topic: &str) -> Collected {
        let texts = Arc::new(Mutex::new(Vec::new()));
        let taken = Arc::clone(&texts);
        let take = move |text: &Text| taken.lock().unwrap().push(text.data.clone());
        let subscription = self.node.create_subscription(topic, QoS::keep_last(1000), take);
        Collected { texts, _subscription: subscription.expect("a subscription") }
    }
}

impl Drop for End {
    fn drop(&mut self) {
        self.context.shutdown();
        self.spinning.take().map(JoinHandle::join);
    }
}

/// Texts that a subscription has received.
struct Collected {
    texts: Arc<Mutex<Vec<String>>>,
    _subscription: Subscription,
}

impl Collected {
    fn has(&self, text: &str) -> bool {
        self.texts.lock().unwrap().iter().any(|other| other == text)
    }

    /// The texts that begin so, without the beginning.
    fn of(&self, begins: &str) -> Vec<String> {
        let texts = self.texts.lock().unwrap();
        texts.iter().filter_map(|text| text.strip_prefix(begins)).map(str::to_owned).collect()
    }
}

fn publish(publisher: &Publisher<Text>, text: impl Into<String>) {
    publisher.publish(Text { data: text.into() }).expect("it is published");
}

/// Publishes one text again and again until it has arrived.
fn publish_until_received(publisher: &Publisher<Text>, text: &str, collected: &Collected) {
    wait_until(&format!("{text} has arrived"), deadline_in(TIMEOUT), || {
        publish(publisher, text);
        thread::sleep(Duration::from_millis(20));
        collected.has(text)
    });
}

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
fn ends_are_joined_again_by_a_restarted_bridge() {
    let graphs = TwoGraphs::new(Server::Runnel);
    let (one, two) = (End::of(&graphs, Graphs::Ros1, "one"), End::of(&graphs, Graphs::Ros2, "two"));
    let (to_ros2, to_ros1) = (one.publisher("there"), two.publisher("back"));
    let (there, back) = (two.collect("there"), one.collect("back"));
    for round in ["first", "second", "third"] {
        let mut bridge = graphs.bridge();
        publish_until_received(&to_ros2, round, &there);
        publish_until_received(&to_ros1, round, &back);
        bridge.signal(Signal::KILL).unwrap();
        bridge.wait_exit(deadline_in(TIMEOUT)).unwrap();
    }
}

#[test]
fn two_bridges_carry_each_message_once() {
    const COUNT: usize = 200;
    let graphs = TwoGraphs::new(Server::Runnel);
    let (one, two) = (End::of(&graphs, Graphs::Ros1, "one"), End::of(&graphs, Graphs::Ros2, "two"));
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

#[test]
fn dual_node_gets_each_message_once() {
    const COUNT: usize = 200;
    let graphs = TwoGraphs::new(Server::Runnel);
    let _bridge = graphs.bridge();
    let (one, two) = (End::of(&graphs, Graphs::Ros1, "one"), End::of(&graphs, Graphs::Ros2, "two"));
    let both = End::of(&graphs, Graphs::Both, "both");
    let publishers = [one.publisher("chat"), two.publisher("chat"), both.publisher("chat")];
    let collected = [one.collect("chat"), two.collect("chat"), both.collect("chat")];
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
fn types_that_do_not_correspond_are_reported_once() {
    let graphs = TwoGraphs::new(Server::Runnel);
    let mut bridge = graphs.bridge();
    let (one, _) = (End::of(&graphs, Graphs::Ros1, "one"), ());
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
    let two = End::of(&graphs, Graphs::Ros2, "two");
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
    let (one, two) = (End::of(&graphs, Graphs::Ros1, "one"), End::of(&graphs, Graphs::Ros2, "two"));
    let schema = own_type(Generation::Ros1);
    let publisher = one.node.create_dynamic_publisher("reading", &schema, 10).unwrap();
    let received = Arc::new(Mutex::new(None));
    let taken = Arc::clone(&received);
    let take = move |message: &DynamicMessage| *taken.lock().unwrap() = Some(message.clone());
    let _subscription =
        two.node.create_dynamic_subscription("reading", &own_type(Generation::Ros2), 10, take).unwrap();
    let mut message = DynamicMessage::default_of(&schema).unwrap();
    message.set("unit", "metre").unwrap();
    wait_until("the message has arrived", deadline_in(TIMEOUT), || {
        publisher.publish(&message).unwrap();
        thread::sleep(Duration::from_millis(20));
        received.lock().unwrap().is_some()
    });
    let received = received.lock().unwrap().clone().unwrap();
    assert_eq!(received.get("unit").unwrap().as_str(), Some("metre"));
}

/// Ten topics at 1 kHz and images of 2 MB at 30 Hz.
#[test]
#[ignore = "in ./test --full"]
fn load_is_carried_without_loss() {
    const SECONDS: u64 = 20;
    let graphs = TwoGraphs::new(Server::Runnel);
    let _bridge = graphs.bridge();
    let (one, two) = (End::of(&graphs, Graphs::Ros1, "one"), End::of(&graphs, Graphs::Ros2, "two"));
    let topics: Vec<String> = (0..10).map(|number| format!("topic{number}")).collect();
    let collected: Vec<_> = topics.iter().map(|topic| two.collect(topic)).collect();
    let publishers: Vec<_> = topics.iter().map(|topic| one.publisher(topic)).collect();
    for (publisher, collected) in publishers.iter().zip(&collected) {
        publish_until_received(publisher, "begin", collected);
    }
    let images = Arc::new(Mutex::new(0_u64));
    let counted = Arc::clone(&images);
    let count = move |_: &Image| *counted.lock().unwrap() += 1;
    let _images = one.node.create_subscription("image", QoS::keep_last(100), count).unwrap();
    let camera = two.node.create_publisher::<Image>("image", QoS::keep_last(100)).unwrap();
    let image = Image { data: vec![7; 2 << 20], ..Image::default() };
    wait_until("an image has arrived", deadline_in(TIMEOUT), || {
        camera.publish(&image).unwrap();
        thread::sleep(Duration::from_millis(50));
        *images.lock().unwrap() > 0
    });
    assert!(camera.wait_for_subscribers(1, Duration::from_secs(TIMEOUT)).unwrap());
    let (sent_before, taken_before) = (camera.published(), *images.lock().unwrap());
    let mut sent = 0;
    for number in 0..SECONDS * 1000 {
        publishers.iter().for_each(|publisher| publish(publisher, format!("n {number}")));
        if number % 33 == 0 {
            camera.publish(&image).unwrap();
            sent += 1;
        }
        thread::sleep(Duration::from_millis(1));
    }
    publishers.iter().for_each(|publisher| publish(publisher, "n end"));
    for collected in &collected {
        wait_until("all has arrived", deadline_in(TIMEOUT), || collected.has("n end"));
        assert_eq!(collected.of("n ").len() as u64, SECONDS * 1000 + 1);
    }
    let late = sent_before - taken_before;
    wait_until("all images have arrived", deadline_in(TIMEOUT), || {
        let taken = *images.lock().unwrap() - taken_before;
        (sent..=sent + late).contains(&taken)
    });
}
