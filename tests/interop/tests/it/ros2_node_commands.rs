//! `runnel lifecycle` and `runnel log` in ROS 2 and in both graphs.

use interop::ros2::{Distro, Ros2Graph};
use interop::spinning::Spinning;
use interop::{Master, Server, TIMEOUT, outcome, ready, wait_until};
use runnel::{Context, Graphs, LifecycleNodeInterface, NodeOptions};
use runnel_testkit::process::{Peer, deadline_in};

/// Makes every transition.
struct Willing;

impl LifecycleNodeInterface for Willing {}

#[test]
fn lifecycle_nodes_are_shown_and_changed() {
    let graph = Ros2Graph::new();
    let _rclpy = ready(graph.rclpy(Distro::Kilted, "lifecycle.py", "lifecycle", &[]));
    let near = Spinning::new(graph.context());
    let _ours = near.context.create_lifecycle_node("ours", Willing).unwrap();
    assert_eq!(graph.answer(&["lifecycle", "nodes", "--wait", "2"]), "/lifecycle\n/ours\n");
    assert_eq!(graph.answer(&["lifecycle", "nodes", "-c", "--wait", "2"]), "2\n");
    let states = "/lifecycle: unconfigured [1]\n/ours: unconfigured [1]\n";
    assert_eq!(graph.answer(&["lifecycle", "get", "--wait", "2"]), states);
    for node in ["/lifecycle", "/ours"] {
        let list = graph.answer(&["lifecycle", "list", node]);
        let configure = "- configure [1]\n\tStart: unconfigured\n\tGoal: configuring\n";
        assert!(list.starts_with(configure), "{list}");
        let all = graph.answer(&["lifecycle", "list", node, "-a"]);
        assert!(all.len() > list.len() && all.contains("- activate [3]\n"), "{all}");
        let unknown = graph.ran(&["lifecycle", "set", node, "activate"]);
        let text = "error: Unknown transition requested, available ones are:\n";
        assert!(unknown.code == Some(1) && unknown.error.starts_with(text), "{}", unknown.error);
        assert_eq!(graph.answer(&["lifecycle", "set", node, "configure"]), "Transitioning successful\n");
        assert_eq!(graph.answer(&["lifecycle", "get", node]), "inactive [2]\n");
        assert_eq!(graph.answer(&["lifecycle", "set", node, "3"]), "Transitioning successful\n");
        assert_eq!(graph.answer(&["lifecycle", "get", node]), "active [3]\n");
    }
    let missing = graph.ran(&["lifecycle", "get", "/nothing"]);
    assert!(
        missing.code == Some(1) && missing.error.starts_with("error: Node not found"),
        "{}",
        missing.error
    );
}

#[test]
fn lines_of_rclpy_and_runnel_are_followed() {
    let graph = Ros2Graph::new();
    let near = Spinning::new(graph.context());
    let node = near.node("/robot/ours");
    let mut log = graph.running(&["log", "--level", "warn"]);
    let shows = |log: &Peer, level: &str, end: &str| {
        log.lines().iter().any(|line| line.starts_with(&format!("[{level}] [")) && line.ends_with(end))
    };
    wait_until("the log runs", deadline_in(TIMEOUT), || {
        runnel::log_warn!(node, "first");
        shows(&log, "WARN", "[robot.ours]: first")
    });
    // It ends as soon as it has logged, perhaps before the log has discovered it.
    wait_until("its lines are shown", deadline_in(TIMEOUT), || {
        outcome(graph.rclpy(Distro::Kilted, "logger.py", "theirs", &[])).success();
        shows(&log, "FATAL", "[theirs.part]: a line of fatal")
    });
    for level in ["WARN", "ERROR"] {
        assert!(shows(&log, level, &format!("[theirs.part]: a line of {}", level.to_lowercase())));
    }
    runnel::log_info!(node, "not severe");
    runnel::log_warn!(node, "ours");
    log.wait_for_line(|line| line.ends_with("[robot.ours]: ours"), deadline_in(TIMEOUT)).unwrap();
    assert!(!log.output().contains("a line of info") && !log.output().contains("not severe"));
}

#[test]
fn levels_of_loggers_are_read_and_set() {
    let graph = Ros2Graph::new();
    let near = Spinning::new(graph.context());
    let options = NodeOptions::default().enable_logger_service(true);
    let _node = near.context.create_node_with_options("robot/ours", options).unwrap();
    let _silent = near.node("silent");
    let get = |logger: &str| graph.answer(&["log", "get", "/robot/ours", logger]);
    graph.answer(&["log", "set", "/robot/ours", "robot.ours", "warn"]);
    assert_eq!(graph.answer(&["log", "get", "/robot/ours"]), "warn\n");
    assert_eq!((get("robot.ours"), get("robot.ours.part")), ("warn\n".into(), "unset\n".into()));
    graph.answer(&["log", "set", "/robot/ours", "robot.ours.part", "debug"]);
    assert_eq!(get("robot.ours.part"), "debug\n");
    assert_eq!(graph.answer(&["log", "list", "/robot/ours"]), "robot.ours warn\n");
    let silent = graph.ran(&["log", "get", "/silent"]);
    assert!(silent.code == Some(1) && silent.error.contains("enable_logger_service"), "{}", silent.error);
}

#[test]
fn line_of_dual_node_is_shown_once() {
    let master = Master::start(Server::Rosmaster);
    let ros1 = master.graph();
    let graph = Ros2Graph::new().with_master(ros1);
    let options =
        graph.options().graphs(Graphs::Both).arguments([format!("__master:={}", ros1.master_uri())]);
    let both = Spinning::new(Context::with_options(options).unwrap());
    let node = both.node("both");
    let mut log = graph.running(&["log"]);
    let shown = |log: &Peer, text: &str| {
        log.lines().iter().filter(|line| line.ends_with(&format!(": {text}"))).count()
    };
    wait_until("the log shows a line", deadline_in(TIMEOUT), || {
        runnel::log_info!(node, "first");
        shown(&log, "first") > 0
    });
    runnel::log_info!(node, "second");
    log.wait_for_line(|line| line.ends_with(": second"), deadline_in(TIMEOUT)).unwrap();
    runnel::log_info!(node, "third");
    log.wait_for_line(|line| line.ends_with(": third"), deadline_in(TIMEOUT)).unwrap();
    assert_eq!(shown(&log, "second"), 1, "{}", log.output());
}
