//! `runnel master` as a replacement of the original master, and Runnel's nodes at both.

use std::thread;
use std::time::{Duration, Instant};

use interop::{
    Master, Origin, Outcome, Ros1Graph, Server, Side, TIMEOUT, body, check_all_pairs, check_all_received,
    check_received_after_restarts, next_messages, outcome, ready, wait_until,
};
use runnel_testkit::process::{Peer, Signal, deadline_in};

/// Time limit for a node's registration after its master's restart.
const REGISTERED_AGAIN: Duration = Duration::from_secs(5);

/// Time limit for Runnel's master to notice a killed node; a silent node takes longer.
const NOTICED: Duration = Duration::from_secs(15);

/// Attempts of a timed check: the machine may be busy.
const TRIES: u32 = 3;

#[test]
fn originals_communicate_at_runnel_master() {
    check_all_pairs(Master::start(Server::Runnel).graph(), &Origin::OTHERS);
}

#[test]
fn runnel_nodes_communicate_at_runnel_master() {
    check_all_pairs(Master::start(Server::Runnel).graph(), &[Origin::Runnel]);
}

#[test]
fn mixed_nodes_communicate_at_runnel_master() {
    check_all_pairs(Master::start(Server::Runnel).graph(), &Origin::ALL);
}

#[test]
fn latched_message_reaches_late_joiners_at_runnel_master() {
    let master = Master::start(Server::Runnel);
    for origin in Origin::ALL {
        let topic = format!("/{origin}");
        let mut talker = master.graph().talker(origin, &[&topic, "--latch", "--wait", "0", "--count", "1"]);
        let listeners = [Origin::Rospy, Origin::Roscpp, Origin::Runnel];
        let mut late = listeners.map(|listener| master.graph().listener(listener, &[&topic, "--count", "1"]));
        check_all_received(&mut talker, &mut late, 1);
    }
}

#[test]
fn restarted_talkers_are_received_at_runnel_master() {
    for (talker, listener) in [(Origin::Runnel, Origin::Rospy), (Origin::Roscpp, Origin::Runnel)] {
        check_received_after_restarts(Server::Runnel, talker, listener);
    }
}

/// Creates the same graph at each master: a latching talker, and listeners that have received its message.
fn same_graph(graph: &Ros1Graph) -> Vec<Peer> {
    let talking = ["/chatter", "--latch", "--wait", "2", "--count", "1"];
    let mut listeners =
        [Origin::Rospy, Origin::Runnel].map(|origin| ready(graph.listener(origin, &["/chatter"])));
    let talker = ready(graph.talker(Origin::Roscpp, &talking));
    listeners.iter_mut().for_each(|listener| drop(next_messages(listener, "got", 1, deadline_in(TIMEOUT))));
    listeners.into_iter().chain([talker]).collect()
}

/// Outcome of a command line.
fn run(graph: &Ros1Graph, line: &str) -> Outcome {
    outcome(graph.tool("sh", &["-c", line]))
}

/// The outcome in a fixed order, without what differs between runs.
fn comparable(outcome: Outcome) -> Outcome {
    let Outcome { code, lines } = outcome;
    let mut lines: Vec<String> = lines.iter().map(|line| masked(line)).collect();
    lines.sort();
    Outcome { code, lines }
}

/// A line with `#` for each number if it contains addresses, processes or times.
fn masked(line: &str) -> String {
    let variable = ["http://", "rosrpc://", "Pid: ", "direction: ", "time=", "log file"];
    if !variable.iter().any(|word| line.contains(word)) {
        return line.to_owned();
    }
    let mut text = line.replace(|letter: char| letter.is_ascii_digit(), "#");
    while text.contains("##") {
        text = text.replace("##", "#");
    }
    text
}

/// Runs the commands in sequence at both masters, and compares exit codes and output.
fn check_same_output(commands: &[&str]) {
    let masters = Server::BOTH.map(Master::start);
    let graphs = thread::scope(|scope| {
        let started = masters.each_ref().map(|master| scope.spawn(|| same_graph(master.graph())));
        started.map(|graph| graph.join().unwrap())
    });
    for line in commands {
        let [original, ours] = thread::scope(|scope| {
            let begun = masters.each_ref().map(|master| scope.spawn(|| run(master.graph(), line)));
            begun.map(|running| comparable(running.join().unwrap()))
        });
        assert_eq!(ours, original, "{line}: ours is left, the original right");
    }
    drop(graphs);
}

#[test]
fn rostopic_finds_the_same_at_both_masters() {
    check_same_output(&[
        "rostopic list",
        "rostopic list -v",
        "rostopic list /none",
        "rostopic info /chatter",
        "rostopic info /none",
        "rostopic type /chatter",
        "rostopic type /none",
        "rostopic find std_msgs/String",
        "rostopic find std_msgs/Int8",
        "rostopic echo -n 1 /chatter",
        "rostopic pub -1 /chatter std_msgs/String hello",
    ]);
}

#[test]
fn rosnode_finds_the_same_at_both_masters() {
    check_same_output(&[
        "rosnode list",
        "rosnode list -a",
        "rosnode list -u",
        "rosnode info /roscpp_talker",
        "rosnode info /rospy_listener",
        "rosnode info /runnel_listener",
        "rosnode info /nobody",
        "rosnode ping -c 1 /runnel_listener",
        "rosnode ping -c 1 /nobody",
        "rosnode machine",
        "rosnode cleanup",
        "rosservice list",
        "rosservice info /roscpp_talker/get_loggers",
        "rosservice find roscpp/GetLoggers",
        "rosnode kill /rospy_listener",
        "rosnode kill /nobody",
        // Nodes unregister after they have answered.
        "timeout 30 sh -c 'while rosnode list | grep rospy; do :; done' >/dev/null",
        "rosnode list",
        "rosnode kill -a",
        "timeout 30 sh -c 'while rosnode list | grep /; do :; done' >/dev/null",
        "rosnode list",
        "rosservice list",
        "rostopic list",
    ]);
}

#[test]
fn rosnode_cleans_up_after_killed_nodes_at_both_masters() {
    for server in Server::BOTH {
        let master = Master::start(server);
        let mut nodes = same_graph(master.graph());
        for node in &mut nodes[1..] {
            node.signal(Signal::KILL).unwrap();
            node.wait_exit(deadline_in(TIMEOUT)).unwrap();
        }
        // Runnel's master may notice by itself before rosnode does.
        let done = run(master.graph(), "echo y | rosnode cleanup");
        assert_eq!(done.code, Some(0), "{server:?}: {:#?}", done.lines);
        assert_eq!(run(master.graph(), "rosnode list").success(), ["/rospy_listener"], "{server:?}");
    }
}

#[test]
fn rosparam_finds_the_same_at_both_masters() {
    check_same_output(&[
        "rosparam list",
        "rosparam set /a/b 5",
        "rosparam set /a/text '\"5\"'",
        "rosparam set /tree '{x: 1.5, y: [a, 2, true, [1]], z: {deep: \"two  words\"}, \"no\": -0.0}'",
        "rosparam list",
        "rosparam list /tree",
        "rosparam get /a/b",
        "rosparam get /a",
        "rosparam get /tree/y",
        "rosparam get -p /tree",
        "rosparam get /none",
        "rosparam dump",
        "rosparam dump - /tree",
        "rosparam delete /tree/z/deep",
        "rosparam delete /none",
        "rosparam delete /a",
        "rosparam get /",
        "rosparam delete -v /tree",
        "rosparam list",
        "printf 'p: {q: 7, r: !!binary AAECAw==}' | rosparam load - /loaded",
        "rosparam get /loaded",
    ]);
}

#[test]
fn rosnode_kill_ends_and_unregisters_runnel_node() {
    for server in Server::BOTH {
        let master = Master::start(server);
        let graph = master.graph();
        let mut node = ready(graph.listener(Origin::Runnel, &["/chatter"]));
        let killed = run(graph, "rosnode kill /runnel_listener").success();
        assert!(killed.contains(&"killed".to_owned()), "{server:?}: {killed:?}");
        assert!(node.wait_exit(deadline_in(TIMEOUT)).unwrap().success(), "{}", node.output());
        assert_eq!(graph.nodes_at(Side::Subscribers, "/chatter"), [""; 0], "{server:?}");
        assert_eq!(graph.uri_of("/runnel_listener"), None, "{server:?}");
    }
}

/// Checks that a newer node of the same name ends the older one, and that only the newer is registered and receives.
fn newer_replaces_older(server: Server, older: Origin, newer: Origin) {
    let master = Master::start(server);
    let graph = master.graph();
    let mut old = ready(graph.node(older, "listener", "same", &["/chatter"]));
    let old_uri = graph.uri_of("/same").expect("the older is registered");
    let mut new = ready(graph.node(newer, "listener", "same", &["/chatter"]));
    old.wait_exit(deadline_in(TIMEOUT)).unwrap();
    let new_uri = graph.uri_of("/same");
    let what = format!("{newer} after {older} at {server:?}: {new_uri:?} after {old_uri}; {}", new.output());
    assert!(new_uri.is_some_and(|uri| uri != old_uri), "{what}");
    assert_eq!(graph.nodes_at(Side::Subscribers, "/chatter"), ["/same"], "{what}");
    let mut talker = graph.talker(Origin::Runnel, &["/chatter", "--count", "3"]);
    assert_eq!(
        next_messages(&mut new, "got", 3, deadline_in(TIMEOUT)),
        next_messages(&mut talker, "sent", 3, deadline_in(TIMEOUT))
    );
}

#[test]
fn newer_node_replaces_runnel_node() {
    for server in Server::BOTH {
        newer_replaces_older(server, Origin::Runnel, Origin::Rospy);
        newer_replaces_older(server, Origin::Runnel, Origin::Runnel);
    }
}

#[test]
fn newer_runnel_node_replaces_older_node() {
    for server in Server::BOTH {
        newer_replaces_older(server, Origin::Rospy, Origin::Runnel);
    }
    // At the original master a roscpp node that is shut down takes its name back: its first log line, about the
    // shutdown, makes it subscribe to a parameter.
    newer_replaces_older(Server::Runnel, Origin::Roscpp, Origin::Runnel);
    newer_replaces_older(Server::Runnel, Origin::Roscpp, Origin::Roscpp);
}

/// Checks that a listener has received a prefix of what the talker has sent.
fn assert_no_gap(listener: &Peer, talker: &Peer) {
    let received = bodies(listener, "got ");
    // A talker prints a message after sending it, so it may have arrived already.
    let all_are_printed = || bodies(talker, "sent ").len() >= received.len();
    wait_until("the talker prints what it has sent", deadline_in(TIMEOUT), all_are_printed);
    let sent = bodies(talker, "sent ");
    assert!(sent.starts_with(&received), "{} received {received:#?} of {sent:#?}", listener.name());
}

fn bodies(peer: &Peer, word: &str) -> Vec<String> {
    peer.lines().iter().filter_map(|line| line.strip_prefix(word)).map(|line| body(line).to_owned()).collect()
}

/// Checks that Runnel's nodes outlive their master, register again, and that no link loses a message.
fn master_is_restarted(server: Server) {
    let mut master = Master::start(server);
    let graph = master.graph();
    let mut received = [Origin::Runnel, Origin::Rospy].map(|origin| graph.listener(origin, &["/chatter"]));
    let talker = graph.talker(Origin::Runnel, &["/chatter", "--wait", "2", "--rate", "50"]);
    let mut other = graph.node(Origin::Runnel, "listener", "other_listener", &["/other"]);
    let roscpp = graph.talker(Origin::Roscpp, &["/other", "--rate", "50"]);
    let mut hear_more = || {
        for listener in received.iter_mut().chain([&mut other]) {
            next_messages(listener, "got", 10, deadline_in(TIMEOUT));
        }
    };
    hear_more();
    let mut until_registered = || {
        master.kill();
        hear_more();
        master.restart();
        let (graph, begun) = (master.graph(), Instant::now());
        wait_until("Runnel's nodes are registered again", deadline_in(TIMEOUT), || {
            graph.nodes_at(Side::Publishers, "/chatter") == ["/runnel_talker"]
                && graph.nodes_at(Side::Subscribers, "/chatter") == ["/runnel_listener"]
                && graph.nodes_at(Side::Subscribers, "/other") == ["/other_listener"]
        });
        let took = begun.elapsed();
        hear_more();
        took
    };
    assert!((0..TRIES).any(|_| until_registered() < REGISTERED_AGAIN), "registered late");
    let graph = master.graph();
    let late = graph.node(Origin::Runnel, "listener", "late_listener", &["/chatter"]);
    next_messages(&mut ready(late), "got", 1, deadline_in(TIMEOUT));
    hear_more();
    received.iter().for_each(|listener| assert_no_gap(listener, &talker));
    assert_no_gap(&other, &roscpp);
}

#[test]
fn runnel_nodes_outlive_original_master() {
    master_is_restarted(Server::Rosmaster);
}

#[test]
fn runnel_nodes_outlive_runnel_master() {
    master_is_restarted(Server::Runnel);
}

#[test]
fn runnels_master_notices_nodes_that_were_killed() {
    let master = Master::start(Server::Runnel);
    let graph = master.graph();
    let _stays = ready(graph.talker(Origin::Runnel, &["/chatter", "--wait", "9"]));
    let until_gone = |origin| {
        let node = ready(graph.listener(origin, &["/chatter"]));
        let name = format!("/{origin}_listener");
        assert_eq!(graph.nodes_at(Side::Subscribers, "/chatter"), [name.as_str()]);
        let begun = Instant::now();
        node.signal(Signal::KILL).unwrap();
        wait_until(&format!("{name} is gone"), deadline_in(TIMEOUT), || {
            graph.nodes_at(Side::Subscribers, "/chatter").is_empty() && graph.uri_of(&name).is_none()
        });
        begun.elapsed()
    };
    for origin in [Origin::Roscpp, Origin::Runnel] {
        assert!((0..TRIES).any(|_| until_gone(origin) < NOTICED), "{origin} is noticed late");
    }
    assert_eq!(graph.nodes_at(Side::Publishers, "/chatter"), ["/runnel_talker"]);
}
