//! Simulated time, published and followed by Runnel and original nodes; and topic statistics of roscpp.

use interop::{Master, Origin, Server, TIMEOUT, outcome, ready, rosparam_set};
use runnel_testkit::process::{Peer, Signal, deadline_in};

/// Implementations that follow `/clock`; `@foxglove/ros1` does not.
const ORIGINS: [Origin; 3] = [Origin::Rospy, Origin::Roscpp, Origin::Runnel];

/// Checks that all nodes follow the time that this command publishes, from one second to another.
fn check_clock(server: Server, command: &str) {
    let master = Master::start(server);
    let graph = master.graph();
    rosparam_set(graph, "/use_sim_time", "true");
    let start = |origin| graph.node(origin, "clocked", &format!("{origin}_clocked"), &[]);
    let mut clocked: Vec<Peer> = ORIGINS.into_iter().map(start).collect();
    for secs in [4711, 4712] {
        let message = format!("clock: {{secs: {secs}}}");
        let publish = ["pub", "-r", "20", "/clock", "rosgraph_msgs/Clock", &message];
        let mut publisher = match command {
            "rostopic" => graph.tool("rostopic", &publish),
            _ => graph.runnel("runnel", &[&["topic"], &publish[..]].concat()),
        };
        for peer in &mut clocked {
            peer.wait_for_line(|line| line == format!("now {secs}"), deadline_in(TIMEOUT)).unwrap();
        }
        publisher.signal(Signal::INT).unwrap();
        publisher.wait_exit(deadline_in(TIMEOUT)).unwrap();
    }
}

#[test]
fn all_nodes_follow_clock_published_by_runnel() {
    check_clock(Server::Rosmaster, "runnel");
}

#[test]
fn all_nodes_follow_clock_published_by_rostopic() {
    check_clock(Server::Runnel, "rostopic");
}

#[test]
fn roscpp_statistics_count_runnel_publisher() {
    for server in Server::BOTH {
        let master = Master::start(server);
        let graph = master.graph();
        outcome(graph.runnel("runnel", &["param", "set", "/enable_statistics", "true"])).success();
        let _listener = ready(graph.listener(Origin::Roscpp, &["/chatter"]));
        let _talker = graph.talker(Origin::Runnel, &["/chatter", "--rate", "100", "--count", "0"]);
        let mut echo = graph.runnel("runnel", &["topic", "echo", "/statistics"]);
        for line in ["topic: \"/chatter\"", "node_pub: \"/runnel_talker\"", "node_sub: \"/roscpp_listener\""]
        {
            echo.wait_for_line(|printed| printed == line, deadline_in(TIMEOUT)).unwrap();
        }
    }
}
