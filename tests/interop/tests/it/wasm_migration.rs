//! Nodes in WebAssembly that move to another host while rclpy, rospy, roscpp and Cyclone DDS talk to them: the hosts are two
//! processes.

use std::collections::HashMap;
use std::sync::LazyLock;

use interop::messages::describe;
use interop::ros2::{Distro, Origin as Ros2Origin, Ros2Graph};
use interop::{Master, Origin, Server, TIMEOUT, built, folder, outcome, ready, wait_until};
use runnel::core::wire::{Encoding, cdr};
use runnel::msgs::std_msgs::msg::String as Text;
use runnel_testkit::process::{Peer, deadline_in};

const KILTED: Ros2Origin = Ros2Origin::Ros2(Distro::Kilted);

/// A graph with two hosts that trust each other: nodes are started on one, and the other accepts them.
fn graph() -> Ros2Graph {
    let graph = Ros2Graph::new();
    let home = graph.home().to_str().expect("a name in UTF-8").to_owned();
    let graph = graph.with("XDG_RUNTIME_DIR", home.clone()).with("TMPDIR", home);
    for (one, other, name) in [(false, true, "robot"), (true, false, "station")] {
        let certificate = outcome(runnel(&graph, one, &["wasm", "certificate"]));
        let fingerprint = certificate.lines.first().expect("a line").clone();
        let trusted = outcome(runnel(&graph, other, &["wasm", "trust", &fingerprint, "--name", name]));
        assert_eq!(trusted.code, Some(0), "{:#?}", trusted.lines);
    }
    graph
}

/// Runs a command on the host where nodes are started, or on the station.
fn runnel(graph: &Ros2Graph, on_station: bool, words: &[&str]) -> Peer {
    let mut command = graph.command(built("runnel"));
    command.args(words);
    if on_station {
        command.env("XDG_CONFIG_HOME", graph.home().join("station"));
    }
    Peer::spawn("runnel", command).expect("it starts")
}

fn guest(name: &str) -> String {
    let module = folder().join("../guests").join(format!("{name}.wasm"));
    assert!(module.is_file(), "{} is missing: run ./test, or guests/build", module.display());
    module.to_str().expect("a name in UTF-8").to_owned()
}

/// A host that accepts nodes.
struct Host {
    process: Peer,
    address: String,
}

impl Host {
    fn start(graph: &Ros2Graph, program: &str, engine: &[&str]) -> Self {
        let module = guest(program);
        let words = [&["wasm", "serve", "--listen", "127.0.0.1:0", "--allow-all", &module], engine].concat();
        let mut process = runnel(graph, true, &words);
        let accepts = |line: &str| line.starts_with("accepts ");
        let line = process.wait_for_line(accepts, deadline_in(TIMEOUT)).expect("it accepts nodes");
        let address = line.rsplit(' ').next().expect("an address").to_owned();
        Self { process, address }
    }
}

/// Moves a node.
fn migrate(graph: &Ros2Graph, node: &str, to: &Host) {
    let moved = graph.ran(&["migrate", node, "--to", &to.address]);
    assert_eq!(moved.code, Some(0), "{}{}\n{}", moved.output, moved.error, to.process.output());
    eprint!("{}", moved.output);
}

/// The checksums of "hello 0", "hello 1", ..., as peers print them: in ROS 1, and in ROS 2.
static CHECKSUMS: LazyLock<HashMap<String, u32>> = LazyLock::new(|| {
    let of = |number: u32| {
        let text = Text { data: format!("hello {number}") };
        let cdr = cdr::encode(&text, Encoding::Xcdr1).expect("it can be encoded");
        let checksum = |bytes: &[u8]| format!("{:08x}", crc32fast::hash(bytes));
        let in_ros1 = describe(&text).rsplit(' ').next().expect("a checksum").to_owned();
        [in_ros1, checksum(&cdr), checksum(&cdr[4..])].map(|checksum| (checksum, number))
    };
    (0..5000).flat_map(of).collect()
});

/// The numbers of the messages that a listener has printed: `hello 5`, or its checksum.
fn numbers(listener: &Peer) -> Vec<u32> {
    let number = |line: &String| match line.split_once("hello ") {
        Some((_, rest)) => rest.chars().take_while(char::is_ascii_digit).collect::<String>().parse().ok(),
        None => CHECKSUMS.get(line.split_once(" crc ")?.1).copied(),
    };
    listener.lines().iter().filter_map(number).collect()
}

/// Waits for so many numbers.
fn wait_for(listener: &Peer, count: usize) {
    wait_until("greetings", deadline_in(TIMEOUT), || numbers(listener).len() >= count);
}

/// Each number follows the one before.
fn assert_complete(listener: &Peer) {
    let all = numbers(listener);
    let broken = all.windows(2).find(|pair| pair[1] != pair[0] + 1);
    assert_eq!(broken, None, "{}: lost, doubled or reordered: {all:?}", listener.name());
}

#[test]
fn subscribers_in_ros2_hear_a_talker_that_moves() {
    let graph = graph();
    let arguments = ["/chatter", "--type", "std_msgs/msg/String", "--count", "0"];
    let listeners = [KILTED, Ros2Origin::Cyclone].map(|origin| ready(graph.listener(origin, &arguments)));
    let talker = graph.running(&["wasm", "run", "--ros2", "--allow-all", &guest("talker")]);
    let hosts = [Host::start(&graph, "talker", &["--interpreter"]), Host::start(&graph, "talker", &[])];
    let mut heard = 5;
    listeners.iter().for_each(|listener| wait_for(listener, heard));
    for turn in 0..4 {
        migrate(&graph, "/talker", &hosts[turn % 2]);
        heard = listeners.iter().map(|listener| numbers(listener).len()).max().unwrap_or(0) + 5;
        listeners.iter().for_each(|listener| wait_for(listener, heard));
    }
    // Another host may ask for it.
    let from = &hosts[1].address;
    let asked = graph.ran(&["migrate", "/talker", "--from", from, "--to", &hosts[0].address]);
    assert_eq!(asked.code, Some(0), "{}", asked.error);
    let again = graph.ran(&["migrate", "/talker", "--from", from, "--to", &hosts[0].address]);
    assert!(again.error.contains(&format!("/talker: no node of this name is at {from}")), "{}", again.error);
    listeners.iter().for_each(|listener| wait_for(listener, heard + 10));
    listeners.iter().for_each(assert_complete);
    assert_eq!(outcome(talker).code, Some(0), "the first host ends when nothing is left to do");
    let nodes = graph.answer(&["node", "list", "--ros2"]);
    assert_eq!(nodes.matches("/talker").count(), 1, "{nodes}");
}

#[test]
fn subscribers_in_ros1_hear_a_talker_that_moves() {
    let master = Master::start(Server::Rosmaster);
    let graph = graph().with_master(master.graph());
    let arguments = ["/chatter", "--type", "std_msgs/String", "--count", "0"];
    let listeners =
        [Origin::Rospy, Origin::Roscpp].map(|origin| ready(master.graph().listener(origin, &arguments)));
    let talker = graph.running(&["wasm", "run", "--ros1", "--allow-all", &guest("talker")]);
    let hosts = [Host::start(&graph, "talker", &[]), Host::start(&graph, "talker", &["--interpreter"])];
    let mut heard = 5;
    listeners.iter().for_each(|listener| wait_for(listener, heard));
    for turn in 0..4 {
        migrate(&graph, "/talker", &hosts[turn % 2]);
        heard = listeners.iter().map(|listener| numbers(listener).len()).max().unwrap_or(0) + 5;
        listeners.iter().for_each(|listener| wait_for(listener, heard));
    }
    listeners.iter().for_each(assert_complete);
    assert_eq!(outcome(talker).code, Some(0));
    let node = outcome(master.graph().tool("rosnode", &["info", "/talker"]));
    assert_eq!(node.code, Some(0), "{:#?}", node.lines);
    let lines = node.lines.join("\n");
    assert!(lines.contains(" * /chatter [std_msgs/String]"), "it has its name: {lines}");
    let nodes = outcome(master.graph().tool("rosnode", &["list"])).lines.join("\n");
    assert!(!nodes.contains("standby"), "and no other one: {nodes}");
}

#[test]
fn listener_that_moves_hears_every_message() {
    for publisher in [KILTED, Ros2Origin::Cyclone] {
        let graph = graph();
        let listener = graph.running(&["wasm", "run", "--ros2", "--allow-all", &guest("listener")]);
        let host = Host::start(&graph, "listener", &[]);
        // The listener's queue has ten messages: half a second on a busy host.
        let arguments = ["/chatter", "--type", "std_msgs/msg/String", "--count", "150", "--rate", "20"];
        let talker = graph.talker(publisher, &arguments);
        let printed = |peer: &Peer| -> Vec<String> {
            let words = ["accepts ", "/listener ", "the node goes on"];
            let is_own = |line: &String| words.iter().any(|word| line.starts_with(word));
            peer.lines().into_iter().filter(|line| !is_own(line)).collect()
        };
        wait_until("it listens", deadline_in(TIMEOUT), || printed(&listener).len() > 30);
        migrate(&graph, "/listener", &host);
        wait_until("all are here", deadline_in(TIMEOUT), || {
            talker.lines().iter().any(|line| line == "done")
                && printed(&listener).len() + printed(&host.process).len() >= 150
        });
        let all = [printed(&listener), printed(&host.process)].concat();
        let distinct: std::collections::BTreeSet<&String> = all.iter().collect();
        assert_eq!((all.len(), distinct.len()), (150, 150), "{publisher:?}: nothing is lost or doubled");
        assert!(!printed(&host.process).is_empty(), "{publisher:?}: it has moved meanwhile");
    }
}

#[test]
fn strangers_and_wrong_programs_are_refused() {
    let graph = graph();
    let counter = graph.running(&["wasm", "run", "--ros2", "--allow-all", &guest("counter")]);
    let host = Host::start(&graph, "talker", &[]);
    let refused = || graph.ran(&["migrate", "/counter", "--to", &host.address]);
    wait_until("the node is there", deadline_in(TIMEOUT), || !refused().error.contains("no node"));
    let error = refused().error;
    assert!(
        error.contains("/counter goes on here: the target refuses: it does not serve the module"),
        "{error}"
    );
    graph.answer(&["wasm", "trust", "--remove", "station"]);
    let error = refused().error;
    assert!(error.contains("runnel wasm trust SHA256:"), "{error}");
    let nowhere = graph.ran(&["migrate", "/counter", "--to", "127.0.0.1:1"]);
    assert!(nowhere.error.contains("127.0.0.1:1"), "{}", nowhere.error);
    let settled = graph.ran(&["migrate", "/counter", "--resolve", "source"]);
    assert!(settled.error.contains("no process of this host is in doubt"), "{}", settled.error);
    drop(counter);
}
