//! `runnel` under the names of the original commands, beside these: the same command line gives the same standard
//! output to the byte and the same exit code.

mod nodes;
mod params;
mod services;
mod topics;
mod types;

use interop::{Master, Origin, PATIENCE, Printed, Ros1Graph, Server, Side, ready, wait_until};
use runnel_testkit::process::{Peer, Signal, deadline_in, free_port};

/// A node with a little of everything, and a listener of one of its topics.
fn nodes(graph: &Ros1Graph) -> [Peer; 2] {
    let front = ready(graph.rospy("front.py", &["__name:=front"]));
    let listener = ready(graph.node(Origin::Rospy, "listener", "a_listener", &["/zebra"]));
    let is_listed = || graph.nodes_at(Side::Subscribers, "/zebra") == ["/a_listener"];
    wait_until("the listener is registered", deadline_in(PATIENCE), is_listed);
    [front, listener]
}

/// Runs each line with both, and compares.
fn run_alike(graph: &Ros1Graph, lines: &[&str]) {
    for line in lines {
        let [ours, theirs] = [graph.linked(line), graph.original(line)].map(comparable);
        assert_eq!((ours.code, &ours.output), (theirs.code, &theirs.output), "{line}: {ours:#?} {theirs:#?}");
        assert_eq!(ours.error.is_empty(), theirs.error.is_empty(), "{line}: {ours:#?} {theirs:#?}");
    }
}

/// Without what differs from run to run: how long a ping took, when a message came.
fn comparable(mut printed: Printed) -> Printed {
    let since = |line: &str, word: &str| line.find(word).map(|at| format!("{}{word}", &line[..at]));
    let line = |line: &str| {
        let shortened = since(line, "\ttime=").or_else(|| since(line, "ping average: "));
        let arrival =
            line.split_once(',').filter(|(first, _)| first.len() == 19 && first.parse::<u64>().is_ok());
        shortened
            .or_else(|| arrival.map(|(_, rest)| format!("TIME,{rest}")))
            .unwrap_or_else(|| line.to_owned())
    };
    printed.output = printed.output.split('\n').map(line).collect::<Vec<_>>().join("\n");
    printed
}

/// Runs lines that the original refuses, and sees that ours does with the same code and says so in words.
fn refused_alike(graph: &Ros1Graph, lines: &[(&str, &str)]) {
    for (line, told) in lines {
        let [ours, theirs] = [graph.linked(line), graph.original(line)];
        assert_eq!((ours.code, &ours.output), (theirs.code, &theirs.output), "{line}: {ours:#?} {theirs:#?}");
        assert!(ours.error.contains(told), "{line}: {ours:#?}");
        assert!(!ours.error.contains("panicked"), "{line}: {ours:#?}");
    }
}

#[test]
fn topics_nodes_and_services_are_shown_to_the_byte_at_both_masters() {
    for server in Server::BOTH {
        let master = Master::start(server);
        let graph = master.graph();
        run_alike(graph, &["rostopic list", "rosservice list", "rosparam list", "rosparam get /"]);
        let _nodes = nodes(graph);
        let lines = [
            "rostopic list",
            "rostopic list -v",
            "rostopic list -v -p",
            "rostopic list -v -s",
            "rostopic list -s",
            "rostopic list -p /twist",
            "rostopic list /twist/",
            "rosnode list /front/",
            "rosservice list /front/",
            "rosservice list /switch/",
            "rostopic list /none",
            "rostopic list --host",
            "rostopic list --verb --host",
            "rostopic info /zebra",
            "rostopic info wanted",
            "rostopic list not-a-name",
            "rostopic find std_msgs/String",
            "rostopic find no/Such",
            "rosnode list",
            "rosnode list -a",
            "rosnode list -u /front",
            "rosnode list /none",
            "rosnode info -q /front",
            "rosnode machine",
            "rosnode machine 127.0.0.1",
            "rosservice list",
            "rosservice list -n /front",
            "rosservice list /none",
            "rosservice find std_srvs/SetBool",
            "rosservice find no/Such",
        ];
        run_alike(graph, &lines);
    }
}

#[test]
fn wrong_topics_and_arguments_are_refused() {
    let master = Master::start(Server::Rosmaster);
    let refused = [
        ("rostopic info /none", "/none"),
        ("rostopic info not-a-name", "/not-a-name"),
        ("rostopic type /none", "[/none]"),
        ("rostopic list -p -s", "-s"),
        ("rostopic list a b", "b"),
        ("rostopic echo", "TOPIC"),
        ("rostopic echo -n x /t", "x"),
        ("rostopic hz", "TOPIC"),
        ("rostopic hz -w x /t", "x"),
        ("rostopic pub /t", "TYPE"),
        ("rostopic pub -1 /t std_msgs/NoSuch 1", "std_msgs/NoSuch"),
        ("rostopic pub -1 /t geometry_msgs/Point 1 2", "2 values"),
        ("rostopic pub -1 -r 1 /t std_msgs/Int8 1", "--rate"),
        ("rostopic pub -r 0 /t std_msgs/Int8 1", "greater than 0"),
        ("rostopic pub -f file /t std_msgs/Int8 1", "--file"),
        ("rostopic pub -f none /t std_msgs/Int8", "none"),
        ("rosnode info", "NODE"),
        ("rosnode ping", "NODE"),
        ("rosnode kill /none", " * /none"),
        ("rosnode kill -a x", "--all"),
        ("rosnode machine no.host.invalid", "no.host.invalid"),
    ];
    refused_alike(master.graph(), &refused);
    // What the originals take and Runnel does not.
    for line in ["rostopic echo --filter True /t", "rostopic list -b x.bag", "rosmsg show -b x.bag a/B"] {
        let ours = master.graph().linked(line);
        assert_eq!((ours.code, ours.output.as_str()), (Some(2), ""), "{line}");
        assert!(ours.error.lines().count() == 1 && ours.error.contains("no such option: -"), "{ours:#?}");
    }
}

#[test]
fn without_a_master_every_command_fails_alike() {
    let graph = Ros1Graph::at("http://127.0.0.1:9");
    let unreachable = "cannot reach the master";
    let lines = [
        "rostopic list",
        "rostopic info /t",
        "rostopic hz /t",
        "rosnode list",
        "rosservice list",
        "rosparam list",
    ];
    refused_alike(&graph, &lines.map(|line| (line, unreachable)));
}

#[test]
fn no_command_ends_with_the_code_of_the_original() {
    let graph = Ros1Graph::at("http://127.0.0.1:9");
    for program in ["rostopic", "rosnode", "rosservice", "rosparam", "rosmsg", "rossrv"] {
        for argument in ["", "--help", "-h", "nonsense"] {
            let line = format!("{program} {argument}");
            let [ours, theirs] = [graph.linked(&line), graph.original(&line)];
            assert_eq!((ours.code, &ours.error), (theirs.code, &theirs.error), "{line}");
            assert!(ours.output.contains(&format!("Usage: {program}")), "{line}: {ours:#?}");
        }
        let help = graph.linked(&format!("{program} list -h"));
        assert!(help.code == Some(0) && help.output.contains(&format!("Usage: {program} list")), "{help:#?}");
    }
}

#[test]
fn a_roscore_link_serves_the_originals() {
    for (program, options) in [("roscore", vec!["-v"]), ("rosmaster", vec!["--core", "-w", "3", "-t", "5"])] {
        let port = free_port().to_string();
        let graph = Ros1Graph::at(format!("http://127.0.0.1:{port}"));
        let link = graph.links().join(program);
        let link = link.to_str().expect("a path that is text");
        let arguments = [&["-c", "exec \"$0\" \"$@\"", link, "-p", &port], options.as_slice()].concat();
        let mut master = graph.tool("bash", &arguments);
        master
            .wait_for_line(
                |line| line == format!("ROS_MASTER_URI=http://localhost:{port}/"),
                deadline_in(PATIENCE),
            )
            .unwrap();
        let set = graph.original("rosparam set /x 1; rosparam get /x");
        assert_eq!((set.code, set.output.as_str()), (Some(0), "1\n"), "{set:#?}");
        master.signal(Signal::INT).unwrap();
        assert!(master.wait_exit(deadline_in(PATIENCE)).unwrap().success(), "{}", master.output());
    }
}
