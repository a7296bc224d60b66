//! Nodes in WebAssembly that move to another host while rclpy, rospy, roscpp and Cyclone DDS talk to them: the hosts are two
//! processes.

use interop::ros2::{Distro, Origin as Ros2Origin, Ros2Graph};
use interop::{Master, Origin, Server, TIMEOUT, folder, outcome, ready, wait_until};
use runnel_testkit::process::{Peer, deadline_in};

const KILTED: Ros2Origin = Ros2Origin::Ros2(Distro::Kilted);

/// A graph whose hosts know each other: they have the same user.
fn graph() -> Ros2Graph {
    let graph = Ros2Graph::new();
    let home = graph.home().to_str().expect("a name in UTF-8").to_owned();
    let graph = graph.with("XDG_RUNTIME_DIR", home.clone()).with("TMPDIR", home);
    let fingerprint = graph.answer(&["wasm", "certificate"]);
    let fingerprint = fingerprint.lines().next().expect("a line").to_owned();
    graph.answer(&["wasm", "trust", &fingerprint, "--name", "here"]);
    graph
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
        let mut process = graph.running(&words);
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

/// The numbers in `got N {"data":"hello 5"}` or `data: "hello 5"`.
fn numbers(listener: &Peer) -> Vec<u32> {
    let digits = |line: &str| {
        let rest = line.split_once("hello ")?.1;
        rest.chars().take_while(char::is_ascii_digit).collect::<String>().parse().ok()
    };
    listener.lines().iter().filter_map(|line| digits(line)).collect()
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
    let arguments = ["/chatter", "--type", "std_msgs/msg/String", "--count", "0", "--show"];
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
    listeners.iter().for_each(assert_complete);
    assert_eq!(outcome(talker).code, Some(0), "the first host ends when nothing is left to do");
    let nodes = graph.answer(&["node", "list", "--ros2"]);
    assert_eq!(nodes.matches("/talker").count(), 1, "{nodes}");
}

#[test]
fn subscribers_in_ros1_hear_a_talker_that_moves() {
    let master = Master::start(Server::Rosmaster);
    let graph = graph().with_master(master.graph());
    let arguments = ["/chatter", "--type", "std_msgs/String", "--count", "0", "--show"];
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

/// What a listener in WebAssembly has printed at each of its hosts.
fn printed(hosts: &[&Peer]) -> Vec<u32> {
    hosts.iter().flat_map(|host| numbers(host)).collect()
}

#[test]
fn listener_that_moves_hears_rclpy_and_cyclone_without_a_gap() {
    for publisher in [KILTED, Ros2Origin::Cyclone] {
        let graph = graph();
        let listener = graph.running(&["wasm", "run", "--ros2", "--allow-all", &guest("listener")]);
        let host = Host::start(&graph, "listener", &[]);
        let arguments = ["/chatter", "--type", "std_msgs/msg/String", "--count", "3000", "--rate", "500"];
        let talker = graph.talker(publisher, &arguments);
        wait_until("it listens", deadline_in(TIMEOUT), || listener.lines().len() > 100);
        migrate(&graph, "/listener", &host);
        wait_until("all are here", deadline_in(TIMEOUT), || {
            listener.lines().len() + host.process.lines().len() >= 3000
        });
        let sent: Vec<String> = talker.lines();
        assert!(sent.len() >= 3000);
        let is_text = |line: &&String| !line.starts_with("accepts ") && !line.starts_with("/listener ");
        let all: Vec<String> = listener.lines().into_iter().chain(host.process.lines()).collect();
        let texts: Vec<&String> =
            all.iter().filter(is_text).filter(|line| !line.contains("goes on")).collect();
        assert_eq!(texts.len(), 3000, "{publisher:?}: nothing is lost or doubled");
        let distinct: std::collections::BTreeSet<&&String> = texts.iter().collect();
        assert_eq!(distinct.len(), 3000, "{publisher:?}");
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
    graph.answer(&["wasm", "trust", "--remove", "here"]);
    let error = refused().error;
    assert!(error.contains("runnel wasm trust SHA256:"), "{error}");
    let nowhere = graph.ran(&["migrate", "/counter", "--to", "127.0.0.1:1"]);
    assert!(nowhere.error.contains("127.0.0.1:1"), "{}", nowhere.error);
    let settled = graph.ran(&["migrate", "/counter", "--resolve", "source"]);
    assert!(settled.error.contains("no process of this host is in doubt"), "{}", settled.error);
    drop(counter);
}
