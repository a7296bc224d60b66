//! What nodes of Runnel log in the ROS 2 graph, heard by rclpy, and by what rclpy's nodes are heard.

use std::time::{Duration, Instant};

use interop::ros2::{Distro, Origin, Ros2Graph};
use interop::{PATIENCE, ready};
use runnel::msgs::rcl_interfaces::msg::Log;
use runnel::{Context, QoS};
use runnel_testkit::process::deadline_in;

const DISTROS: [Distro; 2] = [Distro::Kilted, Distro::Jazzy];

#[test]
fn rclpy_hears_what_a_node_logs_and_has_logged() {
    for distro in DISTROS {
        let graph = Ros2Graph::new();
        let node = graph.context().create_node("robot/camera").unwrap();
        let above = u64::from(line!());
        runnel::log_warn!(node.logger().child("driver"), "said before");
        let kept = ["--durability", "transient_local", "--count", "0", "--show"];
        let words = [&["/rosout", "--type", "rcl_interfaces/msg/Log"][..], &kept].concat();
        let mut listener = ready(graph.listener(Origin::Ros2(distro), &words));
        let mut told = |text: &str| {
            let line = listener.wait_for_line(|line| line.contains(text), deadline_in(PATIENCE)).unwrap();
            serde_json::from_str::<serde_json::Value>(line.splitn(3, ' ').nth(2).unwrap()).unwrap()
        };
        let before = told("said before");
        runnel::log_error!(node, "said now");
        let now = told("said now");
        for (line, name, level) in [(before, "robot.camera.driver", 30), (now, "robot.camera", 40)] {
            assert_eq!((line["name"].as_str(), line["level"].as_u64()), (Some(name), Some(level)), "{line}");
            assert_eq!(line["function"].as_str(), Some("it::ros2_logging"), "{line}");
            assert!(line["file"].as_str().unwrap().ends_with("ros2_logging.rs"), "{line}");
            assert!(line["line"].as_u64() > Some(above) && line["stamp"]["sec"].as_i64() > Some(0), "{line}");
        }
    }
}

#[test]
fn a_subscription_with_the_preset_meets_what_rclpy_logs_by() {
    for distro in DISTROS {
        let graph = Ros2Graph::new();
        let _talker = ready(graph.talker(Origin::Ros2(distro), &["/chatter", "--count", "0", "--wait", "0"]));
        let context = Context::with_options(graph.options().rosout(false)).unwrap();
        let node = context.create_node("ear").unwrap();
        let ear = node.create_subscription("/rosout", QoS::rosout(), |_: &Log| {}).unwrap();
        let until = Instant::now() + Duration::from_secs(PATIENCE);
        while ear.publisher_count() == 0 {
            assert!(Instant::now() < until, "the talker of {distro:?} is not met");
            context.spin_once(Duration::from_millis(10)).unwrap();
        }
        assert_eq!(ear.incompatible_qos_status().total_count, 0);
    }
}
