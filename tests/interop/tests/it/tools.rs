//! The `runnel` command beside the original commands at the original master, and the original tools on Runnel's
//! nodes.

use std::fs;

use interop::{
    Master, Origin, Outcome, PATIENCE, Ros1Graph, Server, Side, body, outcome, ready, told, wait_until,
};
use runnel_testkit::process::{Peer, Signal, deadline_in};

/// Runs `runnel` with the words of a line.
fn runnel(graph: &Ros1Graph, line: &str) -> Outcome {
    outcome(start_runnel(graph, line))
}

fn start_runnel(graph: &Ros1Graph, line: &str) -> Peer {
    graph.runnel("runnel", &line.split(' ').collect::<Vec<_>>())
}

/// Runs an original command.
fn original(graph: &Ros1Graph, line: &str) -> Outcome {
    outcome(start_original(graph, line))
}

fn start_original(graph: &Ros1Graph, line: &str) -> Peer {
    let mut words = line.split(' ');
    let command = words.next().expect("a command");
    graph.tool(command, &words.collect::<Vec<_>>())
}

/// Runs each command of Runnel's and the original one beside it, and compares what they print.
fn run_alike(graph: &Ros1Graph, commands: &[(&str, &str)]) {
    for (ours, theirs) in commands {
        let [ours, theirs] = [(runnel(graph, ours), ours), (original(graph, theirs), theirs)].map(meaningful);
        assert_eq!(ours, theirs, "ours is left, the original right");
    }
}

/// The lines, in the order of the alphabet, of a command that must have succeeded, but for empty ones, for what Runnel
/// tells besides (the machine) and for how long a ping took.
fn meaningful((outcome, line): (Outcome, &&str)) -> Vec<String> {
    assert_eq!(outcome.code, Some(0), "{line}: {:#?}", outcome.lines);
    let lines = outcome.lines.iter().filter(|line| !line.is_empty());
    let lines = lines.filter(|line| !line.starts_with("Machine: ") && !line.starts_with("rosnode: "));
    let mut lines: Vec<String> =
        lines.map(|line| line.split("\ttime=").next().unwrap_or_default().to_owned()).collect();
    lines.sort();
    lines
}

/// A roscpp talker with a rospy and a Runnel listener, of which none will say more.
fn connected_graph(graph: &Ros1Graph) -> [Peer; 3] {
    let talker = ready(graph.talker(Origin::Roscpp, &["/chatter", "--latch", "--wait", "2", "--count", "1"]));
    let [mut rospy, mut runnel] =
        [Origin::Rospy, Origin::Runnel].map(|origin| graph.listener(origin, &["/chatter"]));
    told(&mut rospy, "got", 1, deadline_in(PATIENCE));
    told(&mut runnel, "got", 1, deadline_in(PATIENCE));
    [talker, rospy, runnel]
}

#[test]
fn topics_and_nodes_are_shown_as_the_originals_show_them() {
    let master = Master::start(Server::Rosmaster);
    let _nodes = connected_graph(master.graph());
    run_alike(
        master.graph(),
        &[
            ("topic list", "rostopic list"),
            ("topic list -v", "rostopic list -v"),
            ("topic list --publishers", "rostopic list -p"),
            ("topic list /chatter", "rostopic list /chatter"),
            ("topic info /chatter", "rostopic info /chatter"),
            ("topic type /chatter", "rostopic type /chatter"),
            ("topic find std_msgs/String", "rostopic find std_msgs/String"),
            ("topic find std_msgs/Int8", "rostopic find std_msgs/Int8"),
            ("node list", "rosnode list"),
            ("node list --all", "rosnode list -a"),
            ("node list --uri", "rosnode list -u"),
            ("node info /roscpp_talker", "rosnode info /roscpp_talker"),
            ("node info /rospy_listener", "rosnode info /rospy_listener"),
            ("node info /runnel_listener", "rosnode info /runnel_listener"),
            ("node ping -c 1 /rospy_listener", "rosnode ping -c 1 /rospy_listener"),
            ("node ping -c 1 /runnel_listener", "rosnode ping -c 1 /runnel_listener"),
        ],
    );
}

#[test]
fn what_is_not_there_is_an_error() {
    let master = Master::start(Server::Rosmaster);
    for (line, code) in [
        ("topic info /none", 1),
        ("topic type /none", 1),
        ("topic echo /no-name", 2),
        ("topic pub -1 /t no_msgs/Such 1", 1),
        ("topic pub -1 /t std_msgs/Int8 300", 2),
        ("node info /none", 1),
        ("node ping -c 1 /none", 1),
        ("node kill /none", 1),
        ("interface show no_msgs/Such", 1),
    ] {
        let Outcome { code: ended, lines } = runnel(master.graph(), line);
        assert_eq!(ended, Some(code), "{line}: {lines:#?}");
        assert!(lines.iter().any(|line| line.starts_with("error: ")), "{line}: {lines:#?}");
    }
    let nobody = Ros1Graph::at("http://127.0.0.1:9");
    assert_eq!(runnel(&nobody, "topic list --ros1").code, Some(1));
}

#[test]
fn messages_are_echoed_as_rostopic_echoes_them() {
    let master = Master::start(Server::Rosmaster);
    let graph = master.graph();
    let mut talkers = Vec::new();
    let types = ["std_msgs/String", "sensor_msgs/Image", "geometry_msgs/Twist", "std_msgs/UInt8MultiArray"];
    for (number, message_type) in types.into_iter().enumerate() {
        let (topic, name) = (format!("/topic_{number}"), format!("talker_{number}"));
        let latched =
            [&topic, "--type", message_type, "--size", "20", "--latch", "--wait", "0", "--count", "1"];
        let mut talker = graph.node(Origin::Roscpp, "talker", &name, &latched);
        talker.wait_for_line(|line| line == "done", deadline_in(PATIENCE)).unwrap();
        talkers.push(talker);
        let pairs = [
            (format!("topic echo -f -n 1 {topic}"), format!("rostopic echo -n 1 {topic}")),
            (format!("topic echo -n 1 --noarr {topic}"), format!("rostopic echo -n 1 --noarr {topic}")),
            (format!("topic echo -n 1 --nostr {topic}"), format!("rostopic echo -n 1 --nostr {topic}")),
        ];
        run_alike(graph, &pairs.each_ref().map(|(ours, theirs)| (ours.as_str(), theirs.as_str())));
    }
    run_alike(
        graph,
        &[
            ("topic echo -n 1 /topic_1/header/stamp", "rostopic echo -n 1 /topic_1/header/stamp"),
            ("topic echo -n 1 /topic_2/linear/y", "rostopic echo -n 1 /topic_2/linear/y"),
        ],
    );
    // An element of bytes is more than rostopic can show.
    assert_eq!(runnel(graph, "topic echo -n 1 /topic_1/data[3]").success(), ["4", "---"]);
    // The first column is the time of arrival.
    let columns = |outcome: Outcome| -> Vec<String> {
        let behind_first = |line: &String| line.split_once(',').map(|(_, rest)| rest.to_owned());
        outcome.success().iter().filter_map(behind_first).collect()
    };
    let plotted = columns(runnel(graph, "topic echo -n 1 -p /topic_2"));
    assert_eq!(plotted, columns(original(graph, "rostopic echo -n 1 -p /topic_2")));
    assert_eq!(plotted.len(), 2);
}

#[test]
fn published_messages_reach_every_listener() {
    let master = Master::start(Server::Rosmaster);
    let graph = master.graph();
    let listen = |origin| ready(graph.listener(origin, &["/in", "--count", "3"]));
    let listeners = Origin::ALL.map(listen);
    // It stays for a while: roscpp drops what it has not read yet once the master says that the publisher is gone.
    let line = "topic pub -n 3 -r 20 --wait 4 -k 3 /in std_msgs/String hello";
    assert_eq!(runnel(graph, line).code, Some(0));
    let expected: Vec<String> =
        (1..=3).map(|number| format!("{number} len 9 crc {:08x}", crc_of("hello"))).collect();
    for mut listener in listeners {
        assert_eq!(told(&mut listener, "got", 3, deadline_in(PATIENCE)), expected, "{}", listener.name());
    }
    let mut echo = start_original(graph, "rostopic echo -n 1 /twist");
    let mut publishing = graph.runnel(
        "runnel",
        &["topic", "pub", "-r", "10", "/twist", "geometry_msgs/Twist", "{linear: {x: 0.5}}"],
    );
    echo.wait_for_line(|line| line == "  x: 0.5", deadline_in(PATIENCE)).unwrap();
    publishing.signal(Signal::INT).unwrap();
    assert!(publishing.wait_exit(deadline_in(PATIENCE)).unwrap().success(), "{}", publishing.output());
}

fn crc_of(text: &str) -> u32 {
    crc32fast::hash(&[&(text.len() as u32).to_le_bytes(), text.as_bytes()].concat())
}

/// The first figure on the line that begins with this word and ends with this unit.
fn figure(peer: &mut Peer, word: &str, unit: &str) -> f64 {
    let line = peer.wait_for_line(|line| line.starts_with(word), deadline_in(PATIENCE)).unwrap();
    let number = line[word.len()..].trim().strip_suffix(unit).and_then(|number| number.parse().ok());
    number.unwrap_or_else(|| panic!("{line:?} is not {word:?}, a number and {unit:?}"))
}

/// A talker of images of 500 bytes twenty times a second.
fn camera(graph: &Ros1Graph, origin: Origin) -> Peer {
    ready(graph.talker(origin, &["/camera", "--type", "sensor_msgs/Image", "--rate", "20", "--size", "443"]))
}

/// One of the figures that are told, one a second, is about what it should be. A machine that has other work to do may be late
/// by much.
fn measures(mut command: Peer, word: &str, unit: &str, expected: f64) {
    let mut all = Vec::new();
    while all.last().is_none_or(|last| !(expected / 2.0..expected * 2.0).contains(last)) {
        assert!(all.len() < 30, "{word} {all:?}, and not {expected}");
        all.push(figure(&mut command, word, unit));
    }
}

#[test]
fn rates_and_sizes_of_original_talkers_are_measured() {
    let master = Master::start(Server::Rosmaster);
    let graph = master.graph();
    let _camera = camera(graph, Origin::Roscpp);
    measures(start_runnel(graph, "topic hz /camera"), "average rate: ", "", 20.0);
    measures(start_runnel(graph, "topic bw /camera"), "average: ", "KB/s", 10.0);
    // Its stamps are those of 1970.
    let delay = figure(&mut start_runnel(graph, "topic delay /camera"), "average delay: ", "");
    assert!(delay > 1e9, "{delay}");
}

#[test]
fn rostopic_measures_rates_and_sizes_of_runnel_talkers() {
    let master = Master::start(Server::Rosmaster);
    let graph = master.graph();
    let _camera = camera(graph, Origin::Runnel);
    measures(start_original(graph, "rostopic hz /camera"), "average rate: ", "", 20.0);
    measures(start_original(graph, "rostopic bw /camera"), "average: ", "KB/s", 10.0);
    let delay = figure(&mut start_original(graph, "rostopic delay /camera"), "average delay: ", "");
    assert!(delay > 1e9, "{delay}");
}

#[test]
fn original_nodes_are_killed_and_dead_ones_cleaned_up() {
    let master = Master::start(Server::Rosmaster);
    let graph = master.graph();
    let [mut roscpp, mut rospy, mut ours] = connected_graph(graph);
    assert_eq!(runnel(graph, "node ping --all").code, Some(0));
    assert_eq!(runnel(graph, "node kill /roscpp_talker").success(), ["killed /roscpp_talker"]);
    roscpp.wait_exit(deadline_in(PATIENCE)).unwrap();
    assert_eq!(runnel(graph, "node kill /rospy_listener").success(), ["killed /rospy_listener"]);
    rospy.wait_exit(deadline_in(PATIENCE)).unwrap();
    ours.signal(Signal::KILL).unwrap();
    ours.wait_exit(deadline_in(PATIENCE)).unwrap();
    assert_eq!(
        runnel(graph, "node list").success(),
        ["/runnel_listener"],
        "the original master knows no better"
    );
    assert_eq!(runnel(graph, "node ping --all").code, Some(1));
    assert_eq!(runnel(graph, "node cleanup --yes").success(), ["unregistered /runnel_listener"]);
    assert_eq!(original(graph, "rosnode list").success(), [""]);
}

#[test]
fn interfaces_are_shown_as_rosmsg_and_rossrv_show_them() {
    // Nothing is asked of a master.
    let graph = Ros1Graph::at("http://127.0.0.1:9");
    let types = [
        ("rosmsg", "std_msgs/Header"),
        ("rosmsg", "std_msgs/UInt8MultiArray"),
        ("rosmsg", "sensor_msgs/CameraInfo"),
        ("rosmsg", "geometry_msgs/PoseWithCovarianceStamped"),
        ("rosmsg", "sensor_msgs/BatteryState"),
        ("rosmsg", "rosgraph_msgs/Log"),
        ("rossrv", "std_srvs/SetBool"),
        ("rossrv", "sensor_msgs/SetCameraInfo"),
    ];
    for (tool, name) in types {
        for verb in ["show", "md5"] {
            let (ours, theirs) = (format!("interface {verb} {name}"), format!("{tool} {verb} {name}"));
            run_alike(&graph, &[(&ours, &theirs)]);
        }
    }
}

/// Prints topic, type, MD5 sum, length and CRC of each message of a bag, and at last that the end was reached.
const READ_BAG: &str = "
import sys, zlib, rosbag
with rosbag.Bag(sys.argv[1]) as bag:
    for topic, (kind, body, md5, _, _), _ in bag.read_messages(raw=True):
        print(topic, kind, md5, 'len {} crc {:08x}'.format(len(body), zlib.crc32(body)))
";

#[test]
fn rosbag_records_a_runnel_talker_and_reads_it_back() {
    let master = Master::start(Server::Rosmaster);
    let graph = master.graph();
    let file = graph.home().join("recorded.bag");
    let file = file.to_str().expect("a path that is text");
    let mut recorder = graph.tool("rosbag", &["record", "-O", file, "--limit=10", "/chatter"]);
    let talking =
        ["/chatter", "--type", "std_msgs/UInt8MultiArray", "--size", "5000", "--rate", "50", "--count", "10"];
    let mut talker = graph.talker(Origin::Runnel, &talking);
    let sent = told(&mut talker, "sent", 10, deadline_in(PATIENCE));
    assert!(recorder.wait_exit(deadline_in(PATIENCE)).unwrap().success(), "{}", recorder.output());
    assert!(fs::metadata(file).is_ok(), "{}", recorder.output());
    let info = original(graph, &format!("rosbag info -y {file}")).success();
    for line in ["messages: 10", "    - topic: /chatter", "      type: std_msgs/UInt8MultiArray"] {
        assert!(info.iter().any(|has| has == line), "{line:?} is not in {info:#?}");
    }
    let md5 = runnel(graph, "interface md5 std_msgs/UInt8MultiArray").success().remove(0);
    let expected = |line: &String| format!("/chatter std_msgs/UInt8MultiArray {md5} {}", body(line));
    let read = outcome(graph.tool("python3", &["-c", READ_BAG, file])).success();
    assert_eq!(read, sent.iter().map(expected).collect::<Vec<_>>());
}

#[test]
fn rosnode_lists_the_connections_of_runnel_nodes() {
    let master = Master::start(Server::Rosmaster);
    let graph = master.graph();
    let _talker = ready(graph.talker(Origin::Runnel, &["/chatter", "--rate", "20"]));
    let mut listeners = [Origin::Rospy, Origin::Runnel].map(|origin| graph.listener(origin, &["/chatter"]));
    listeners.iter_mut().for_each(|listener| drop(told(listener, "got", 1, deadline_in(PATIENCE))));
    let port = graph.tcpros_port("/runnel_talker", "/chatter").expect("the talker's port");
    let info = original(graph, "rosnode info /runnel_talker").success();
    for peer in ["/rospy_listener", "/runnel_listener"] {
        let outbound = format!("    * direction: outbound ({port} - 127.0.0.1:");
        assert!(has_connection(&info, peer, &outbound), "{peer}, {outbound}: {info:#?}");
    }
    let uri = graph.uri_of("/runnel_talker").expect("the talker's address");
    let info = original(graph, "rosnode info /runnel_listener").success();
    let peer = format!("/runnel_talker ({uri})");
    assert!(has_connection(&info, &peer, "    * direction: inbound"), "{info:#?}");
    wait_until("the listener leaves", deadline_in(PATIENCE), || {
        let [_, listener] = &listeners;
        let _ = listener.signal(Signal::INT);
        graph.nodes_at(Side::Subscribers, "/chatter") == ["/rospy_listener"]
    });
    let info = original(graph, "rosnode info /runnel_talker").success();
    assert!(!info.iter().any(|line| line.contains("/runnel_listener")), "{info:#?}");
}

/// Whether the lines of a node's information tell of a connection of `/chatter`: by TCPROS, or between nodes of Runnel
/// also by shared memory.
fn has_connection(info: &[String], peer: &str, direction: &str) -> bool {
    info.windows(4).any(|lines| {
        lines[0] == " * topic: /chatter"
            && lines[1] == format!("    * to: {peer}")
            && lines[2].starts_with(direction)
            && (lines[3] == "    * transport: TCPROS"
                || peer.contains("runnel") && lines[3] == "    * transport: SHM")
    })
}
