//! A Runnel pair in shared memory, on a topic with original publishers and subscribers over UDP: no message is lost
//! or duplicated, also while the pair returns to the network and leaves it again.

use std::collections::BTreeMap;
use std::process;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use interop::TIMEOUT;
use interop::ros2::{Distro, Origin, Ros2Graph};
use interop::ros2_options::{crc, text};
use runnel::QoS;
use runnel::msgs::std_msgs::msg::String as Text;
use runnel_testkit::packets::{connected_packet_sockets, shut_down};
use runnel_testkit::process::{Peer, deadline_in};

const JAZZY: Origin = Origin::Ros2(Distro::Jazzy);

/// Messages of each talker, which is identified by their length.
const COUNT: u32 = 300;
const OURS: usize = 5000;
const THEIRS: [(Origin, usize); 2] = [(JAZZY, 100), (Origin::Cyclone, 200)];

/// Messages received from each talker, by their length.
type Heard = Arc<Mutex<BTreeMap<usize, Vec<String>>>>;

/// All messages of a talker.
fn all_of(size: usize) -> Vec<String> {
    (1..=COUNT).map(|number| text(number, size).data).collect()
}

/// Length and checksum of each of our messages that a listener has printed.
fn got_of_ours(listener: &Peer) -> Vec<String> {
    let lines = listener.lines();
    let bodies =
        lines.iter().filter_map(|line| line.strip_prefix("got ")?.split_once(' ').map(|(_, body)| body));
    let length = crc(&text(1, OURS)).split_once(" crc").unwrap().0.to_owned();
    bodies.filter(|body| body.starts_with(&length)).map(str::to_owned).collect()
}

#[test]
fn memory_pair_and_udp_originals_share_topic_without_loss() {
    let graph = Ros2Graph::new();
    let [talking, listening] = [(); 2].map(|()| graph.context());
    let (talker, listener) = (talking.create_node("near").unwrap(), listening.create_node("far").unwrap());
    let publisher = talker.create_publisher::<Text>("/shared", QoS::keep_last(1000)).unwrap();
    let received = Heard::default();
    let into = Arc::clone(&received);
    let subscription = listener
        .create_subscription("/shared", QoS::keep_last(1000), move |message: &Text| {
            into.lock().unwrap().entry(message.data.len()).or_default().push(message.data.clone());
        })
        .unwrap();
    let listeners = [JAZZY, Origin::Cyclone].map(|origin| graph.listener(origin, &["/shared"]));
    let count = COUNT.to_string();
    let _talkers = THEIRS.map(|(origin, size)| {
        let size = size.to_string();
        let gate = graph.gate();
        let words = ["/shared", "--count", &count, "--size", &size, "--rate", "200", "--after", &gate];
        graph.talker(origin, &words)
    });
    let until = deadline_in(TIMEOUT);
    let turn = |what: &str| {
        assert!(Instant::now() < until, "still not: {what}");
        talking.spin_once(Duration::from_millis(1)).unwrap();
        listening.spin_once(Duration::from_millis(1)).unwrap();
    };
    while publisher.subscription_count() < 3 || subscription.publisher_count() < 3 {
        turn("all have met");
    }
    let is_by_memory = || publisher.shared_memory_count() == 1 && subscription.shared_memory_count() == 1;
    while !is_by_memory() {
        turn("the pair in shared memory");
    }
    graph.open_gate();
    let mut ended = 0;
    for number in 1..=COUNT {
        publisher.publish(text(number, OURS)).unwrap();
        turn("all published");
        if number % 50 == 25 && is_by_memory() {
            let sockets = connected_packet_sockets(process::id()).unwrap();
            ended += sockets.into_values().filter_map(|socket| shut_down(socket).ok()).count();
        }
    }
    assert!(ended > 0, "an IPC connection was ended");
    let enough = |received: &BTreeMap<usize, Vec<String>>| {
        let all = received.values().map(Vec::len).sum::<usize>();
        all >= 3 * COUNT as usize
    };
    while !enough(&received.lock().unwrap()) || !is_by_memory() {
        turn("all messages are received, and the pair is in shared memory again");
    }
    let expected: Vec<String> = (1..=COUNT).map(|number| crc(&text(number, OURS))).collect();
    for listener in &listeners {
        while got_of_ours(listener).len() < expected.len() {
            turn("the originals have received all of ours");
        }
        assert_eq!(got_of_ours(listener), expected, "{}", listener.name());
    }
    let received = received.lock().unwrap();
    for size in THEIRS.map(|(_, size)| size).into_iter().chain([OURS]) {
        assert_eq!(received[&size], all_of(size), "messages of {size} bytes");
    }
    assert_eq!((subscription.lost(), subscription.dropped(), publisher.dropped()), (0, 0, 0));
}
