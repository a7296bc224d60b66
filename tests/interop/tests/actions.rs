//! Actions of Runnel's and of actionlib in Python and C++, used by each other.

use interop::{Master, Origin, PATIENCE, Ros1Graph, Server, ready};
use runnel_testkit::process::{Peer, within};

const ACTION: &str = "/test";

/// Those that have actions; `@foxglove/ros1` has none.
const ORIGINS: [Origin; 3] = [Origin::Rospy, Origin::Roscpp, Origin::Runnel];

/// How the goals of the full client end.
const SEVERAL: [&str; 7] = [
    "goal 1 SUCCEEDED 1 reached",
    "goal 2 ABORTED 2 no way",
    "goal 3 REJECTED 3 too much",
    "feedback 4 7",
    "goal 4 PREEMPTED 4 as you wish",
    "goal 5 RECALLED 5 as you wish",
    "done",
];

/// How those of the simple client end, and two more that it sends with `--preempt`.
const ONE_BY_ONE: [&str; 8] = [
    "goal 1 SUCCEEDED 1 reached",
    "goal 2 ABORTED 2 no way",
    "feedback 4 7",
    "goal 4 PREEMPTED 4 as you wish",
    "feedback 4 7",
    "goal 4 PREEMPTED 4 as you wish",
    "goal 1 SUCCEEDED 1 reached",
    "done",
];

fn server(graph: &Ros1Graph, origin: Origin, role: &str) -> Peer {
    ready(graph.node(origin, role, &format!("{origin}_{role}"), &[ACTION]))
}

/// A client hears what is expected, and neither it nor the server has anything to complain of.
fn client_hears(graph: &Ros1Graph, server: &Peer, client: (Origin, &str, &[&str]), expected: &[&str]) {
    let (origin, role, more) = client;
    let name = format!("{origin}_{role}");
    let mut client = graph.node(origin, role, &name, &[&[ACTION], more].concat());
    let status = client.wait_exit(within(2 * PATIENCE));
    let said = format!("{name} of {}:\n{}\n{}", server.name(), client.output(), server.output());
    assert!(status.unwrap_or_else(|error| panic!("{error}\n{said}")).success(), "{said}");
    assert_eq!(client.lines(), expected, "{said}");
    for complaint in ["ERROR", "WARN", "FATAL", "Traceback"] {
        assert!(!said.contains(complaint), "{said}");
    }
}

fn all_use_a_full_server(origin: Origin, master: Server) {
    let master = Master::start(master);
    let server = server(master.graph(), origin, "action_server");
    for client in ORIGINS {
        client_hears(master.graph(), &server, (client, "action_client", &[]), &SEVERAL);
        let alone = [&ONE_BY_ONE[..4], &["done"]].concat();
        client_hears(master.graph(), &server, (client, "simple_action_client", &[]), &alone);
    }
}

fn all_use_a_simple_server(origin: Origin, master: Server) {
    let master = Master::start(master);
    let server = server(master.graph(), origin, "simple_action_server");
    for client in ORIGINS {
        let client = (client, "simple_action_client", ["--preempt"].as_slice());
        client_hears(master.graph(), &server, client, &ONE_BY_ONE);
    }
}

#[test]
fn everybody_uses_a_full_server_of_runnels() {
    all_use_a_full_server(Origin::Runnel, Server::Rosmaster);
}

#[test]
fn everybody_uses_a_full_server_of_actionlibs_in_python() {
    all_use_a_full_server(Origin::Rospy, Server::Runnel);
}

#[test]
fn everybody_uses_a_full_server_of_actionlibs_in_cpp() {
    all_use_a_full_server(Origin::Roscpp, Server::Rosmaster);
}

#[test]
fn everybody_uses_a_simple_server_of_runnels() {
    all_use_a_simple_server(Origin::Runnel, Server::Runnel);
}

#[test]
fn everybody_uses_a_simple_server_of_actionlibs_in_python() {
    all_use_a_simple_server(Origin::Rospy, Server::Rosmaster);
}

#[test]
fn everybody_uses_a_simple_server_of_actionlibs_in_cpp() {
    all_use_a_simple_server(Origin::Roscpp, Server::Runnel);
}
