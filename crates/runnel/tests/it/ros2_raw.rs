//! Tests of untyped subscriptions, which learn the types of a topic from its ROS 2 publishers.

use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::common::{LONG, spin_until};
use crate::domains::new_domain;
use runnel::core::schema::{Generation, TypeName};
use runnel::msgs::geometry_msgs::msg::{Point, PoseStamped};
use runnel::msgs::std_msgs::msg::{Int32, String as Text};
use runnel::{Context, ContextOptions, Error, Graphs, Node, QoS, Subscription, SubscriptionOptions};

/// Contexts in a domain of their own, which act as processes of one host.
fn contexts<const N: usize>() -> [Context; N] {
    contexts_by(true)
}

/// As [`contexts`], with or without shared memory.
fn contexts_by<const N: usize>(ipc: bool) -> [Context; N] {
    let domain = new_domain();
    std::array::from_fn(|_| {
        let options = ContextOptions::default().signals(false).arguments([""; 0]);
        Context::with_options(options.graphs(Graphs::Ros2).domain_id(domain).ipc(ipc)).unwrap()
    })
}

/// Received messages as type and YAML.
#[derive(Clone, Default)]
struct Received(Arc<Mutex<Vec<(String, String)>>>);

impl Received {
    fn subscribe(&self, node: &Node, topic: &str, qos: impl Into<QoS>) -> Subscription {
        let (received, library) = (self.clone(), runnel::msgs::library());
        let subscription = node.create_raw_subscription(topic, None, qos, move |message| {
            assert_eq!(message.generation(), Generation::Ros2);
            let name = TypeName::parse(message.type_name()).unwrap();
            let schema = library.message_in(message.generation(), &name).unwrap();
            assert_eq!(schema.rihs01().as_deref(), Some(message.type_hash()));
            let decoded = message.decode(&schema).unwrap();
            let json = runnel::core::yaml::to_json(&decoded).to_string();
            received.0.lock().unwrap().push((message.type_name().to_owned(), json));
        });
        subscription.unwrap()
    }

    fn all(&self) -> Vec<(String, String)> {
        self.0.lock().unwrap().clone()
    }

    fn len(&self) -> usize {
        self.0.lock().unwrap().len()
    }
}

fn text(data: impl Into<String>) -> Text {
    Text { data: data.into() }
}

#[test]
fn untyped_subscription_receives_every_type() {
    let [a, b, c] = contexts();
    let (words, poses, listening) =
        (a.create_node("words").unwrap(), b.create_node("poses").unwrap(), c.create_node("echo").unwrap());
    // One publisher exists before the subscription, the other one joins later.
    let first = words.create_publisher::<Text>("mixed", 10).unwrap();
    let received = Received::default();
    let subscription = received.subscribe(&listening, "mixed", 10);
    assert!(first.wait_for_subscribers(1, LONG).unwrap());
    let second = poses.create_publisher::<PoseStamped>("mixed", 10).unwrap();
    assert!(second.wait_for_subscribers(1, LONG).unwrap());
    spin_until(&c, "both are matched", || subscription.publisher_count() == 2);
    first.publish(text("hello")).unwrap();
    spin_until(&c, "the message is received", || received.len() == 1);
    let mut pose = PoseStamped::default();
    pose.header.seq = 4;
    pose.header.frame_id = "map".into();
    pose.pose.position = Point { x: 1.0, y: 2.0, z: 3.0 };
    second.publish(&pose).unwrap();
    spin_until(&c, "the pose is received", || received.len() == 2);
    let [word, pose] = received.all().try_into().unwrap();
    assert_eq!(word, ("std_msgs/msg/String".into(), r#"{"data":"hello"}"#.into()));
    assert_eq!(pose.0, "geometry_msgs/msg/PoseStamped");
    assert!(
        pose.1.contains(r#""position":{"x":1.0,"y":2.0,"z":3.0}"#) && !pose.1.contains("seq"),
        "{}",
        pose.1
    );
}

#[test]
fn untyped_subscription_receives_weaker_offer_once() {
    let [a, b, c] = contexts();
    let (sure, unsure, listening) =
        (a.create_node("sure").unwrap(), b.create_node("unsure").unwrap(), c.create_node("echo").unwrap());
    let received = Received::default();
    let subscription = received.subscribe(&listening, "number", QoS::keep_last(100).transient_local());
    let reliable = sure.create_publisher::<Int32>("number", QoS::keep_last(100).transient_local()).unwrap();
    reliable.publish(Int32 { data: -1 }).unwrap();
    spin_until(&c, "what was kept is received", || received.len() == 1);
    let best_effort = unsure.create_publisher::<Int32>("number", QoS::sensor_data()).unwrap();
    assert!(best_effort.wait_for_subscribers(1, LONG).unwrap());
    // The weaker reader matches the stronger publisher too.
    assert!(reliable.wait_for_subscribers(2, LONG).unwrap());
    spin_until(&c, "both are matched", || subscription.publisher_count() == 2);
    for number in 0..20 {
        reliable.publish(Int32 { data: number }).unwrap();
        best_effort.publish(Int32 { data: 100 + number }).unwrap();
        spin_until(&c, "both are received", || received.len() == 3 + 2 * number as usize);
    }
    let mut numbers: Vec<_> = received.all().into_iter().map(|(_, json)| json).collect();
    numbers.sort();
    numbers.dedup();
    assert_eq!((numbers.len(), received.len()), (41, 41));
}

#[test]
fn strict_qos_is_not_reduced_for_publishers() {
    let [a, b, c] = contexts();
    let (sure, unsure, listening) =
        (a.create_node("sure").unwrap(), b.create_node("unsure").unwrap(), c.create_node("echo").unwrap());
    let refused = Arc::new(AtomicU16::new(0));
    let count = Arc::clone(&refused);
    let reliable = SubscriptionOptions::from(QoS::keep_last(10).durability_best_available())
        .strict_qos()
        .incompatible_qos_callback(move |_| {
            count.fetch_add(1, Ordering::Relaxed);
        });
    let strict = listening.create_raw_subscription("number", None, reliable, |_| ()).unwrap();
    let any = SubscriptionOptions::from(QoS::best_available()).strict_qos();
    let lenient = listening.create_raw_subscription("number", None, any, |_| ()).unwrap();
    let _best_effort = unsure.create_publisher::<Int32>("number", QoS::sensor_data()).unwrap();
    spin_until(&c, "one refuses it", || refused.load(Ordering::Relaxed) == 1);
    spin_until(&c, "the other takes it", || lenient.publisher_count() == 1);
    assert_eq!(strict.publisher_count(), 0);
    let _reliable = sure.create_publisher::<Int32>("number", QoS::latched()).unwrap();
    spin_until(&c, "both take this", || strict.publisher_count() == 1 && lenient.publisher_count() == 2);
    assert_eq!(refused.load(Ordering::Relaxed), 1);
}

#[test]
fn strict_qos_is_not_reduced_within_process() {
    let [context] = contexts();
    let node = context.create_node("both").unwrap();
    let any = SubscriptionOptions::from(QoS::best_available()).strict_qos();
    let first = node.create_raw_subscription("number", None, any, |_| ()).unwrap();
    let _best_effort = node.create_publisher::<Int32>("number", QoS::sensor_data()).unwrap();
    let reliable = QoS::keep_last(10);
    let lenient = node.create_raw_subscription("number", None, reliable, |_| ()).unwrap();
    let exactly = SubscriptionOptions::from(reliable).strict_qos();
    let strict = node.create_raw_subscription("number", None, exactly, |_| ()).unwrap();
    assert_eq!((lenient.publisher_count(), strict.publisher_count()), (1, 0));
    assert_eq!(first.publisher_count(), 1, "what is best available is each publisher's own");
    assert_eq!(strict.incompatible_qos_status().total_count, 1);
}

#[test]
fn typed_reader_follows_publishers_of_its_type() {
    let [a, b] = contexts();
    let (talker, listening) = (a.create_node("talker").unwrap(), b.create_node("echo").unwrap());
    let received = Received::default();
    // Messages are kept for the next reader, since the departed one may still count.
    let subscription = received.subscribe(&listening, "chatter", QoS::latched());
    for round in 1..=3 {
        let publisher = talker.create_publisher::<Text>("chatter", QoS::latched()).unwrap();
        spin_until(&b, "it is matched", || subscription.publisher_count() == 1);
        publisher.publish(text(round.to_string())).unwrap();
        spin_until(&b, "it is received", || received.len() == round);
        drop(publisher);
        spin_until(&b, "it is gone", || subscription.publisher_count() == 0);
    }
    // With its readers gone, the subscription can be dropped while nothing is published, and created again.
    drop(subscription);
    let publisher = talker.create_publisher::<Int32>("chatter", 10).unwrap();
    let again = received.subscribe(&listening, "chatter", 10);
    assert!(publisher.wait_for_subscribers(1, LONG).unwrap());
    spin_until(&b, "it is matched", || again.publisher_count() == 1);
    publisher.publish(Int32 { data: 5 }).unwrap();
    spin_until(&b, "it is received", || received.len() == 4);
    assert_eq!(received.all()[3], ("std_msgs/msg/Int32".into(), r#"{"data":5}"#.into()));
    drop(again);
    spin_until(&a, "the subscription is gone", || publisher.subscription_count() == 0);
}

#[test]
fn type_beyond_limit_is_received_once_another_type_has_ended() {
    for ipc in [false, true] {
        let [a, b, c] = contexts_by(ipc);
        let listening = c.create_node("echo").unwrap();
        let received = Received::default();
        let subscription = received.subscribe(&listening, "many", 10);
        macro_rules! publishers {
            ($node:expr, $($name:ident),*) => {
                ($({
                    let node = $node.create_node(&stringify!($name).to_lowercase()).unwrap();
                    node.create_publisher::<runnel::msgs::std_msgs::msg::$name>("many", 10).unwrap()
                }),*)
            };
        }
        let sixteen = publishers!(
            a,
            Bool,
            Byte,
            Char,
            ColorRGBA,
            Empty,
            Float32,
            Float64,
            Int8,
            Int16,
            Int32,
            Int64,
            MultiArrayLayout,
            String,
            UInt8,
            UInt16,
            UInt32
        );
        spin_until(&c, "sixteen are matched", || subscription.publisher_count() == 16);
        let (known, refused) = publishers!(b, Float64, UInt64);
        spin_until(&c, "the type that is known is matched", || subscription.publisher_count() == 17);
        assert!(known.wait_for_subscribers(1, LONG).unwrap());
        assert_eq!(refused.subscription_count(), 0);
        drop(sixteen.0);
        spin_until(&c, "the refused one is matched", || {
            refused.subscription_count() == 1 && subscription.publisher_count() == 17
        });
        refused.publish(runnel::msgs::std_msgs::msg::UInt64 { data: 5 }).unwrap();
        spin_until(&c, "its message is received", || received.len() == 1);
        assert_eq!(received.all(), [("std_msgs/msg/UInt64".into(), r#"{"data":5}"#.into())], "{ipc}");
    }
}

/// Publishes numbers from 0 until a subscriber accepts no more. Returns their number.
fn publish_until_full(publish: impl Fn(i32) -> Result<(), Error>) -> i32 {
    let held_up = (0..20_000).find(|number| match publish(*number) {
        Ok(()) => false,
        Err(Error::Blocked { .. }) => true,
        Err(other) => panic!("{other}"),
    });
    held_up.expect("it is held up")
}

#[test]
fn keep_all_untyped_subscription_loses_nothing() {
    for ipc in [false, true] {
        let [a, b, c] = contexts_by(ipc);
        let (words, numbers, listening) = (
            a.create_node("words").unwrap(),
            b.create_node("numbers").unwrap(),
            c.create_node("echo").unwrap(),
        );
        let mut words = words.create_publisher::<Text>("mixed", QoS::keep_all()).unwrap();
        let mut numbers = numbers.create_publisher::<Int32>("mixed", QoS::keep_all()).unwrap();
        words.set_max_blocking_time(Duration::from_millis(500));
        numbers.set_max_blocking_time(Duration::from_millis(500));
        let received = Received::default();
        let subscription = received.subscribe(&listening, "mixed", QoS::keep_all());
        assert!(
            words.wait_for_subscribers(1, LONG).unwrap() && numbers.wait_for_subscribers(1, LONG).unwrap()
        );
        spin_until(&c, "both are matched", || subscription.publisher_count() == 2);
        // No callback runs, so both publishers have to wait.
        let words = publish_until_full(|number| words.publish(text(number.to_string())));
        let numbers = publish_until_full(|data| numbers.publish(Int32 { data }));
        spin_until(&c, "all are received", || received.len() == (words + numbers) as usize);
        let of = |type_name| {
            let all = received.all().into_iter();
            all.filter(move |(name, _)| name == type_name).map(|(_, json)| json)
        };
        assert!(of("std_msgs/msg/String").eq((0..words).map(|number| format!(r#"{{"data":"{number}"}}"#))));
        assert!(of("std_msgs/msg/Int32").eq((0..numbers).map(|number| format!(r#"{{"data":{number}}}"#))));
        assert_eq!((subscription.dropped(), subscription.lost()), (0, 0), "by memory: {ipc}");
    }
}
