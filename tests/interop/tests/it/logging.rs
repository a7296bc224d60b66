//! What nodes of Runnel's and of the originals log, gathered and looked at with the commands of both.

use std::fs;
use std::process::{Command, Stdio};

use interop::{Master, Origin, PATIENCE, Ros1Graph, Server, outcome, ready, wait_until};
use runnel_testkit::process::{Peer, deadline_in};

/// Those that log; `@foxglove/ros1` does not.
const ORIGINS: [Origin; 3] = [Origin::Rospy, Origin::Roscpp, Origin::Runnel];

fn loggers(graph: &Ros1Graph) -> Vec<Peer> {
    ORIGINS.map(|origin| ready(graph.node(origin, "logger", &format!("{origin}_logger"), &[]))).into()
}

/// `runnel master`, which gathers.
fn gathering_master() -> (Peer, Ros1Graph) {
    let port = runnel_testkit::process::free_port();
    let graph = Ros1Graph::at(format!("http://127.0.0.1:{port}"));
    let mut master = graph.runnel("runnel", &["master", "--port", &port.to_string()]);
    master.wait_for_line(|line| line.starts_with("ROS_MASTER_URI="), deadline_in(PATIENCE)).unwrap();
    (master, graph)
}

/// Waits for such a line of a command.
fn said(peer: &mut Peer, text: &str) -> String {
    peer.wait_for_line(|line| line.contains(text), deadline_in(PATIENCE)).unwrap()
}

#[test]
fn every_nodes_lines_are_gathered_and_followed() {
    let (_master, graph) = gathering_master();
    let _loggers = loggers(&graph);
    for origin in ORIGINS {
        let node = format!("/{origin}_logger");
        let mut log = graph.runnel("runnel", &["log", "--node", &node, "--level", "warn", "-n", "3"]);
        let line = said(&mut log, "warns");
        assert!(
            line.starts_with("[WARN] [1") && line.ends_with(&format!("[{node}]: {node} warns")),
            "{line}"
        );
        assert!(log.wait_exit(deadline_in(PATIENCE)).unwrap().success());
    }
    let subscribers = graph.nodes_at(interop::Side::Subscribers, "/rosout");
    assert_eq!(subscribers, ["/rosout"], "the command listened where lines are gathered");
    let file = graph.home().join("rosout.log");
    for origin in ORIGINS {
        let text = format!(" WARN /{origin}_logger [");
        wait_until("the line in rosout.log", deadline_in(PATIENCE), || {
            fs::read_to_string(&file).is_ok_and(|log| log.contains(&text))
        });
    }
}

#[test]
fn without_a_gatherer_each_node_is_followed() {
    let master = Master::start(Server::Rosmaster);
    let _loggers = loggers(master.graph());
    let mut log = master.graph().runnel("runnel", &["log"]);
    for origin in ORIGINS {
        said(&mut log, &format!("[/{origin}_logger]: /{origin}_logger warns"));
    }
}

#[test]
fn levels_are_set_in_every_node() {
    let master = Master::start(Server::Rosmaster);
    let graph = master.graph();
    let mut loggers = loggers(graph);
    let mut log = graph.runnel("runnel", &["log", "--grep", "details"]);
    for (origin, logger) in [(Origin::Rospy, "rosout"), (Origin::Runnel, "ros")] {
        let node = format!("/{origin}_logger");
        let get = || outcome(graph.runnel("runnel", &["log", "get", &node, logger])).success().join("");
        assert_eq!(get().to_lowercase(), "info", "{origin}");
        outcome(graph.runnel("runnel", &["log", "set", &node, logger, "debug"])).success();
        assert_eq!(get().to_lowercase(), "debug", "{origin}");
        said(&mut log, &format!("{node} details"));
    }
    let unknown = outcome(graph.runnel("runnel", &["log", "get", "/runnel_logger", "ros.nothing"]));
    assert_eq!(unknown.code, Some(1), "{:#?}", unknown.lines);
    // Debian's roscpp takes a level and logs as before, and does not live to answer a second call.
    outcome(graph.runnel("runnel", &["log", "set", "/roscpp_logger", "ros", "debug"])).success();
    loggers[1] = ready(graph.node(Origin::Roscpp, "logger", "roscpp_logger", &[]));
    let listed = outcome(graph.runnel("runnel", &["log", "list", "/roscpp_logger"])).success();
    assert!(listed.contains(&"ros info".to_owned()), "{listed:#?}");
}

#[test]
fn the_originals_see_and_set_what_a_runnel_node_logs() {
    let master = Master::start(Server::Rosmaster);
    let graph = master.graph();
    let _logger = ready(graph.node(Origin::Runnel, "logger", "runnel_logger", &[]));
    let ask = |words: &[&str]| outcome(graph.tool("rosservice", words)).success();
    assert_eq!(
        ask(&["call", "/runnel_logger/get_loggers"])[1..4],
        ["  - ", "    name: \"ros\"", "    level: \"info\""]
    );
    ask(&["call", "/runnel_logger/set_logger_level", "{logger: ros, level: debug}"]);
    let mut echo = graph.tool("rostopic", &["echo", "/rosout"]);
    for line in ["name: \"/runnel_logger\"", "msg: \"/runnel_logger details\"", "function: \"runnel_logger\""]
    {
        said(&mut echo, line);
    }
    said(&mut echo, "- /rosout");
    let info = outcome(graph.tool("rosnode", &["info", "/runnel_logger"])).success();
    for line in [
        " * /rosout [rosgraph_msgs/Log]",
        " * /runnel_logger/get_loggers",
        " * /runnel_logger/set_logger_level",
    ] {
        assert!(info.contains(&line.to_owned()), "{line} in {info:#?}");
    }
}

#[test]
fn lines_are_kept_in_the_log_folder() {
    let master = Master::start(Server::Rosmaster);
    let graph = master.graph();
    let mut logger = graph.node(Origin::Runnel, "logger", "runnel_logger", &["2"]);
    assert!(logger.wait_exit(deadline_in(PATIENCE)).unwrap().success());
    let files = fs::read_dir(graph.home()).unwrap().map(|file| file.unwrap());
    let is_log = |name: &str| name.starts_with("runnel_logger-") && name.ends_with(".log");
    let log = files.into_iter().find(|file| is_log(&file.file_name().to_string_lossy())).expect("a log");
    let text = fs::read_to_string(log.path()).unwrap();
    let texts: Vec<&str> = text.lines().map(|line| line.split_once("]: ").unwrap().1).collect();
    assert_eq!(texts, ["line 0 of many", "line 1 of many"]);
}

#[test]
fn a_console_that_nobody_reads_costs_lines_and_no_time() {
    const LINES: usize = 20_000;
    let master = Master::start(Server::Rosmaster);
    let mut logger = Command::new(interop::built("runnel_logger"))
        .env("ROS_MASTER_URI", master.graph().master_uri())
        .env_remove("ROS_LOG_DIR")
        .arg(LINES.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Nobody reads standard error until the program has ended.
    let unread = logger.stderr.take().unwrap();
    let said = std::io::read_to_string(logger.stdout.take().unwrap()).unwrap();
    assert!(logger.wait().unwrap().success());
    let dropped: usize =
        said.lines().find_map(|line| line.strip_prefix("dropped ")).unwrap().parse().unwrap();
    let read = std::io::read_to_string(unread).unwrap();
    assert!(dropped > LINES / 2, "{dropped}");
    assert_eq!(read.lines().filter(|line| line.ends_with("of many")).count(), LINES - dropped);
}
