//! Tests of the end of publishers while a ROS 2 subscriber does not respond.

use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use runnel_core::qos::QoS;
use runnel_msgs::std_msgs::msg::Empty;
use runnel_testkit::namespace::require_private_network;

use crate::{Context, ContextOptions, Graphs, Node, Publisher, Subscription};

/// Longer than any step of these tests; only a failure waits for it.
const LONG: Duration = Duration::from_secs(60);

fn node(name: &str) -> Node {
    let options = ContextOptions::default().signals(false).arguments(Vec::<String>::new());
    Context::with_options(options.graphs(Graphs::Ros2).domain_id(68).ipc(false))
        .unwrap()
        .create_node(name)
        .unwrap()
}

/// A matched publisher and subscription.
fn pair(talker: &Node, listener: &Node, number: usize) -> (Publisher<Empty>, Subscription) {
    let topic = format!("data{number}");
    let publisher = talker.create_publisher(&topic, QoS::default()).unwrap();
    let subscription = listener.create_subscription(&topic, QoS::default(), |_: &Empty| {}).unwrap();
    assert!(publisher.wait_for_subscribers(1, LONG).unwrap());
    (publisher, subscription)
}

/// Time to drop publishers, each of which may wait for a second.
fn end(publishers: impl IntoIterator<Item = Publisher<Empty>>) -> Duration {
    let begun = Instant::now();
    publishers.into_iter().for_each(drop);
    begun.elapsed()
}

/// Runs `run` while another thread holds the node's driver.
fn while_still(node: &Node, run: impl FnOnce()) {
    let ((tell_held, held), (ended, wait_for_end)) = (channel(), channel::<()>());
    thread::scope(|scope| {
        scope.spawn(move || {
            let _driver = node.inner.driver();
            tell_held.send(()).unwrap();
            let _ = wait_for_end.recv();
        });
        held.recv().unwrap();
        run();
        drop(ended);
    });
}

#[test]
fn what_was_published_before_publishers_end_is_waited_for_once_and_what_is_published_later_again() {
    require_private_network();
    let (talker, listener) = (node("talker"), node("listener"));
    let (mut publishers, _subscriptions): (Vec<_>, Vec<_>) =
        (0..6).map(|number| pair(&talker, &listener, number)).unzip();
    while_still(&listener, || {
        publishers.iter().for_each(|publisher| publisher.publish(Empty {}).unwrap());
        let later = publishers.pop();
        let took = end(publishers);
        assert!((1..5).contains(&took.as_secs()), "five ends took {took:?}");
        later.iter().for_each(|publisher| publisher.publish(Empty {}).unwrap());
        let took = end(later);
        assert!((1..5).contains(&took.as_secs()), "the end of one that has published more took {took:?}");
    });
}
