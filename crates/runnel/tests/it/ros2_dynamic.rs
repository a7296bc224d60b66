//! Tests of publishers and subscriptions of dynamic types in both graphs.

use std::sync::{Arc, Mutex};

use crate::common::LONG;
use crate::two_graphs::{Received, TwoGraphs};
use runnel::core::Message;
use runnel::core::dynamic::DynamicMessage;
use runnel::core::schema::{Generation, Kind, Library, Schema, TypeName};
use runnel::core::wire::{Encoding, cdr};
use runnel::msgs::geometry_msgs::msg::Point;
use runnel::msgs::sensor_msgs::msg::CameraInfo;
use runnel::msgs::visualization_msgs::msg::{Marker, MarkerArray};
use runnel::{Error, QoS, Time};

fn schema<M: Message>(generation: Generation) -> Arc<Schema> {
    runnel::msgs::library().message_in(generation, &TypeName::parse(M::TYPE).unwrap()).unwrap()
}

/// Arrays in messages in an array.
fn markers(seq: u32) -> MarkerArray {
    let mut marker = Marker { ns: "path".into(), id: 7, scale: Default::default(), ..Marker::default() };
    marker.header.seq = seq;
    marker.header.frame_id = "map".into();
    marker.header.stamp = Time::from_nanos(5_000_000_006);
    marker.points = (0..5).map(|n| Point { x: f64::from(n), y: 0.5, z: -1.0 }).collect();
    MarkerArray { markers: vec![marker.clone(), Marker { text: "second".into(), ..marker }] }
}

fn dynamic(generation: Generation, message: &MarkerArray) -> DynamicMessage {
    let schema = schema::<MarkerArray>(generation);
    match generation {
        Generation::Ros1 => DynamicMessage::decode(&schema, &bytes(generation, message)).unwrap(),
        Generation::Ros2 => DynamicMessage::decode_payload(&schema, &bytes(generation, message)).unwrap(),
    }
}

fn bytes(generation: Generation, message: &MarkerArray) -> Vec<u8> {
    match generation {
        Generation::Ros1 => cdr::encode(message, Encoding::Ros1).unwrap(),
        Generation::Ros2 => cdr::encode(message, Encoding::Xcdr1).unwrap(),
    }
}

#[test]
fn dynamic_publisher_reaches_both_graphs() {
    for generation in Generation::ALL {
        let graphs = TwoGraphs::new();
        let talker = graphs.both.create_node("talker").unwrap();
        let schema = schema::<MarkerArray>(generation);
        let publisher = talker.create_dynamic_publisher("markers", &schema, 10).unwrap();
        let ros1 = graphs.ros1.create_node("one").unwrap();
        let ros2 = graphs.ros2.create_node("two").unwrap();
        let (one, two): (Received<MarkerArray>, Received<MarkerArray>) =
            (Received::on(&ros1, "markers", 10), Received::on(&ros2, "markers", 10));
        assert!(publisher.wait_for_subscribers(2, LONG).unwrap());
        publisher.publish(&dynamic(generation, &markers(3))).unwrap();
        graphs.spin_until("it is received in both", || one.len() == 1 && two.len() == 1);
        let given = bytes(generation, &markers(4));
        publisher.publish_bytes(|out| out.extend_from_slice(&given)).unwrap();
        graphs.spin_until("the bytes are received in both", || one.len() == 2 && two.len() == 2);
        // Only ROS 1 has a `seq`.
        let has_seq = generation == Generation::Ros1;
        assert_eq!(one.last_of(2), markers(if has_seq { 4 } else { 0 }), "{generation:?}");
        assert_eq!(two.last_of(2), markers(0), "{generation:?}");
    }
}

#[test]
fn dynamic_subscription_receives_both_graphs_by_schema() {
    for generation in Generation::ALL {
        let graphs = TwoGraphs::new();
        let listener = graphs.both.create_node("listener").unwrap();
        let received: Arc<Mutex<Vec<DynamicMessage>>> = Arc::default();
        let into = Arc::clone(&received);
        let schema = schema::<CameraInfo>(generation);
        let take = move |message: &DynamicMessage| into.lock().unwrap().push(message.clone());
        let subscription = listener.create_dynamic_subscription("camera", &schema, 10, take).unwrap();
        let mut info = CameraInfo { distortion_model: "none".into(), ..CameraInfo::default() };
        info.header.seq = 9;
        info.k[4] = 2.5;
        for (count, context) in [(1, &graphs.ros1), (2, &graphs.ros2)] {
            let node = context.create_node("camera").unwrap();
            let publisher = node.create_publisher::<CameraInfo>("camera", 10).unwrap();
            graphs.spin_until("it is matched", || subscription.publisher_count() == 1);
            assert!(publisher.wait_for_subscribers(1, LONG).unwrap());
            publisher.publish(&info).unwrap();
            graphs.spin_until("it is received", || received.lock().unwrap().len() == count);
            let last = received.lock().unwrap()[count - 1].clone();
            assert!(Arc::ptr_eq(last.schema(), &schema));
            let k = if generation == Generation::Ros1 { "K[4]" } else { "k[4]" };
            assert_eq!(last.get(k).unwrap().as_f64(), Some(2.5));
            assert_eq!(last.get("header.seq").is_ok(), generation == Generation::Ros1);
            drop((publisher, node));
            graphs.spin_until("it is gone", || subscription.publisher_count() == 0);
        }
        assert_eq!(subscription.malformed(), 0);
    }
}

#[test]
fn custom_type_has_hash_of_its_definition() {
    let graphs = TwoGraphs::new();
    let (name, text) =
        (TypeName::new("robot_msgs", "State"), "Header header\nfloat64[] jointAngles\nduration age");
    let mut library = runnel::msgs::library();
    library.add_text(Kind::Message, name.clone(), text, "State.msg");
    let [ros1, ros2] = Generation::ALL.map(|generation| library.message_in(generation, &name).unwrap());
    let publisher =
        graphs.both.create_node("talker").unwrap().create_dynamic_publisher("state", &ros1, QoS::latched());
    let publisher = publisher.unwrap();
    publisher.publish(&DynamicMessage::default_of(&ros1).unwrap()).unwrap();
    let received: Arc<Mutex<Option<(String, DynamicMessage)>>> = Arc::default();
    let (into, form) = (Arc::clone(&received), Arc::clone(&ros2));
    let node = graphs.ros2.create_node("echo").unwrap();
    let raw = node.create_raw_subscription("state", None, QoS::latched(), move |message| {
        let decoded = message.decode(&form).unwrap();
        *into.lock().unwrap() = Some((message.type_hash().to_owned(), decoded));
    });
    let _raw = raw.unwrap();
    graphs.spin_until("it is received", || received.lock().unwrap().is_some());
    let (hash, message) = received.lock().unwrap().take().unwrap();
    assert_eq!(Some(hash), ros2.rihs01());
    assert_eq!(message, DynamicMessage::default_of(&ros2).unwrap());
}

#[test]
fn malformed_bytes_are_refused_and_not_delivered() {
    let graphs = TwoGraphs::new();
    let talker = graphs.both.create_node("talker").unwrap();
    let schema = schema::<MarkerArray>(Generation::Ros1);
    let publisher = talker.create_dynamic_publisher("markers", &schema, 10).unwrap();
    let ros1 = graphs.ros1.create_node("one").unwrap();
    let ros2 = graphs.ros2.create_node("two").unwrap();
    let (one, two): (Received<MarkerArray>, Received<MarkerArray>) =
        (Received::on(&ros1, "markers", 10), Received::on(&ros2, "markers", 10));
    assert!(publisher.wait_for_subscribers(2, LONG).unwrap());
    let refused = publisher.publish_bytes(|out| out.extend_from_slice(&[1, 0, 0])).unwrap_err();
    assert!(matches!(refused, Error::Transcode { .. }), "{refused}");
    assert!(refused.to_string().starts_with("topic /markers: field markers: "), "{refused}");
    publisher.publish(&dynamic(Generation::Ros1, &markers(0))).unwrap();
    graphs.spin_until("what follows is received", || one.len() == 1 && two.len() == 1);
    assert_eq!((one.subscription.received(), two.subscription.received(), publisher.published()), (1, 1, 1));
}

#[test]
fn type_with_wstring_is_ros1_only() {
    let graphs = TwoGraphs::new();
    let name = TypeName::new("a", "Wide");
    let mut library = Library::new();
    library.add_text(Kind::Message, name.clone(), "int8 x\nwstring name", "Wide.msg");
    let schema = library.message_in(Generation::Ros2, &name).unwrap();
    let node = graphs.ros2.create_node("two").unwrap();
    let refused = node.create_dynamic_publisher("wide", &schema, 10).unwrap_err();
    assert!(matches!(refused, Error::NotInGraph { .. }));
    assert!(refused.to_string().contains("/wide of type a/Wide (field name is a wstring"), "{refused}");
    assert!(node.create_raw_subscription("wide", Some(&schema), 10, |_| ()).is_err());
    let publisher = graphs.both.create_node("both").unwrap().create_dynamic_publisher("wide", &schema, 10);
    publisher.unwrap().publish(&DynamicMessage::default_of(&schema).unwrap()).unwrap();
}
