//! CPU use of an idle node in the ROS 2 graph.

use crate::common;
use crate::domains::new_domain;
use crate::process::alone;
use std::fs;
use std::time::Duration;

use runnel::{Context, ContextOptions, Graphs, QoS};

/// CPU time of this thread.
fn cpu_time() -> Duration {
    let statistics = fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    Duration::from_nanos(statistics.split_whitespace().next().unwrap().parse().unwrap())
}

/// Polls the driver for a while, as an idle program does.
fn rest(context: &Context, time: Duration) {
    let (executor, end) = (context.executor(), std::time::Instant::now() + time);
    while std::time::Instant::now() < end {
        executor.spin_once(Duration::from_millis(200)).unwrap();
    }
}

#[test]
fn idle_ros2_node_sleeps() {
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
    let _received = listening
        .create_subscription("status", QoS::default(), |_: &runnel::msgs::std_msgs::msg::String| {})
        .unwrap();
    assert!(publisher.wait_for_subscribers(1, common::LONG).unwrap());
    rest(&idle, Duration::from_millis(500));
    let (before, time) = (cpu_time(), Duration::from_secs(2));
    rest(&idle, time);
    let spent = cpu_time() - before;
    // A loop that never sleeps would use all CPU time that other processes leave.
    assert!(spent < time / 20, "{spent:?} in {time:?}");
}
