//! Runnel's nodes answer requests while user code blocks: in callbacks that do not return, and in programs that never
//! spin.

use interop::{
    Master, Origin, Ros1Graph, Server, Side, TIMEOUT, check_all_received, next_messages, outcome, ready,
    wait_until,
};
use runnel_testkit::process::{Peer, deadline_in};

/// Listeners of `/chatter` whose callbacks block for ever, once all are blocked. The original master notifies nodes
/// of new publishers in three threads: three nodes that do not answer delay all others.
fn blocked_listeners(graph: &Ros1Graph) -> Vec<Peer> {
    let start = |name: &String| graph.node(Origin::Runnel, "listener", name, &["/chatter", "--block"]);
    let mut listeners: Vec<Peer> = names().iter().map(start).collect();
    let mut talker = graph.talker(Origin::Roscpp, &["/chatter", "--wait", "4", "--count", "1"]);
    next_messages(&mut talker, "sent", 1, deadline_in(TIMEOUT));
    listeners.iter_mut().for_each(|listener| drop(next_messages(listener, "got", 1, deadline_in(TIMEOUT))));
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
fn blocked_callbacks_do_not_delay_other_nodes() {
    let master = Master::start(Server::Rosmaster);
    let graph = master.graph();
    let _blocked = blocked_listeners(graph);
    // Each of these publishers concerns the blocked nodes, so the master notifies them first.
    let _others: Vec<Peer> = (0..3)
        .map(|number| {
            graph.node(Origin::Runnel, "talker", &format!("other_{number}"), &["/chatter", "--wait", "9"])
        })
        .map(ready)
        .collect();
    let mut listener = ready(graph.listener(Origin::Rospy, &["/chatter", "--count", "1"]));
    let mut talker = ready(graph.talker(Origin::Rospy, &["/chatter", "--wait", "5", "--count", "1"]));
    let sent = next_messages(&mut talker, "sent", 1, deadline_in(TIMEOUT));
    assert_eq!(next_messages(&mut listener, "got", 1, deadline_in(TIMEOUT)), sent);
    names().iter().for_each(|name| answers(graph, &format!("/{name}")));
}

#[test]
fn blocked_node_can_be_killed() {
    let master = Master::start(Server::Rosmaster);
    let graph = master.graph();
    let _blocked = blocked_listeners(graph);
    let killed = outcome(graph.tool("rosnode", &["kill", "/blocked_0"])).success();
    assert!(killed.contains(&"killed".to_owned()), "{killed:#?}");
    wait_until("the node is unregistered", deadline_in(TIMEOUT), || {
        graph.nodes_at(Side::Subscribers, "/chatter").len() == 3
    });
}

#[test]
fn publisher_serves_subscribers_without_spinning() {
    let master = Master::start(Server::Rosmaster);
    let graph = master.graph();
    let talking = ["/chatter", "--never-spin", "--wait", "4", "--count", "5", "--rate", "10"];
    let mut talker = ready(graph.talker(Origin::Runnel, &talking));
    let mut listeners = Origin::ALL.map(|origin| graph.listener(origin, &["/chatter", "--count", "5"]));
    check_all_received(&mut talker, &mut listeners, 5);
    answers(graph, "/runnel_talker");
}

#[test]
fn latching_publisher_serves_late_joiner_without_spinning() {
    let master = Master::start(Server::Rosmaster);
    let graph = master.graph();
    let talking = ["/chatter", "--never-spin", "--latch", "--wait", "0", "--count", "1"];
    let mut talker = graph.talker(Origin::Runnel, &talking);
    let sent = next_messages(&mut talker, "sent", 1, deadline_in(TIMEOUT));
    talker.wait_for_line(|line| line == "done", deadline_in(TIMEOUT)).unwrap();
    for mut listener in Origin::ALL.map(|origin| graph.listener(origin, &["/chatter", "--count", "1"])) {
        assert_eq!(next_messages(&mut listener, "got", 1, deadline_in(TIMEOUT)), sent, "{}", listener.name());
    }
}
