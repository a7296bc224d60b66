//! Runnel's nodes answer for themselves while the program's own code does not let them: in callbacks that do not
//! return, and in programs that never spin.

use interop::{
    Master, Origin, PATIENCE, Ros1Graph, Server, Side, hear_out, outcome, ready, told, wait_until,
};
use runnel_testkit::process::{Peer, deadline_in};

/// Listeners to `/chatter` whose callbacks will never return, once all are in it. The original master tells nodes of
/// new publishers in three threads: three nodes that do not answer hold up all others.
fn blocked_listeners(graph: &Ros1Graph) -> Vec<Peer> {
    let start = |name: &String| graph.node(Origin::Runnel, "listener", name, &["/chatter", "--block"]);
    let mut listeners: Vec<Peer> = names().iter().map(start).collect();
    let mut talker = graph.talker(Origin::Roscpp, &["/chatter", "--wait", "4", "--count", "1"]);
    told(&mut talker, "sent", 1, deadline_in(PATIENCE));
    listeners.iter_mut().for_each(|listener| drop(told(listener, "got", 1, deadline_in(PATIENCE))));
    listeners
}

fn names() -> [String; 4] {
    std::array::from_fn(|number| format!("blocked_{number}"))
}

fn answers(graph: &Ros1Graph, node: &str) {
    let ping = outcome(graph.tool("rosnode", &["ping", "-c", "1", node])).success();
    assert!(ping.iter().any(|line| line.contains("xmlrpc reply")), "{ping:#?}");
    let info = outcome(graph.tool("rosnode", &["info", node])).success();
    assert!(info.iter().any(|line| line.starts_with("Pid: ")), "{info:#?}");
}

#[test]
fn nodes_blocked_in_their_callbacks_keep_nobody_waiting() {
    let master = Master::start(Server::Rosmaster);
    let graph = master.graph();
    let _blocked = blocked_listeners(graph);
    // Each of these publishers concerns the blocked nodes, so the master tells them first.
    let _others: Vec<Peer> = (0..3)
        .map(|number| {
            graph.node(Origin::Runnel, "talker", &format!("other_{number}"), &["/chatter", "--wait", "9"])
        })
        .map(ready)
        .collect();
    let mut listener = ready(graph.listener(Origin::Rospy, &["/chatter", "--count", "1"]));
    let mut talker = ready(graph.talker(Origin::Rospy, &["/chatter", "--wait", "5", "--count", "1"]));
    let sent = told(&mut talker, "sent", 1, deadline_in(PATIENCE));
    assert_eq!(told(&mut listener, "got", 1, deadline_in(PATIENCE)), sent);
    names().iter().for_each(|name| answers(graph, &format!("/{name}")));
}

#[test]
fn a_blocked_node_is_killed_as_any_other() {
    let master = Master::start(Server::Rosmaster);
    let graph = master.graph();
    let _blocked = blocked_listeners(graph);
    let killed = outcome(graph.tool("rosnode", &["kill", "/blocked_0"])).success();
    assert!(killed.contains(&"killed".to_owned()), "{killed:#?}");
    wait_until("the node is unregistered", deadline_in(PATIENCE), || {
        graph.nodes_at(Side::Subscribers, "/chatter").len() == 3
    });
}

#[test]
fn a_publisher_that_never_spins_serves_its_subscribers() {
    let master = Master::start(Server::Rosmaster);
    let graph = master.graph();
    let talking = ["/chatter", "--never-spin", "--wait", "4", "--count", "5", "--rate", "10"];
    let mut talker = ready(graph.talker(Origin::Runnel, &talking));
    let mut listeners = Origin::ALL.map(|origin| graph.listener(origin, &["/chatter", "--count", "5"]));
    hear_out(&mut talker, &mut listeners, 5);
    answers(graph, "/runnel_talker");
}

#[test]
fn a_latching_publisher_that_never_spins_serves_who_comes_late() {
    let master = Master::start(Server::Rosmaster);
    let graph = master.graph();
    let talking = ["/chatter", "--never-spin", "--latch", "--wait", "0", "--count", "1"];
    let mut talker = graph.talker(Origin::Runnel, &talking);
    let sent = told(&mut talker, "sent", 1, deadline_in(PATIENCE));
    talker.wait_for_line(|line| line == "done", deadline_in(PATIENCE)).unwrap();
    for mut listener in Origin::ALL.map(|origin| graph.listener(origin, &["/chatter", "--count", "1"])) {
        assert_eq!(told(&mut listener, "got", 1, deadline_in(PATIENCE)), sent, "{}", listener.name());
    }
}
