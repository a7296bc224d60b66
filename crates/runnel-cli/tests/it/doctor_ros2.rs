//! `runnel doctor` in ROS 2 graphs with real faults: forged participants, and nodes of this process.

use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use runnel::core::Message;
use runnel::core::qos::QoS;
use runnel::core::schema::{Generation, Schema, TypeName};
use runnel::core::wire::{Encoding, cdr};
use runnel::msgs::rmw_dds_common::msg::{Gid, NodeEntitiesInfo, ParticipantEntitiesInfo};
use runnel::msgs::sensor_msgs::msg::Image;
use runnel::msgs::std_msgs::msg::{Int32, String as Text};
use runnel::{Context, ContextOptions, Graphs};
use runnel_testkit::loopback_participant::LoopbackParticipant;
use runnel_testkit::namespace::require_private_network;
use runnel_testkit::process::{Peer, Signal, deadline_in, free_port};

/// Seconds that a step may take on a busy host.
const STEP: u64 = 60;

/// A domain for each test.
const SOUND: u16 = 59;
const HALF: u16 = 60;
const QOS: u16 = 61;
const ACTION: u16 = 62;
const TWINS: u16 = 63;
const ELSEWHERE: u16 = 64;
const OTHER: u16 = 65;
const MIXED: u16 = 66;
const STOPPED: u16 = 67;
const LARGE: u16 = 68;
const VARIABLES: u16 = 69;
const CIRCLE: u16 = 70;
const HASHES: u16 = 71;
const JSON: u16 = 72;
const REPORT: u16 = 73;

/// The finished run of a command in a domain without a master.
fn doctor(domain: u16, words: &[&str], variables: &[(&str, &str)]) -> (Option<i32>, String) {
    let mut command = runnel(domain, &[&["doctor"], words].concat());
    command.envs(variables.iter().copied());
    let output = command.output().expect("it starts");
    let text = String::from_utf8_lossy(&output.stdout);
    (output.status.code(), text.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn runnel(domain: u16, words: &[&str]) -> Command {
    require_private_network();
    let mut command = Command::new(env!("CARGO_BIN_EXE_runnel"));
    command.args(words).stdin(Stdio::null());
    command.env("ROS_DOMAIN_ID", domain.to_string());
    for variable in ["ROS_MASTER_URI", "ROS_IP", "ROS_HOSTNAME", "ROS_NAMESPACE", "RUNNEL_LOG"] {
        command.env_remove(variable);
    }
    command
}

/// Runs the doctor until it prints all these texts: on a busy host it may listen too briefly.
fn expect(domain: u16, words: &[&str], variables: &[(&str, &str)], code: i32, texts: &[&str]) {
    let deadline = deadline_in(2 * STEP);
    loop {
        let (ended, output) = doctor(domain, words, variables);
        let has_all = texts.iter().all(|text| output.contains(text));
        if has_all && ended == Some(code) {
            return;
        }
        assert!(std::time::Instant::now() < deadline, "{texts:#?} with code {code}, not {ended:?}: {output}");
    }
}

/// A context that spins until it is dropped.
struct Spinning {
    context: Context,
    thread: Option<JoinHandle<()>>,
}

impl Spinning {
    fn new(domain: u16, graphs: Graphs, arguments: &[String]) -> Self {
        require_private_network();
        let options = ContextOptions::default().signals(false).arguments(arguments.to_vec());
        let context = Context::with_options(options.graphs(graphs).domain_id(domain)).expect("a context");
        let spins = context.clone();
        Self { context, thread: Some(thread::spawn(move || drop(spins.spin()))) }
    }

    fn in_ros2(domain: u16) -> Self {
        Self::new(domain, Graphs::Ros2, &[])
    }
}

impl Drop for Spinning {
    fn drop(&mut self) {
        self.context.shutdown();
        self.thread.take().map(JoinHandle::join);
    }
}

/// A forged participant, which runs until it is dropped.
struct Forged {
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Forged {
    /// A participant with a node of this name and writers on these topics.
    fn start(domain: u16, node: &str, writers: &[(&str, &str)]) -> Self {
        let mut participant = LoopbackParticipant::new(domain, 0x0d, 10, "enclave=/;");
        let hash = format!("typehash={};", ParticipantEntitiesInfo::RIHS01);
        let graph = participant.create_writer("ros_discovery_info", ParticipantEntitiesInfo::DDS_TYPE, &hash);
        let ids: Vec<_> =
            writers.iter().map(|(topic, of)| participant.create_writer(topic, of, "")).collect();
        let prefix = participant.participant.prefix();
        let node = NodeEntitiesInfo {
            node_namespace: "/".into(),
            node_name: node.into(),
            writer_gid_seq: ids.into_iter().map(|id| Gid { data: prefix.with(id).to_bytes() }).collect(),
            ..NodeEntitiesInfo::default()
        };
        let nodes = ParticipantEntitiesInfo { node_entities_info_seq: vec![node], ..Default::default() };
        let payload = cdr::encode(&nodes, Encoding::Xcdr1).expect("it fits");
        participant.write(graph, payload).expect("it has capacity");
        let ends = Arc::new(AtomicBool::new(false));
        let is_over = Arc::clone(&ends);
        let thread = thread::spawn(move || {
            while !is_over.load(Ordering::Relaxed) {
                participant.poll_once();
            }
        });
        Self { ends, thread: Some(thread) }
    }
}

impl Drop for Forged {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        self.thread.take().map(JoinHandle::join);
    }
}

/// A master, and the argument that names it.
fn master(domain: u16) -> (Peer, String) {
    let port = free_port();
    let master = runnel(domain, &["master", "--port", &port.to_string()]);
    let master = Peer::spawn("master", master).expect("it starts");
    (master, format!("__master:=http://127.0.0.1:{port}/"))
}

#[test]
fn sound_graph_has_no_findings() {
    let one = Spinning::in_ros2(SOUND);
    let node = one.context.create_node("sound").expect("a node");
    let _publisher = node.create_publisher::<Text>("chatter", 10).expect("a publisher");
    let _subscription = node.create_subscription("chatter", 10, |_: &Text| {}).expect("a subscription");
    let texts = [
        "checked this process; in ROS 2: 1 participant in domain 59, 1 node, ",
        "0 errors, 0 warnings, 1 info",
    ];
    expect(SOUND, &[], &[], 0, &texts);
}

#[test]
fn half_announced_server_and_client_are_reported() {
    let types = ["std_srvs::srv::dds_::SetBool_Response_", "std_srvs::srv::dds_::SetBool_Request_"];
    let _forged = Forged::start(HALF, "half", &[("rr/powerReply", types[0]), ("rq/lightRequest", types[1])]);
    let texts = [
        "error: /power: /half announces a writer of replies and no reader of requests",
        "error: /light: /half announces a writer of requests and no reader of replies",
        "-> restart /half",
        "info: /light: called by /half, and no node provides it",
    ];
    expect(HALF, &[], &[], 1, &texts);
}

#[test]
fn action_with_missing_parts_is_reported() {
    let forged = [("rt/fib/_action/status", "action_msgs::msg::dds_::GoalStatusArray_")];
    let _forged = Forged::start(ACTION, "part", &forged);
    let texts = ["error: /fib: the server /part lacks send_goal, cancel_goal, get_result and feedback"];
    expect(ACTION, &[], &[], 1, &texts);
}

/// As users expect of `ros2 doctor --report`.
#[test]
fn report_lists_nodes_topics_and_endpoints_with_qos() {
    let publish = ["topic", "pub", "-r", "10", "/scan", "std_msgs/String", "hi", "--ros2", "__name:=lidar"];
    let lidar = Peer::spawn("publisher", runnel(REPORT, &publish)).expect("it starts");
    let node = format!("/lidar 127.0.0.1 {} Runnel", lidar.id());
    let texts = [
        "ROS 2 node host pid RMW pubs subs services",
        &node,
        "ROS 2 topic type pubs subs",
        "/scan std_msgs/msg/String 1 0",
        "/scan publisher /lidar RELIABLE, VOLATILE",
        "ROS 2 service type servers clients",
    ];
    expect(REPORT, &["--report"], &[], 0, &texts);
}

#[test]
fn incompatible_qos_names_both_ends_and_the_override() {
    let one = Spinning::in_ros2(QOS);
    let node = one.context.create_node("scanner").expect("a node");
    let _publisher =
        node.create_publisher::<Text>("scan", QoS::keep_last(1).best_effort()).expect("a publisher");
    let other = Spinning::in_ros2(QOS);
    let node = other.context.create_node("mapper").expect("a node");
    let _subscription =
        node.create_subscription("scan", QoS::keep_last(1), |_: &Text| {}).expect("a subscription");
    let texts = [
        "error: /scan: No messages from publisher /scanner to subscription /mapper: incompatible QoS: reliability",
        "-p qos_overrides./scan.subscription.reliability:=best_effort",
    ];
    expect(QOS, &[], &[], 1, &texts);
}

#[test]
fn changed_field_of_a_definition_is_named() {
    let publisher = |context: &Context, name: &str, definition: &str| {
        let node = context.create_node(name).expect("a node");
        let of = TypeName::parse("p/msg/T").expect("a name");
        let schema = Schema::from_full_text_in(Generation::Ros2, &of, definition).expect("a definition");
        let publisher = node.create_dynamic_publisher("t", &schema, 10).expect("a publisher");
        (node, publisher)
    };
    let (one, other) = (Spinning::in_ros2(HASHES), Spinning::in_ros2(HASHES));
    let _old = publisher(&one.context, "old", "float32 x\n");
    let _new = publisher(&other.context, "new", "float64 x\nbool ok\n");
    let (_, output) = doctor(HASHES, &[], &[]);
    let is_either = |one: &str, other: &str| output.contains(one) || output.contains(other);
    assert!(output.contains("error: /t: the definitions of p/msg/T differ: "), "{output}");
    let [forth, back] =
        ["p/msg/T.x is float32 at /old, float64 at /new", "p/msg/T.x is float64 at /new, float32 at /old"];
    assert!(is_either(forth, back) && output.contains("p/msg/T.ok (bool) exists only at /new"), "{output}");
}

#[test]
fn name_of_two_nodes_is_reported() {
    let (one, other) = (Spinning::in_ros2(TWINS), Spinning::in_ros2(TWINS));
    let _nodes = [&one, &other].map(|side| side.context.create_node("twin").expect("a node"));
    let texts = [
        "warning: /twin: 2 nodes have this name: Runnel at",
        &format!("(this host, process {})", std::process::id()),
        "--ros-args -r __node:=twin_2",
    ];
    expect(TWINS, &[], &[], 0, &texts);
}

#[test]
fn other_domain_is_named_if_something_is_missing() {
    let far = Spinning::in_ros2(OTHER);
    let node = far.context.create_node("far").expect("a node");
    let _publisher = node.create_publisher::<Text>("chatter", 10).expect("a publisher");
    let texts =
        ["warning: ROS_DOMAIN_ID: is 64, and no participant is in domain 64; there is", "/far in domain 65"];
    expect(ELSEWHERE, &[], &[], 1, &texts);
    let near = Spinning::in_ros2(ELSEWHERE);
    let node = near.context.create_node("near").expect("a node");
    let _subscription = node.create_subscription("chatter", 10, |_: &Text| {}).expect("a subscription");
    let texts = ["/chatter has one end in domain 64 (/near) and the other in domain 65 (/far)"];
    expect(ELSEWHERE, &[], &[], 0, &texts);
}

#[test]
fn topic_of_both_graphs_without_a_carrier_is_reported() {
    let (_master, argument) = master(MIXED);
    let old = Spinning::new(MIXED, Graphs::Ros1, std::slice::from_ref(&argument));
    let node = old.context.create_node("old").expect("a node");
    let _publisher = node.create_publisher::<Text>("chatter", 10).expect("a publisher");
    let _other = node.create_publisher::<Text>("count", 10).expect("a publisher");
    let new = Spinning::in_ros2(MIXED);
    let node = new.context.create_node("new").expect("a node");
    let _subscription = node.create_subscription("chatter", 10, |_: &Text| {}).expect("a subscription");
    let _count = node.create_subscription("count", 10, |_: &Int32| {}).expect("a subscription");
    let texts = [
        "warning: /chatter: published in ROS 1 by /old, subscribed to in ROS 2 by /new, and nothing joins the graphs",
        "-> runnel bridge --topics /chatter",
        "info: /chatter and /count (ROS 1): published, but not subscribed to",
        "warning: /count: its type is std_msgs/String in ROS 1 (/old), and std_msgs/msg/Int32 in ROS 2 (/new)",
    ];
    expect(MIXED, &[&argument], &[], 0, &texts);
}

#[test]
fn bridges_of_one_topic_in_opposite_directions_are_reported() {
    let (_master, argument) = master(CIRCLE);
    let side = |graphs| Spinning::new(CIRCLE, graphs, std::slice::from_ref(&argument));
    let sides = [Graphs::Ros1, Graphs::Ros2, Graphs::Ros1, Graphs::Ros2].map(side);
    let nodes: Vec<_> = sides
        .iter()
        .zip(["bridge_a", "bridge_a", "bridge_b", "bridge_b"])
        .map(|(side, name)| side.context.create_node(name).expect("a node"))
        .collect();
    let publish = |at: usize| nodes[at].create_publisher::<Text>("loop", 10).expect("a publisher");
    let subscribe =
        |at: usize| nodes[at].create_subscription("loop", 10, |_: &Text| {}).expect("a subscription");
    let _forth = (subscribe(0), publish(1));
    let _back = (publish(2), subscribe(3));
    let texts = [
        "error: /loop: /bridge_a and /bridge_b carry it between the graphs in opposite directions",
        "-> stop all but one of these bridges: runnel node kill /bridge_b",
    ];
    expect(CIRCLE, &[&argument], &[], 1, &texts);
}

#[test]
fn stopped_process_is_reported() {
    let publish = ["topic", "pub", "-r", "10", "/t", "std_msgs/String", "hello", "--ros2", "__name:=source"];
    let stopped = Peer::spawn("publisher", runnel(STOPPED, &publish)).expect("it starts");
    expect(STOPPED, &[], &[], 0, &["/t: published, but not subscribed to"]);
    stopped.signal(Signal::STOP).expect("it runs");
    expect(STOPPED, &[], &[], 1, &["is stopped (by Ctrl-Z or a debugger)", "-> kill -CONT "]);
    stopped.signal(Signal::CONT).expect("it is there");
}

#[test]
fn message_larger_than_receive_buffers_is_reported() {
    let side = Spinning::in_ros2(LARGE);
    let node = side.context.create_node("camera").expect("a node");
    let publisher = node.create_publisher::<Image>("image", QoS::keep_last(1)).expect("a publisher");
    let ends = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let image = Image { data: vec![0; 4_000_000], ..Image::default() };
            while !ends.load(Ordering::Relaxed) {
                publisher.publish(&image).expect("it is sent");
                thread::sleep(std::time::Duration::from_millis(50));
            }
        });
        let texts =
            ["warning: /image: /camera sends messages of 40000", "-> sudo sysctl -w net.core.rmem_max="];
        // The subscription may be matched too late for a whole message.
        let deadline = deadline_in(2 * STEP);
        let output = loop {
            let (_, output) = doctor(LARGE, &["--stamps"], &[]);
            if texts.iter().all(|text| output.contains(text)) || std::time::Instant::now() >= deadline {
                break output;
            }
        };
        ends.store(true, Ordering::Relaxed);
        assert!(texts.iter().all(|text| output.contains(text)), "{output}");
    });
}

#[test]
fn variables_of_discovery_are_judged() {
    let off = [("ROS_AUTOMATIC_DISCOVERY_RANGE", "OFF")];
    expect(VARIABLES, &[], &off, 1, &["warning: ROS_AUTOMATIC_DISCOVERY_RANGE: is OFF", "-> unset ROS_"]);
    let peers = [("ROS_STATIC_PEERS", "robot.invalid;10.255.255.1")];
    let texts = [
        "error: ROS_STATIC_PEERS: names robot.invalid, which does not resolve here",
        "warning: ROS_STATIC_PEERS: names 10.255.255.1, where no participant of domain 69 answers",
    ];
    expect(VARIABLES, &[], &peers, 1, &texts);
    let mut command = runnel(VARIABLES, &["topic", "echo", "/t", "--ros2"]);
    command.envs(off);
    let _isolated = Peer::spawn("isolated", command).expect("it starts");
    let texts =
        ["(process ", "was started with ROS_AUTOMATIC_DISCOVERY_RANGE=OFF: it discovers no participant"];
    expect(VARIABLES, &[], &[], 1, &texts);
}

#[test]
fn json_has_findings_of_ros2() {
    let (one, other) = (Spinning::in_ros2(JSON), Spinning::in_ros2(JSON));
    let _nodes = [&one, &other].map(|side| side.context.create_node("twin").expect("a node"));
    let texts = ["\"severity\":\"warning\",\"area\":\"node\",\"who\":\"/twin\""];
    expect(JSON, &["--json"], &[], 0, &texts);
}
