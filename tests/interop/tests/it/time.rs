//! Simulated time, told and heard by Runnel's and the originals' nodes; and statistics, which roscpp can be asked for.

use interop::{Master, Origin, PATIENCE, Server, outcome, ready};
use runnel_testkit::process::{Peer, Signal, deadline_in};

/// Those that follow `/clock`; `@foxglove/ros1` does not.
const ORIGINS: [Origin; 3] = [Origin::Rospy, Origin::Roscpp, Origin::Runnel];

/// Everybody hears the time that this command tells, from a second to another.
fn all_follow(server: Server, command: &str) {
    let master = Master::start(server);
    let graph = master.graph();
    outcome(graph.tool("rosparam", &["set", "/use_sim_time", "true"])).success();
    let start = |origin| graph.node(origin, "clocked", &format!("{origin}_clocked"), &[]);
    let mut clocked: Vec<Peer> = ORIGINS.into_iter().map(start).collect();
    for secs in [4711, 4712] {
        let message = format!("clock: {{secs: {secs}}}");
        let tell = ["pub", "-r", "20", "/clock", "rosgraph_msgs/Clock", &message];
        let mut teller = match command {
            "rostopic" => graph.tool("rostopic", &tell),
            _ => graph.runnel("runnel", &[&["topic"], &tell[..]].concat()),
        };
        for peer in &mut clocked {
            peer.wait_for_line(|line| line == format!("now {secs}"), deadline_in(PATIENCE)).unwrap();
        }
        teller.signal(Signal::INT).unwrap();
        teller.wait_exit(deadline_in(PATIENCE)).unwrap();
    }
}

#[test]
fn everybody_follows_the_time_that_runnel_tells() {
    all_follow(Server::Rosmaster, "runnel");
}

#[test]
fn everybody_follows_the_time_that_rostopic_tells() {
    all_follow(Server::Runnel, "rostopic");
}

#[test]
fn a_roscpp_node_with_statistics_counts_a_runnel_publisher() {
    for server in Server::BOTH {
        let master = Master::start(server);
        let graph = master.graph();
        outcome(graph.runnel("runnel", &["param", "set", "/enable_statistics", "true"])).success();
        let _listener = ready(graph.listener(Origin::Roscpp, &["/chatter"]));
        let _talker = graph.talker(Origin::Runnel, &["/chatter", "--rate", "100", "--count", "0"]);
        let mut echo = graph.runnel("runnel", &["topic", "echo", "/statistics"]);
        for line in ["topic: \"/chatter\"", "node_pub: \"/runnel_talker\"", "node_sub: \"/roscpp_listener\""]
        {
            echo.wait_for_line(|said| said == line, deadline_in(PATIENCE)).unwrap();
        }
    }
}
