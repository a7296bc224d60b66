//! What it costs to be in the ROS 2 graph while nothing happens.

use crate::common;
use crate::domains::new_domain;
use crate::process::alone;
use std::fs;
use std::time::Duration;

use runnel::{Context, ContextOptions, Graphs, QoS};

/// What this thread has had of a CPU so far.
fn used() -> Duration {
    let statistics = fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    Duration::from_nanos(statistics.split_whitespace().next().unwrap().parse().unwrap())
}

/// Turns the driver for a while, as a program does that has nothing to do.
fn rest(context: &Context, time: Duration) {
    let (executor, end) = (context.executor(), std::time::Instant::now() + time);
    while std::time::Instant::now() < end {
        executor.spin_once(Duration::from_millis(200)).unwrap();
    }
}

#[test]
fn a_node_that_has_nothing_to_do_sleeps_until_it_has() {
    let _alone = alone();
    let domain = new_domain();
    let context = || {
        let options = ContextOptions::default().signals(false).arguments([""; 0]);
        Context::with_options(options.graphs(Graphs::Ros2).domain_id(domain)).unwrap()
    };
    let (idle, other) = (context(), context());
    let node = idle.create_node("idle").unwrap();
    let publisher =
        node.create_publisher::<runnel::msgs::std_msgs::msg::String>("status", QoS::default()).unwrap();
    let listening = other.create_node("other").unwrap();
    let _heard = listening
        .create_subscription("status", QoS::default(), |_: &runnel::msgs::std_msgs::msg::String| {})
        .unwrap();
    assert!(publisher.wait_for_subscribers(1, common::LONG).unwrap());
    rest(&idle, Duration::from_millis(500));
    let (before, time) = (used(), Duration::from_secs(2));
    rest(&idle, time);
    let spent = used() - before;
    // Whoever never sleeps uses what CPU there is, though others may want it, too.
    assert!(spent < time / 20, "{spent:?} in {time:?}");
}
