//! Messages of types that are known only at run time, and messages written in place, to and from ROS 2 originals.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use interop::ros2::{Distro, Origin, Ros2Graph};
use interop::ros2_options::crc;
use interop::{TIMEOUT, next_messages, ready, wait_until};
use runnel::core::dynamic::DynamicMessage;
use runnel::core::schema::{Generation, Library, Schema, TypeName};
use runnel::core::wire::{Encoding, cdr};
use runnel::msgs::geometry_msgs::msg::{Point, Pose};
use runnel::msgs::sensor_msgs::msg::Image;
use runnel::msgs::std_msgs::msg::UInt8MultiArray;
use runnel::msgs::visualization_msgs::msg::{Marker, MarkerArray};
use runnel::{Context, QoS};
use runnel_testkit::process::{Peer, deadline_in};

const DISTROS: [Distro; 2] = [Distro::Kilted, Distro::Jazzy];

fn schema(generation: Generation, name: &str) -> Arc<Schema> {
    runnel::msgs::library().message_in(generation, &TypeName::parse(name).unwrap()).unwrap()
}

/// Arrays of messages with arrays.
fn markers() -> MarkerArray {
    let points = (0..7).map(|n| Point { x: f64::from(n), y: 0.25, z: -3.0 }).collect();
    let mut marker = Marker { ns: "path".into(), id: -4, points, text: "odd".into(), ..Marker::default() };
    marker.header.frame_id = "map".into();
    marker.pose = Pose { position: Point { x: 1.0, y: 2.0, z: 3.0 }, ..Pose::default() };
    MarkerArray { markers: vec![marker.clone(), Marker { text: String::new(), ..marker }] }
}

/// Waits until a listener is matched: Fast DDS gets nothing that was published before.
fn wait_until_matched(listener: &mut Peer) {
    listener.wait_for_line(|line| line == "matched 1", deadline_in(TIMEOUT)).unwrap();
}

/// The next message as the listener prints it, without its number.
fn next_body(listener: &mut Peer) -> String {
    let printed = next_messages(listener, "got", 1, deadline_in(TIMEOUT)).remove(0);
    printed.split_once(' ').unwrap().1.to_owned()
}

#[test]
fn originals_receive_dynamic_publisher_of_either_schema() {
    for distro in DISTROS {
        let graph = Ros2Graph::new();
        let words = ["/markers", "--type", "visualization_msgs/msg/MarkerArray", "--count", "4"];
        let mut listener = ready(graph.listener(Origin::Ros2(distro), &words));
        let context = graph.context();
        let node = context.create_node("talker").unwrap();
        let message = markers();
        // Publishers of one node and topic share one writer as long as one exists.
        let mut publishers = Vec::new();
        let [ros1, ros2] =
            [Encoding::Ros1, Encoding::Xcdr1].map(|encoding| cdr::encode(&message, encoding).unwrap());
        for generation in Generation::ALL {
            let schema = schema(generation, "visualization_msgs/MarkerArray");
            let publisher = node.create_dynamic_publisher("/markers", &schema, 10).unwrap();
            assert!(publisher.wait_for_subscribers(1, Duration::from_secs(TIMEOUT)).unwrap());
            if publishers.is_empty() {
                wait_until_matched(&mut listener);
            }
            let (bytes, dynamic) = match generation {
                Generation::Ros1 => (&ros1, DynamicMessage::decode(&schema, &ros1).unwrap()),
                Generation::Ros2 => (&ros2, DynamicMessage::decode_payload(&schema, &ros2).unwrap()),
            };
            publisher.publish(&dynamic).unwrap();
            assert_eq!(next_body(&mut listener), crc(&message), "{distro:?}, a message of {generation:?}");
            publisher.publish_bytes(|out| out.extend_from_slice(bytes)).unwrap();
            assert_eq!(next_body(&mut listener), crc(&message), "{distro:?}, bytes of {generation:?}");
            publishers.push(publisher);
        }
        assert!(listener.wait_exit(deadline_in(TIMEOUT)).unwrap().success(), "{}", listener.output());
    }
}

#[test]
fn originals_receive_image_written_in_place() {
    for distro in DISTROS {
        let graph = Ros2Graph::new();
        let words = ["/image", "--type", "sensor_msgs/msg/Image", "--count", "2"];
        let mut listener = ready(graph.listener(Origin::Ros2(distro), &words));
        let context = graph.context();
        let camera = context.create_node("camera").unwrap();
        let publisher = camera.create_publisher::<Image>("/image", 5).unwrap();
        let header =
            Image { height: 480, width: 640, step: 1920, encoding: "rgb8".into(), ..Image::default() };
        let pixels: Vec<u8> = (0..480 * 1920_u32).map(|index| (index % 253) as u8).collect();
        let whole = Image { data: pixels.clone(), ..header.clone() };
        let lend = || {
            let mut loan = publisher.loan(&header, pixels.len()).unwrap();
            loan.copy_from_slice(&pixels);
            loan
        };
        // Loaned without a reader, and then with a ROS 2 reader: in both encodings.
        let early = lend();
        assert!(publisher.wait_for_subscribers(1, Duration::from_secs(TIMEOUT)).unwrap());
        wait_until_matched(&mut listener);
        for loan in [early, lend()] {
            loan.publish().unwrap();
            assert_eq!(next_body(&mut listener), crc(&whole), "{distro:?}");
        }
        assert!(listener.wait_exit(deadline_in(TIMEOUT)).unwrap().success(), "{}", listener.output());
    }
}

/// Messages of a raw subscription: the type of each, and its description in the talkers' format.
#[derive(Clone, Default)]
struct ReceivedMessages(Arc<Mutex<Vec<(String, String)>>>);

impl ReceivedMessages {
    fn take(&self, message: &runnel::RawMessage<'_>, library: &Library) {
        let name = TypeName::parse(message.type_name()).unwrap();
        let schema = library.message_in(message.generation(), &name).unwrap();
        assert_eq!(Some(message.type_hash()), schema.rihs01().as_deref(), "{name}");
        // Encoded again, as the talker's encoder does it.
        let payload = message.decode(&schema).unwrap().to_payload(Encoding::Xcdr1).unwrap();
        let printed = format!("len {} crc {:08x}", payload.len() - 4, crc32fast::hash(&payload[4..]));
        self.0.lock().unwrap().push((message.type_name().to_owned(), printed));
    }

    /// Spins until this message has been received.
    fn wait_for(&self, context: &Context, type_name: &str, printed: &str) {
        let deadline = deadline_in(TIMEOUT);
        while !self.has(type_name, printed) {
            let all = self.0.lock().unwrap().clone();
            assert!(Instant::now() < deadline, "{type_name} {printed} is not among {all:?}");
            context.spin_once(Duration::from_millis(10)).unwrap();
        }
    }

    fn has(&self, type_name: &str, printed: &str) -> bool {
        self.0.lock().unwrap().iter().any(|(name, body)| name == type_name && body == printed)
    }
}

#[test]
fn raw_subscription_receives_several_types_and_qos() {
    let graph = Ros2Graph::new();
    let context = graph.context();
    let node = context.create_node("echo").unwrap();
    let (received, library) = (ReceivedMessages::default(), runnel::msgs::library());
    let into = received.clone();
    let qos = QoS::keep_last(100).transient_local();
    let subscription = node
        .create_raw_subscription("/mixed", None, qos, move |message| into.take(message, &library))
        .unwrap();
    let poses = r#"{"header": {"frame_id": "map"}, "poses": [{"position": {"x": 1.5}}, {"orientation": {"w": 1.0}}]}"#;
    // A best-effort message that arrives before this subscription has discovered its publisher is lost.
    let gate = graph.gate();
    let talkers = [
        (Distro::Kilted, "std_msgs/msg/String", vec!["--size", "2000"]),
        (Distro::Jazzy, "geometry_msgs/msg/PoseArray", vec!["--value", poses]),
        (
            Distro::Kilted,
            "std_msgs/msg/UInt8MultiArray",
            vec!["--size", "100000", "--durability", "transient_local"],
        ),
        (Distro::Jazzy, "std_msgs/msg/String", vec!["--reliability", "best_effort", "--after", &gate]),
    ];
    let mut all = Vec::new();
    for (number, (distro, type_name, words)) in talkers.into_iter().enumerate() {
        let name = format!("talker{number}");
        let words = [&["/mixed", "--type", type_name, "--count", "3", "--rate", "20"], &words[..]].concat();
        let mut talker = graph.node(Origin::Ros2(distro), "talker", &name, &words);
        wait_until("the talker is discovered", deadline_in(TIMEOUT), || {
            subscription.publisher_count() == 1 + number
        });
        if words.contains(&gate.as_str()) {
            graph.open_gate();
        }
        // The context's background thread serves the subscription meanwhile.
        for printed in next_messages(&mut talker, "sent", 3, deadline_in(TIMEOUT)) {
            received.wait_for(&context, type_name, printed.split_once(' ').unwrap().1);
        }
        all.push(talker);
    }
    assert_eq!((subscription.malformed(), received.0.lock().unwrap().len()), (0, 12));
}

#[test]
fn xcdr2_only_writer_is_received() {
    let graph = Ros2Graph::new();
    let context = graph.context();
    let node = context.create_node("echo").unwrap();
    let (raw, typed) = (ReceivedMessages::default(), ReceivedMessages::default());
    let (into_raw, into_typed) = (raw.clone(), typed.clone());
    // Cyclone announces no hash, so only the type's name is compared.
    let schema = schema(Generation::Ros2, "std_msgs/UInt8MultiArray");
    let take = move |message: &runnel::RawMessage<'_>| {
        assert_eq!((message.encoding(), message.type_hash()), (Encoding::Xcdr2, ""));
        let payload = message.decode(&schema).unwrap().to_payload(Encoding::Xcdr1).unwrap();
        let printed = format!("len {} crc {:08x}", payload.len() - 4, crc32fast::hash(&payload[4..]));
        into_raw.0.lock().unwrap().push((message.type_name().to_owned(), printed));
    };
    let _raw = node.create_raw_subscription("/bytes", None, 10, take).unwrap();
    let take = move |message: &UInt8MultiArray| {
        into_typed.0.lock().unwrap().push(("typed".to_owned(), crc(message)));
    };
    let other = context.create_node("listener").unwrap();
    let _typed = other.create_subscription("/bytes", 10, take).unwrap();
    let words = ["/bytes", "--type", "std_msgs/msg/UInt8MultiArray", "--count", "3", "--size", "5001"];
    let mut talker =
        graph.talker(Origin::Cyclone11, &[&words[..], &["--xcdr2", "--wait", "2", "--rate", "50"]].concat());
    for printed in next_messages(&mut talker, "sent", 3, deadline_in(TIMEOUT)) {
        let body = printed.split_once(' ').unwrap().1;
        raw.wait_for(&context, "std_msgs/msg/UInt8MultiArray", body);
        typed.wait_for(&context, "typed", body);
    }
}
