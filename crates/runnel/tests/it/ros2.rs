//! Tests of ROS 2 topics between two participants on real sockets.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::common::LONG;
use crate::domains::new_domain;
use runnel::msgs::sensor_msgs::msg::Image;
use runnel::msgs::std_msgs::msg::{Header, String as Text};
use runnel::{Context, ContextOptions, Error, Graphs, Node, QoS};

/// Two contexts in a domain of their own.
fn pair() -> (Context, Context) {
    let domain = new_domain();
    let context = || {
        let options = ContextOptions::default().signals(false).arguments(Vec::<String>::new());
        Context::with_options(options.graphs(Graphs::Ros2).domain_id(domain)).unwrap()
    };
    (context(), context())
}

/// A subscription and what it has received.
fn listener(node: &Node, topic: &str, qos: QoS) -> (runnel::Subscription, Arc<Mutex<Vec<String>>>) {
    let received = Arc::new(Mutex::new(Vec::new()));
    let into = Arc::clone(&received);
    let take = move |text: &Text| into.lock().unwrap().push(text.data.clone());
    (node.create_subscription(topic, qos, take).unwrap(), received)
}

#[track_caller]
fn spin_until(context: &Context, what: &str, done: impl Fn() -> bool) {
    let until = std::time::Instant::now() + LONG;
    while !done() {
        assert!(std::time::Instant::now() < until, "{what}");
        context.spin_once(Duration::from_millis(10)).unwrap();
    }
}

fn text(data: impl Into<String>) -> Text {
    Text { data: data.into() }
}

#[test]
fn messages_arrive_once_and_in_order() {
    let (a, b) = pair();
    let (talker, listening) = (a.create_node("talker").unwrap(), b.create_node("listener").unwrap());
    // Deep enough for all messages: on a busy machine and during the handover the listener is behind.
    let qos = QoS::keep_last(100);
    let publisher = talker.create_publisher::<Text>("chatter", qos).unwrap();
    let (subscription, received) = listener(&listening, "chatter", qos);
    spin_until(&b, "they match", || subscription.publisher_count() == 1);
    assert!(publisher.wait_for_subscribers(1, LONG).unwrap());
    let expected: Vec<String> = (0..100).map(|number| format!("hello {number}")).collect();
    for line in &expected {
        publisher.publish(text(line)).unwrap();
        b.spin_once(Duration::from_millis(20)).unwrap();
    }
    spin_until(&b, "all are received", || received.lock().unwrap().len() == 100);
    assert_eq!(*received.lock().unwrap(), expected);
}

#[test]
fn late_joiner_gets_kept_samples() {
    let (a, b) = pair();
    let (talker, listening) = (a.create_node("talker").unwrap(), b.create_node("listener").unwrap());
    let publisher = talker.create_publisher::<Text>("state", QoS::keep_last(3).transient_local()).unwrap();
    for number in 0..5 {
        publisher.publish(text(number.to_string())).unwrap();
    }
    let (_late, received) = listener(&listening, "state", QoS::keep_last(10).transient_local());
    spin_until(&b, "the last three are received", || received.lock().unwrap().len() == 3);
    assert_eq!(*received.lock().unwrap(), ["2", "3", "4"]);
}

#[test]
fn long_messages_arrive_whole_and_headers_lack_seq() {
    let (a, b) = pair();
    let (camera, viewer) = (a.create_node("camera").unwrap(), b.create_node("viewer").unwrap());
    let publisher = camera.create_publisher::<Image>("image", 2).unwrap();
    let seen = Arc::new(Mutex::new(None));
    let into = Arc::clone(&seen);
    let _images = viewer
        .create_subscription("image", 2, move |image: &Image| *into.lock().unwrap() = Some(image.clone()))
        .unwrap();
    assert!(publisher.wait_for_subscribers(1, LONG).unwrap());
    let data: Vec<u8> = (0..3_000_000u32).map(|index| (index % 251) as u8).collect();
    let header = Header { seq: 7, frame_id: "camera".into(), ..Header::default() };
    let image = Image { header, width: 1000, height: 1000, step: 3000, data, ..Image::default() };
    publisher.publish(&image).unwrap();
    spin_until(&b, "it is seen", || {
        a.spin_some().unwrap();
        seen.lock().unwrap().is_some()
    });
    let mut expected = image;
    expected.header.seq = 0;
    assert_eq!(*seen.lock().unwrap(), Some(expected));
}

#[test]
fn keep_all_publisher_waits_for_slowest_subscriber() {
    let (a, b) = pair();
    let (talker, listening) = (a.create_node("talker").unwrap(), b.create_node("listener").unwrap());
    let mut publisher = talker.create_publisher::<Text>("chatter", QoS::keep_all()).unwrap();
    publisher.set_max_blocking_time(LONG);
    let (_subscription, received) = listener(&listening, "chatter", QoS::keep_all());
    assert!(publisher.wait_for_subscribers(1, LONG).unwrap());
    let listens = std::thread::spawn(move || {
        spin_until(&b, "all are received", || received.lock().unwrap().len() == 3000);
        received.lock().unwrap().clone()
    });
    for number in 0..3000 {
        publisher.publish(text(number.to_string())).unwrap();
    }
    while !listens.is_finished() {
        a.spin_once(Duration::from_millis(10)).unwrap();
    }
    let expected: Vec<String> = (0..3000).map(|number: i32| number.to_string()).collect();
    assert_eq!(listens.join().unwrap(), expected);
}

#[test]
fn incompatible_subscription_is_not_matched() {
    let (a, b) = pair();
    let (talker, listening) = (a.create_node("talker").unwrap(), b.create_node("listener").unwrap());
    let publisher = talker.create_publisher::<Text>("chatter", QoS::sensor_data()).unwrap();
    let (reliable, _) = listener(&listening, "chatter", QoS::default());
    let (best_effort, _) = listener(&listening, "chatter", QoS::sensor_data());
    spin_until(&b, "one is matched", || best_effort.publisher_count() == 1);
    assert!(publisher.wait_for_subscribers(1, LONG).unwrap());
    assert_eq!((publisher.subscription_count(), reliable.publisher_count()), (1, 0));
}

#[test]
fn departed_node_is_removed_at_once() {
    let (a, b) = pair();
    let talker = a.create_node("talker").unwrap();
    let publisher = talker.create_publisher::<Text>("chatter", 10).unwrap();
    let listening = b.create_node("listener").unwrap();
    let (subscription, _) = listener(&listening, "chatter", QoS::default());
    assert!(publisher.wait_for_subscribers(1, LONG).unwrap());
    drop((subscription, listening, b));
    spin_until(&a, "it is gone", || publisher.subscription_count() == 0);
}

#[test]
fn ros2_node_has_its_own_parameters_only() {
    let (a, _) = pair();
    let node = a.create_node("node").unwrap();
    assert_eq!(node.get_param::<i32>("rate").unwrap(), None);
    let refused = node.get_param::<i32>("/other/rate").unwrap_err();
    assert!(matches!(refused, Error::Ros1Only { .. }), "{refused}");
}

#[test]
fn idle_process_sleeps() {
    const MOST: Duration = Duration::from_millis(25);
    let (a, b) = pair();
    let (talker, listening) = (a.create_node("talker").unwrap(), b.create_node("listener").unwrap());
    let _publisher = talker.create_publisher::<Text>("chatter", 10).unwrap();
    let (subscription, _received) = listener(&listening, "chatter", QoS::default());
    spin_until(&b, "they match", || subscription.publisher_count() == 1);
    let used = || rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    let nanos = |time: rustix::time::Timespec| time.tv_sec * 1_000_000_000 + time.tv_nsec;
    let used_in_half_a_second = |_| {
        let (before, until) = (nanos(used()), std::time::Instant::now() + Duration::from_millis(500));
        while std::time::Instant::now() < until {
            b.spin_once(Duration::from_millis(100)).unwrap();
        }
        Duration::from_nanos((nanos(used()) - before) as u64)
    };
    // Discovery between the two takes some work at first.
    let mut all = Vec::new();
    let sleeps = (0..5).map(used_in_half_a_second).inspect(|used| all.push(*used)).any(|used| used < MOST);
    assert!(sleeps, "{all:?} of the processor in half a second each");
}
