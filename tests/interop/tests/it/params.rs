//! Parameters of Runnel's commands and nodes beside the original `rosparam`, at both masters.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use interop::{Master, Origin, PATIENCE, Ros1Graph, Server, outcome, ready, wait_until};
use runnel::{Context, ContextOptions, ParameterValue};
use runnel_testkit::process::{Signal, deadline_in, free_port};

fn runnel(graph: &Ros1Graph, words: &[&str]) -> Vec<String> {
    outcome(graph.runnel("runnel", &[&["param"], words].concat())).success()
}

fn rosparam(graph: &Ros1Graph, words: &[&str]) -> Vec<String> {
    let lines = outcome(graph.tool("rosparam", words)).success();
    lines.into_iter().filter(|line| !line.is_empty()).collect()
}

/// What there is for the tests: every kind of value that both write alike.
const TREE: &str =
    "{robot: {name: adam, speed: 0.5, wheels: 2, armed: false, sizes: [1, 2, 3], arm: {left: up}}}";

#[test]
fn what_one_command_sets_the_other_gets() {
    for server in Server::BOTH {
        let master = Master::start(server);
        let graph = master.graph();
        runnel(graph, &["set", "/", TREE]);
        for words in [
            vec!["list"],
            vec!["list", "/robot/arm"],
            vec!["get", "/robot"],
            vec!["get", "/robot/name"],
            vec!["get", "/robot/speed"],
            vec!["get", "/robot/armed"],
            vec!["get", "/robot/sizes"],
        ] {
            let [mut ours, mut theirs] = [runnel(graph, &words), rosparam(graph, &words)];
            if words[0] == "list" {
                ours.sort();
                theirs.sort();
            }
            assert_eq!(ours, theirs, "{server:?}: {words:?}");
        }
        rosparam(graph, &["set", "/robot/speed", "1.5"]);
        assert_eq!(runnel(graph, &["get", "/robot/speed"]), ["1.5"]);
        runnel(graph, &["delete", "/robot/arm", "/robot/sizes"]);
        assert!(
            !rosparam(graph, &["list"]).iter().any(|name| name.contains("arm/") || name.contains("sizes"))
        );
        let gone = outcome(graph.runnel("runnel", &["param", "get", "/robot/arm/left"]));
        assert_eq!(gone.code, Some(1));
        assert!(gone.lines[0].contains("/robot/arm/left is not set"), "{:#?}", gone.lines);
    }
}

#[test]
fn what_one_command_dumps_the_other_loads() {
    let master = Master::start(Server::Rosmaster);
    let graph = master.graph();
    runnel(graph, &["set", "/", TREE]);
    let file = |name: &str| graph.home().join(name).to_str().unwrap().to_owned();
    let (ours, theirs) = (file("ours.yaml"), file("theirs.yaml"));
    runnel(graph, &["dump", &ours, "/robot"]);
    rosparam(graph, &["dump", &theirs, "/robot"]);
    rosparam(graph, &["load", &ours, "/by_rosparam"]);
    runnel(graph, &["load", &theirs, "/by_runnel"]);
    let whole = rosparam(graph, &["get", "/robot"]);
    assert_eq!(rosparam(graph, &["get", "/by_rosparam"]), whole);
    assert_eq!(rosparam(graph, &["get", "/by_runnel"]), whole);
    // Loading sets what the file holds, and leaves the rest alone.
    rosparam(graph, &["set", "/by_runnel/more", "1"]);
    runnel(graph, &["load", &theirs, "/by_runnel"]);
    assert_eq!(rosparam(graph, &["get", "/by_runnel/more"]), ["1"]);
}

#[test]
fn private_parameters_of_arguments_are_seen_by_all() {
    for server in Server::BOTH {
        let master = Master::start(server);
        let graph = master.graph();
        let arguments = ["/chatter", "--wait", "0", "--count", "1", "_gain:=0.5", "_label:=left"];
        let _talker = ready(graph.talker(Origin::Runnel, &arguments));
        assert_eq!(rosparam(graph, &["get", "/runnel_talker/gain"]), ["0.5"]);
        assert_eq!(rosparam(graph, &["get", "/runnel_talker/label"]), ["left"]);
    }
}

#[test]
fn changes_by_the_originals_are_heard() {
    for server in Server::BOTH {
        let master = Master::start(server);
        let graph = master.graph();
        let arguments = vec![format!("__master:={}", graph.master_uri()), "__ip:=127.0.0.1".to_owned()];
        let options = ContextOptions::default().arguments(arguments).signals(false);
        let context = Context::with_options(options).unwrap();
        let node = context.create_node("watcher").unwrap();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let into = Arc::clone(&heard);
        let note = move |name: &str, value: Option<&ParameterValue>| {
            into.lock().unwrap().push((name.to_owned(), value.cloned()));
        };
        let _watch = node.watch_param("/speed", note).unwrap();
        rosparam(graph, &["set", "/speed", "7"]);
        let expected = [("/speed".to_owned(), None), ("/speed".to_owned(), Some(ParameterValue::from(7)))];
        wait_until("the change heard", deadline_in(PATIENCE), || {
            context.spin_once(Duration::from_millis(10)).unwrap();
            heard.lock().unwrap().len() >= 2
        });
        assert_eq!(*heard.lock().unwrap(), expected, "{server:?}");
    }
}

#[test]
fn parameters_outlive_a_master_that_is_killed() {
    let port = free_port();
    let graph = Ros1Graph::at(format!("http://127.0.0.1:{port}"));
    let file = graph.home().join("params").display().to_string();
    let port = port.to_string();
    let start = || {
        let mut master = graph.runnel("runnel", &["master", "--port", &port, "--persist", &file]);
        master.wait_for_line(|line| line.starts_with("ROS_MASTER_URI="), deadline_in(PATIENCE)).unwrap();
        master
    };
    let mut master = start();
    rosparam(&graph, &["set", "/robot", "{name: 'a \"b\" <c>', gains: [1.5, -2], deep: {armed: true}}"]);
    rosparam(&graph, &["set", "/gone", "1"]);
    rosparam(&graph, &["delete", "/gone"]);
    let before = rosparam(&graph, &["get", "/"]);
    master.signal(Signal::KILL).unwrap();
    master.wait_exit(deadline_in(PATIENCE)).unwrap();
    let mut master = start();
    assert_eq!(rosparam(&graph, &["get", "/"]), before);
    assert!(before.iter().any(|line| line.contains("a \"b\" <c>")), "{before:#?}");
    let second = outcome(graph.runnel("runnel", &["master", "--port", "0", "--persist", &file]));
    assert_eq!(second.code, Some(1));
    assert!(second.lines[0].contains("another master stores its parameters there"), "{:#?}", second.lines);
    master.signal(Signal::INT).unwrap();
    assert!(master.wait_exit(deadline_in(PATIENCE)).unwrap().success());
}
