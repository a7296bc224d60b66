//! `runnel action` in ROS 2 and in both graphs: with servers of rclpy and of Runnel, and of a dual node.

use interop::ros2::{Distro, Ros2Graph};
use interop::{Master, Printed, Server, TIMEOUT, built, checkout, ready};
use runnel_testkit::process::{Peer, PeerErrorKind, Signal, deadline_in};

const ACTION: &str = "/fibonacci";
const TYPE: &str = "test_msgs/action/Fibonacci";

/// The folder of the type, which the command does not know.
fn folder() -> String {
    checkout().join("tests/interop/interfaces/test_msgs").display().to_string()
}

fn runnel_server(graph: &Ros2Graph, arguments: &[&str]) -> Peer {
    let mut command = graph.command(built("runnel_ros2_action_server"));
    command.arg(ACTION).args(arguments);
    ready(Peer::spawn("runnel_ros2_action_server", command).unwrap())
}

fn rclpy_server(graph: &Ros2Graph, distro: Distro) -> Peer {
    ready(graph.rclpy(distro, "action_server.py", "action_server", &[ACTION]))
}

fn send(graph: &Ros2Graph, order: u8, words: &[&str]) -> Printed {
    let goal = format!("{{order: {order}}}");
    let (folder, send) = (folder(), ["action", "send_goal", ACTION, TYPE]);
    graph.ran(&[&send[..], &[goal.as_str(), "--interfaces", folder.as_str()], words].concat())
}

/// The lines without the goal's id.
fn lines(printed: &Printed) -> Vec<&str> {
    let lines = printed.output.lines();
    lines
        .map(|line| if line.starts_with("Goal accepted with ID: ") { "Goal accepted" } else { line })
        .collect()
}

const SENDING: [&str; 4] =
    ["Waiting for an action server to become available...", "Sending goal:", "     order: 1", ""];

#[test]
fn actions_are_shown_and_goals_sent() {
    for distro in [Some(Distro::Kilted), Some(Distro::Jazzy), None] {
        let graph = Ros2Graph::new();
        let server = distro.map_or_else(|| runnel_server(&graph, &[]), |distro| rclpy_server(&graph, distro));
        assert_eq!(graph.answer(&["action", "list", "--wait", "2"]), "/fibonacci\n");
        assert_eq!(
            graph.answer(&["action", "list", "-t", "--wait", "2"]),
            "/fibonacci [test_msgs/action/Fibonacci]\n"
        );
        assert_eq!(graph.answer(&["action", "type", ACTION, "--wait", "2"]), "test_msgs/action/Fibonacci\n");
        assert_eq!(graph.answer(&["action", "find", TYPE, "--wait", "2"]), "/fibonacci\n");
        assert_eq!(graph.answer(&["action", "find", TYPE, "-c", "--wait", "2"]), "1\n");
        let info = "Action: /fibonacci\nAction clients: 0\nAction servers: 1\n    /action_server\n";
        assert_eq!(graph.answer(&["action", "info", ACTION, "--wait", "2"]), info);
        let reached = send(&graph, 1, &["--feedback"]);
        let without_feedback: Vec<&str> = lines(&reached)
            .into_iter()
            .filter(|line| !["Feedback:", "    sequence:", "- 1", ""].contains(line))
            .collect();
        let expected = [
            SENDING[0],
            SENDING[1],
            SENDING[2],
            "Goal accepted",
            "Result:",
            "- 10",
            "Goal finished with status: SUCCEEDED",
        ];
        assert_eq!((reached.code, without_feedback), (Some(0), expected.into()), "{}", server.output());
        let aborted = send(&graph, 2, &["--json"]);
        let json = "{\"status\":\"ABORTED\",\"text\":\"\",\"result\":{\"sequence\":[2,20]}}\n";
        assert_eq!((aborted.code, aborted.output.as_str()), (Some(1), json), "{}", aborted.error);
        let rejected = send(&graph, 3, &[]);
        assert_eq!((rejected.code, lines(&rejected).last()), (Some(1), Some(&"Goal was rejected.")));
    }
}

#[test]
fn ctrl_c_cancels_the_goal() {
    for distro in [Some(Distro::Kilted), None] {
        let graph = Ros2Graph::new();
        let mut server =
            distro.map_or_else(|| runnel_server(&graph, &[]), |distro| rclpy_server(&graph, distro));
        let folder = folder();
        let words = ["action", "send_goal", ACTION, TYPE, "{order: 4}", "-f", "--interfaces", &folder];
        let mut command = graph.running(&words);
        server.wait_for_line(|line| line == "goal 4", deadline_in(TIMEOUT)).unwrap();
        command.wait_for_line(|line| line == "- 4", deadline_in(TIMEOUT)).unwrap();
        command.signal(Signal::INT).unwrap();
        assert_eq!(command.wait_exit(deadline_in(TIMEOUT)).unwrap().code(), Some(1));
        let printed = command.output();
        for line in ["interrupted: canceling the goal", "Goal finished with status: CANCELED"] {
            assert!(printed.contains(line), "{line}: {printed}");
        }
    }
}

#[test]
fn feedback_and_status_are_echoed() {
    let graph = Ros2Graph::new();
    let _server = rclpy_server(&graph, Distro::Kilted);
    let folder = folder();
    let mut echo = graph.running(&["action", "echo", ACTION, "--wait", "3", "--interfaces", &folder]);
    // The echo has matched the server when the first status comes.
    for (line, seconds) in [("interface: STATUS_TOPIC", 1), ("interface: FEEDBACK_TOPIC", 2)] {
        while let Err(error) = echo.wait_for_line(|printed| printed == line, deadline_in(seconds)) {
            assert!(matches!(error.kind(), PeerErrorKind::TooLate(_)), "{error}");
            assert_eq!(send(&graph, 1, &[]).code, Some(0), "{}", echo.output());
        }
    }
    echo.wait_for_line(|line| line == "  - 1", deadline_in(TIMEOUT)).unwrap();
    let wrong = graph.ran(&["action", "echo", ACTION, "-i", "GOAL"]);
    assert!(
        wrong.code == Some(2) && wrong.error.contains("\"GOAL\" is incorrect interface name"),
        "{}",
        wrong.error
    );
}

#[test]
fn dual_action_is_listed_once() {
    let master = Master::start(Server::Rosmaster);
    let ros1 = master.graph();
    let graph = Ros2Graph::new().with_master(ros1);
    let _server = runnel_server(&graph, &["--both"]);
    // Without ROS 2, whose discovery takes longer on a busy machine, the answers would be others.
    assert_eq!(graph.answer(&["action", "list", "--wait", "2"]), "/fibonacci  ROS 1, ROS 2\n");
    assert_eq!(graph.answer(&["action", "list", "--ros1", "-t"]), "/fibonacci [test_msgs/Fibonacci]\n");
    let info = graph.answer(&["action", "info", ACTION, "--wait", "2"]);
    assert!(info.starts_with("ROS 1\nAction: /fibonacci\n") && info.contains("\nROS 2\nAction: "), "{info}");
    for words in [&["--wait", "2"][..], &["--ros1"], &["--ros2"]] {
        let printed = send(&graph, 1, words);
        let end = Some(&"Goal finished with status: SUCCEEDED");
        assert_eq!((printed.code, lines(&printed).last()), (Some(0), end), "{words:?}: {}", printed.error);
    }
}
