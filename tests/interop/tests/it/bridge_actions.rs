//! Actions that `runnel bridge` carries, between actionlib and rclpy.

use std::fs;
use std::path::{Path, PathBuf};

use interop::ros2::Distro;
use interop::test_msgs::action::FibonacciAction;
use interop::{Origin, Server, TIMEOUT, ready, wait_until};
use runnel::core::Message;
use runnel_testkit::process::{Peer, Signal, deadline_in};

use crate::bridge_scene::TwoGraphs;

const ACTION: &str = "/fibonacci";

/// A bridge that reads the definitions of the tests.
fn bridge(graphs: &TwoGraphs) -> Peer {
    let interfaces = Path::new(env!("CARGO_MANIFEST_DIR")).join("interfaces");
    graphs.runnel(&["--interfaces", interfaces.to_str().unwrap(), "bridge"])
}

/// A file with the definition of the action, for rospy.
fn definition(graphs: &TwoGraphs) -> PathBuf {
    let definition = graphs.ros2.home().join("FibonacciAction.txt");
    fs::write(&definition, FibonacciAction::DEFINITION).unwrap();
    definition
}

/// A peer of rospy for the action.
fn rospy(graphs: &TwoGraphs, program: &str) -> Peer {
    let definition = definition(graphs);
    graphs.master.graph().node(Origin::Rospy, program, program, &[ACTION, definition.to_str().unwrap()])
}

fn check_lines(mut client: Peer, others: [&Peer; 2], expected: &[&str]) {
    let exit = client.wait_exit(deadline_in(TIMEOUT));
    let printed = format!("{}\n{}\n{}", client.output(), others[0].output(), others[1].output());
    assert!(exit.unwrap_or_else(|error| panic!("{error}\n{printed}")).success(), "{printed}");
    // A result may overtake feedback, which travels on another topic, and rclpy then drops the feedback.
    let lines: Vec<String> =
        client.lines().into_iter().filter(|line| !line.starts_with("feedback {")).collect();
    assert_eq!(lines, expected, "{printed}");
}

#[test]
fn actionlib_client_uses_rclpy_server() {
    for distro in [Distro::Kilted, Distro::Jazzy] {
        let graphs = TwoGraphs::new(Server::Rosmaster);
        let bridge = bridge(&graphs);
        let server = ready(graphs.ros2.rclpy(distro, "action_server.py", "action_server", &[ACTION]));
        // ROS 2 servers send no text, and no result of a rejected goal.
        let expected = [
            "goal 1 SUCCEEDED [1, 10] ",
            "goal 2 ABORTED [2, 20] ",
            "goal 3 REJECTED [] the action server has rejected the goal",
            "feedback 4 [4]",
            "goal 4 PREEMPTED [4, 40] ",
            "done",
        ];
        check_lines(rospy(&graphs, "fibonacci_client"), [&server, &bridge], &expected);
    }
}

#[test]
fn rclpy_client_uses_actionlib_server() {
    for distro in [Distro::Kilted, Distro::Jazzy] {
        let graphs = TwoGraphs::new(Server::Rosmaster);
        let bridge = bridge(&graphs);
        let server = ready(rospy(&graphs, "fibonacci_server"));
        // In ROS 1 no server refuses to cancel.
        let expected = [
            "ready",
            "accepted [1, 2, 4, 5]",
            "cancel 4 code 0 mine True",
            "cancel 5 code 0 mine True",
            "goal 1 SUCCEEDED [1, 10]",
            "goal 2 ABORTED [2, 20]",
            "goal 4 CANCELED [4, 40]",
            "goal 5 SUCCEEDED [5, 50]",
            "ended: cancel code 3",
            "unknown: cancel code 2",
            "all: cancel code 0 of 0",
            "ended: result SUCCEEDED [1, 10]",
            "unknown: result UNKNOWN []",
            "done",
        ];
        let client = graphs.ros2.rclpy(distro, "action_client.py", "action_client", &[ACTION]);
        check_lines(client, [&server, &bridge], &expected);
        let rows = graphs.reported("actions");
        let (_, row) = rows.iter().find(|(_, row)| row["action"] == ACTION).expect("a row");
        assert_eq!((&row["to"], &row["goals"]), (&"ros2".into(), &5.into()));
    }
}

#[test]
fn action_is_offered_while_its_server_exists() {
    let graphs = TwoGraphs::new(Server::Runnel);
    let _bridge = bridge(&graphs);
    let states = || -> Vec<String> {
        let rows = graphs.reported("actions").into_iter();
        rows.map(|(_, row)| row["state"].as_str().unwrap_or_default().to_owned()).collect()
    };
    for _ in 0..2 {
        let mut server =
            ready(graphs.ros2.rclpy(Distro::Kilted, "action_server.py", "action_server", &[ACTION]));
        wait_until("the action is carried", deadline_in(TIMEOUT), || states() == ["carried"]);
        server.signal(Signal::INT).unwrap();
        server.wait_exit(deadline_in(TIMEOUT)).unwrap();
        wait_until("the action is gone", deadline_in(TIMEOUT), || states().is_empty());
    }
}
