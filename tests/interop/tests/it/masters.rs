//! `runnel master` in place of the original master, and Runnel's nodes at either.

use std::thread;
use std::time::{Duration, Instant};

use interop::{
    Master, Origin, Outcome, PATIENCE, Ros1Graph, Server, Side, all_hear_all, body, hear_out,
    hears_after_restarts, outcome, ready, told, wait_until,
};
use runnel_testkit::process::{Peer, Signal, deadline_in};

/// How soon a node is registered again after its master came back.
const REGISTERED_AGAIN: Duration = Duration::from_secs(5);

/// How soon Runnel's master notices that a node was killed: earlier than one that is silent.
const NOTICED: Duration = Duration::from_secs(15);

/// How often a speed is tried: others may have had the processor.
const TRIES: u32 = 3;

#[test]
fn originals_meet_at_runnels_master() {
    all_hear_all(Master::start(Server::Runnel).graph(), &Origin::OTHERS);
}

#[test]
fn runnels_nodes_meet_at_runnels_master() {
    all_hear_all(Master::start(Server::Runnel).graph(), &[Origin::Runnel]);
}

#[test]
fn nodes_of_every_kind_meet_at_runnels_master() {
    all_hear_all(Master::start(Server::Runnel).graph(), &Origin::ALL);
}

#[test]
fn a_latched_message_reaches_late_listeners_at_runnels_master() {
    let master = Master::start(Server::Runnel);
    for origin in Origin::ALL {
        let topic = format!("/{origin}");
        let mut talker = master.graph().talker(origin, &[&topic, "--latch", "--wait", "0", "--count", "1"]);
        let listeners = [Origin::Rospy, Origin::Roscpp, Origin::Runnel];
        let mut late = listeners.map(|listener| master.graph().listener(listener, &[&topic, "--count", "1"]));
        hear_out(&mut talker, &mut late, 1);
    }
}

#[test]
fn restarted_talkers_are_heard_again_at_runnels_master() {
    for (talker, listener) in [(Origin::Runnel, Origin::Rospy), (Origin::Roscpp, Origin::Runnel)] {
        hears_after_restarts(Server::Runnel, talker, listener);
    }
}

/// The same graph at each master: a latching talker, and listeners that have heard it.
fn same_graph(graph: &Ros1Graph) -> Vec<Peer> {
    let talking = ["/chatter", "--latch", "--wait", "2", "--count", "1"];
    let mut listeners =
        [Origin::Rospy, Origin::Runnel].map(|origin| ready(graph.listener(origin, &["/chatter"])));
    let talker = ready(graph.talker(Origin::Roscpp, &talking));
    listeners.iter_mut().for_each(|listener| drop(told(listener, "got", 1, deadline_in(PATIENCE))));
    listeners.into_iter().chain([talker]).collect()
}

/// What a command line comes to.
fn run(graph: &Ros1Graph, line: &str) -> Outcome {
    outcome(graph.tool("sh", &["-c", line]))
}

/// The outcome without what differs from run to run, and in an order that does not.
fn comparable(outcome: Outcome) -> Outcome {
    let Outcome { code, lines } = outcome;
    let mut lines: Vec<String> = lines.iter().map(|line| masked(line)).collect();
    lines.sort();
    Outcome { code, lines }
}

/// A line that tells of addresses, processes or times, with `#` for each number.
fn masked(line: &str) -> String {
    let tells = ["http://", "rosrpc://", "Pid: ", "direction: ", "time=", "log file"];
    if !tells.iter().any(|word| line.contains(word)) {
        return line.to_owned();
    }
    let mut text = line.replace(|letter: char| letter.is_ascii_digit(), "#");
    while text.contains("##") {
        text = text.replace("##", "#");
    }
    text
}

/// Runs the commands one after the other at both masters and compares how they end and what they print.
fn run_alike(commands: &[&str]) {
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
    run_alike(&[
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
    run_alike(&[
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
            node.wait_exit(deadline_in(PATIENCE)).unwrap();
        }
        // Runnel's master may notice by itself before rosnode does.
        let done = run(master.graph(), "echo y | rosnode cleanup");
        assert_eq!(done.code, Some(0), "{server:?}: {:#?}", done.lines);
        assert_eq!(run(master.graph(), "rosnode list").success(), ["/rospy_listener"], "{server:?}");
    }
}

#[test]
fn rosparam_finds_the_same_at_both_masters() {
    run_alike(&[
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
fn rosnode_kill_ends_a_runnel_node_and_leaves_nothing_registered() {
    for server in Server::BOTH {
        let master = Master::start(server);
        let graph = master.graph();
        let mut node = ready(graph.listener(Origin::Runnel, &["/chatter"]));
        let killed = run(graph, "rosnode kill /runnel_listener").success();
        assert!(killed.contains(&"killed".to_owned()), "{server:?}: {killed:?}");
        assert!(node.wait_exit(deadline_in(PATIENCE)).unwrap().success(), "{}", node.output());
        assert_eq!(graph.nodes_at(Side::Subscribers, "/chatter"), [""; 0], "{server:?}");
        assert_eq!(graph.uri_of("/runnel_listener"), None, "{server:?}");
    }
}

/// A newer node of the same name ends the older one, and alone is registered and heard.
fn newer_replaces_older(server: Server, older: Origin, newer: Origin) {
    let master = Master::start(server);
    let graph = master.graph();
    let mut old = ready(graph.node(older, "listener", "same", &["/chatter"]));
    let old_uri = graph.uri_of("/same").expect("the older is registered");
    let mut new = ready(graph.node(newer, "listener", "same", &["/chatter"]));
    old.wait_exit(deadline_in(PATIENCE)).unwrap();
    let new_uri = graph.uri_of("/same");
    let what = format!("{newer} after {older} at {server:?}: {new_uri:?} after {old_uri}; {}", new.output());
    assert!(new_uri.is_some_and(|uri| uri != old_uri), "{what}");
    assert_eq!(graph.nodes_at(Side::Subscribers, "/chatter"), ["/same"]);
    let mut talker = graph.talker(Origin::Runnel, &["/chatter", "--count", "3"]);
    assert_eq!(
        told(&mut new, "got", 3, deadline_in(PATIENCE)),
        told(&mut talker, "sent", 3, deadline_in(PATIENCE))
    );
}

#[test]
fn a_newer_node_of_the_same_name_replaces_a_runnel_node() {
    for server in Server::BOTH {
        newer_replaces_older(server, Origin::Runnel, Origin::Rospy);
        newer_replaces_older(server, Origin::Runnel, Origin::Runnel);
    }
}

#[test]
fn a_newer_runnel_node_replaces_another_of_the_same_name() {
    for server in Server::BOTH {
        newer_replaces_older(server, Origin::Rospy, Origin::Runnel);
    }
    // At the original master a roscpp node that is told to stop takes its name back: the first line that it logs,
    // which says that it stops, has it subscribe to a parameter.
    newer_replaces_older(Server::Runnel, Origin::Roscpp, Origin::Runnel);
    newer_replaces_older(Server::Runnel, Origin::Roscpp, Origin::Roscpp);
}

/// Asserts that what a listener has heard so far is what the talker has sent from the first message on.
fn assert_no_gap(listener: &Peer, talker: &Peer) {
    let heard = bodies(listener, "got ");
    // A talker says that it has sent a message when that may have arrived already.
    let all_are_told = || bodies(talker, "sent ").len() >= heard.len();
    wait_until("the talker tells what it has sent", deadline_in(PATIENCE), all_are_told);
    let sent = bodies(talker, "sent ");
    assert!(sent.starts_with(&heard), "{} heard {heard:#?} of {sent:#?}", listener.name());
}

fn bodies(peer: &Peer, word: &str) -> Vec<String> {
    peer.lines().iter().filter_map(|line| line.strip_prefix(word)).map(|line| body(line).to_owned()).collect()
}

/// Runnel's nodes live through the death of their master, are registered again, and no link loses a message.
fn master_is_restarted(server: Server) {
    let mut master = Master::start(server);
    let graph = master.graph();
    let mut heard = [Origin::Runnel, Origin::Rospy].map(|origin| graph.listener(origin, &["/chatter"]));
    let talker = graph.talker(Origin::Runnel, &["/chatter", "--wait", "2", "--rate", "50"]);
    let mut other = graph.node(Origin::Runnel, "listener", "other_listener", &["/other"]);
    let roscpp = graph.talker(Origin::Roscpp, &["/other", "--rate", "50"]);
    let mut hear_more = || {
        for listener in heard.iter_mut().chain([&mut other]) {
            told(listener, "got", 10, deadline_in(PATIENCE));
        }
    };
    hear_more();
    let mut until_registered = || {
        master.kill();
        hear_more();
        master.restart();
        let (graph, begun) = (master.graph(), Instant::now());
        wait_until("Runnel's nodes are registered again", deadline_in(PATIENCE), || {
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
    told(&mut ready(late), "got", 1, deadline_in(PATIENCE));
    hear_more();
    heard.iter().for_each(|listener| assert_no_gap(listener, &talker));
    assert_no_gap(&other, &roscpp);
}

#[test]
fn runnel_nodes_outlive_the_original_master_without_a_gap() {
    master_is_restarted(Server::Rosmaster);
}

#[test]
fn runnel_nodes_outlive_runnels_master_without_a_gap() {
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
        wait_until(&format!("{name} is gone"), deadline_in(PATIENCE), || {
            graph.nodes_at(Side::Subscribers, "/chatter").is_empty() && graph.uri_of(&name).is_none()
        });
        begun.elapsed()
    };
    for origin in [Origin::Roscpp, Origin::Runnel] {
        assert!((0..TRIES).any(|_| until_gone(origin) < NOTICED), "{origin} is noticed late");
    }
    assert_eq!(graph.nodes_at(Side::Publishers, "/chatter"), ["/runnel_talker"]);
}
