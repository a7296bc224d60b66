//! Logs in the ROS 2 graph: rclpy reads those of Runnel's nodes, and Runnel subscribes to those of rclpy.

use std::time::{Duration, Instant};

use interop::ros2::{Distro, Origin, Ros2Graph};
use interop::{TIMEOUT, ready};
use runnel::msgs::rcl_interfaces::msg::Log;
use runnel::{Context, QoS};
use runnel_testkit::process::deadline_in;

const DISTROS: [Distro; 2] = [Distro::Kilted, Distro::Jazzy];

/// rclpy receives the log of a node of Runnel.
pub fn check_own_log(distro: Distro) {
    let graph = Ros2Graph::new();
    let node = graph.context().create_node("robot/camera").unwrap();
    let above = u64::from(line!());
    runnel::log_warn!(node.logger().child("driver"), "said before");
    let kept = ["--durability", "transient_local", "--count", "0", "--show"];
    let words = [&["/rosout", "--type", "rcl_interfaces/msg/Log"][..], &kept].concat();
    let mut listener = ready(graph.listener(Origin::Ros2(distro), &words));
    let mut wait_for_log = |text: &str| {
        let line = listener.wait_for_line(|line| line.contains(text), deadline_in(TIMEOUT)).unwrap();
        serde_json::from_str::<serde_json::Value>(line.splitn(3, ' ').nth(2).unwrap()).unwrap()
    };
    let before = wait_for_log("said before");
    runnel::log_error!(node, "said now");
    let now = wait_for_log("said now");
    for (line, name, level) in [(before, "robot.camera.driver", 30), (now, "robot.camera", 40)] {
        assert_eq!((line["name"].as_str(), line["level"].as_u64()), (Some(name), Some(level)), "{line}");
        assert_eq!(line["function"].as_str(), Some("it::ros2_logging"), "{line}");
        assert!(line["file"].as_str().unwrap().ends_with("ros2_logging.rs"), "{line}");
        assert!(line["line"].as_u64() > Some(above) && line["stamp"]["sec"].as_i64() > Some(0), "{line}");
    }
}

#[test]
fn rclpy_receives_past_and_new_log_lines() {
    DISTROS.into_iter().for_each(check_own_log);
}

/// Runnel subscribes to the log of a node of rclpy.
pub fn check_log_of_rclpy(distro: Distro) {
    let graph = Ros2Graph::new();
    let _talker = ready(graph.talker(Origin::Ros2(distro), &["/chatter", "--count", "0", "--wait", "0"]));
    let context = Context::with_options(graph.options().rosout(false)).unwrap();
    let node = context.create_node("listening").unwrap();
    let subscription = node.create_subscription("/rosout", QoS::rosout(), |_: &Log| {}).unwrap();
    let until = Instant::now() + Duration::from_secs(TIMEOUT);
    while subscription.publisher_count() == 0 {
        assert!(Instant::now() < until, "the talker of {distro:?} is not met");
        context.spin_once(Duration::from_millis(10)).unwrap();
    }
    assert_eq!(subscription.incompatible_qos_status().total_count, 0);
}

#[test]
fn rosout_preset_matches_rclpy_publishers() {
    DISTROS.into_iter().for_each(check_log_of_rclpy);
}
