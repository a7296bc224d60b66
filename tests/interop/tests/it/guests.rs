//! The nodes in WebAssembly of `guests/`, which `./test` builds, in `runnel wasm run`: among native nodes, rclpy and rospy.

use std::fs;
use std::process::Command;
use std::sync::mpsc;
use std::time::Duration;

use interop::ros2::{Distro, Origin, Ros2Graph};
use interop::{Master, Ros1Graph, Server, TIMEOUT, built, folder};
use runnel::Parameter;
use runnel::msgs::std_msgs::msg::{Int64, String as Text};
use runnel_testkit::process::{Peer, deadline_in};

/// Time limit of a lap with its preparation on a busy host, in seconds.
const LAP: u64 = 120;

const KILTED: Origin = Origin::Ros2(Distro::Kilted);

fn module(name: &str) -> String {
    let module = folder().join("../guests").join(format!("{name}.wasm"));
    assert!(module.is_file(), "{} is missing: run ./test, or guests/build", module.display());
    module.to_str().expect("a name in UTF-8").to_owned()
}

/// The words that run a guest in one graph.
fn words(graph: &'static str, name: &str, arguments: &[&str]) -> Vec<String> {
    let module = module(name);
    let words = [&["wasm", "run", graph, "--allow-all", &module, "--"], arguments].concat();
    words.into_iter().map(str::to_owned).collect()
}

fn in_ros2(graph: &Ros2Graph, name: &str, arguments: &[&str]) -> Peer {
    let mut command = graph.command(built("runnel"));
    command.args(words("--ros2", name, arguments));
    Peer::spawn(name, command).expect("runnel")
}

fn in_ros1(graph: &Ros1Graph, name: &str, arguments: &[&str]) -> Peer {
    let words = words("--ros1", name, arguments);
    graph.runnel("runnel", &words.iter().map(String::as_str).collect::<Vec<_>>())
}

/// A native program of this workspace in ROS 2.
fn native(graph: &Ros2Graph, name: &str, arguments: &[&str]) -> Peer {
    let mut command: Command = graph.command(built(name));
    command.arg("--ros2").args(arguments);
    Peer::spawn(name, command).expect("the program")
}

/// The lines of a program that ends by itself.
fn lines(mut peer: Peer) -> Vec<String> {
    let status = peer.wait_exit(deadline_in(TIMEOUT)).expect("it ends");
    assert!(status.success(), "{}: {}", peer.name(), peer.output());
    peer.lines()
}

/// The node in AssemblyScript, where its compiler is installed.
fn talker_in_assemblyscript() -> Option<&'static str> {
    std::env::var_os("RUNNEL_TEST_NO_ASSEMBLYSCRIPT").is_none().then_some("talker_as")
}

#[test]
fn guests_in_each_language_can_be_checkpointed() {
    let graph = Ros2Graph::new();
    let guests = [
        "tracer",
        "fibonacci_server",
        "fibonacci_client",
        "talker",
        "listener",
        "add_two_ints_server",
        "counter",
    ];
    for name in guests.into_iter().chain(talker_in_assemblyscript()) {
        graph.answer(&["wasm", "compile", "--checkpoint", &module(name), "-o", "node.cwasm"]);
    }
}

#[test]
fn rclpy_receives_messages_of_guests_in_c_and_assemblyscript() {
    for talker in ["talker"].into_iter().chain(talker_in_assemblyscript()) {
        let graph = Ros2Graph::new();
        let arguments = ["/chatter", "--type", "std_msgs/msg/String", "--count", "3", "--show"];
        let mut listener = graph.listener(KILTED, &arguments);
        listener.wait_for_line(|line| line == "ready", deadline_in(TIMEOUT)).expect("rclpy is ready");
        let _talker = in_ros2(&graph, talker, &[]);
        let got = lines(listener).into_iter().filter(|line| line.starts_with("got ")).collect::<Vec<_>>();
        assert_eq!(got.len(), 3, "{talker}");
        let is_next = |pair: &[String]| number(&pair[0]) + 1 == number(&pair[1]);
        assert!(got.windows(2).all(is_next), "{talker}: {got:?}");
    }
}

/// The number in `got N {"data":"hello 5"}`.
fn number(line: &str) -> u32 {
    let text = line.split_once("hello ").and_then(|(_, number)| number.split('"').next());
    text.and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("no greeting: {line}"))
}

#[test]
fn guest_in_c_prints_native_messages_in_both_generations() {
    let ros2 = Ros2Graph::new();
    let node = ros2.context().create_node("publisher").expect("a node");
    prints_messages_of(&node, in_ros2(&ros2, "listener", &[]));

    let master = Master::start(Server::Runnel);
    let options = runnel::ContextOptions::default().signals(false);
    let arguments = [format!("__master:={}", master.graph().master_uri())];
    let context = runnel::Context::with_options(options.arguments(arguments)).expect("a context");
    let node = context.create_node("publisher").expect("a node");
    prints_messages_of(&node, in_ros1(master.graph(), "listener", &[]));
}

fn prints_messages_of(node: &runnel::Node, mut listener: Peer) {
    let publisher = node.create_publisher::<Text>("chatter", 10).expect("a publisher");
    assert!(publisher.wait_for_subscribers(1, Duration::from_secs(TIMEOUT)).expect("it waits"));
    for text in ["first", "", "grüße"] {
        publisher.publish(Text { data: text.into() }).expect("it is sent");
    }
    for text in ["first", "", "grüße"] {
        listener.wait_for_line(|line| line == text, deadline_in(TIMEOUT)).expect("the text");
    }
}

#[test]
fn service_and_client_in_c_agree() {
    let graph = Ros2Graph::new();
    let _server = in_ros2(&graph, "add_two_ints_server", &[]);
    assert_eq!(lines(in_ros2(&graph, "add_two_ints_client", &["40", "2"])), ["42"]);
    assert_eq!(
        lines(in_ros2(&graph, "add_two_ints_client", &["-9223372036854775808", "-1"])),
        [i64::MAX.to_string()]
    );
}

#[test]
fn guest_in_cpp_follows_its_parameter() {
    let graph = Ros2Graph::new();
    let context = graph.context();
    let node = context.create_node("observer").expect("a node");
    let (send, counts) = mpsc::channel();
    let _count = node
        .create_subscription("count", 10, move |count: &Int64| _ = send.send(count.data))
        .expect("a subscription");
    let _counter = in_ros2(&graph, "counter", &[]);
    let spinning = std::thread::spawn(move || context.spin());
    let first = counts.recv_timeout(Duration::from_secs(TIMEOUT)).expect("a count");
    let client = node.create_parameter_client("/counter").expect("a client");
    assert!(client.wait_for_services(Duration::from_secs(TIMEOUT)).expect("it waits"));
    let results = client.set_parameters(&[Parameter::new("step", 1000)]).expect("an answer");
    assert!(results.iter().all(Result::is_ok), "{results:?}");
    let until = deadline_in(TIMEOUT);
    let mut last = first;
    loop {
        let count = counts.recv_timeout(Duration::from_secs(TIMEOUT)).expect("a count");
        if count == last + 1000 {
            break;
        }
        assert!(std::time::Instant::now() < until && count == last + 1, "{last} before {count}");
        last = count;
    }
    node.context().shutdown();
    spinning.join().expect("no panic").expect("it spins");
}

#[test]
fn action_from_one_source_works_natively_and_as_guest() {
    let done = ["3 + 1 = 4", "[0, 1, 1]", "[0, 1, 1, 2]", "SUCCEEDED [0, 1, 1, 2]"];
    for (server, client) in [(true, true), (true, false), (false, true)] {
        let graph = Ros2Graph::new();
        let run = |is_guest: bool, name: &str, arguments: &[&str]| match is_guest {
            true => in_ros2(&graph, name, arguments),
            false => native(&graph, name, arguments),
        };
        let _server = run(server, "fibonacci_server", &[]);
        assert_eq!(lines(run(client, "fibonacci_client", &["3"])), done, "{server} {client}");
        // The other ends are the same at each pair.
        if !(server && client) {
            continue;
        }
        let canceled = lines(run(client, "fibonacci_client", &["40", "2"]));
        assert!(
            canceled.last().is_some_and(|line| line.starts_with("PREEMPTED [0, 1, 1, 2")),
            "{canceled:?}"
        );
        let rejected = lines(run(client, "fibonacci_client", &["60"]));
        assert!(rejected.last().is_some_and(|line| line.starts_with("REJECTED []")), "{rejected:?}");
    }
}

#[test]
fn tracer_from_one_source_drives_the_robot_as_guest() {
    let master = Master::start(Server::Runnel);
    let _control = master.graph().runnel("line_trace", &["control", "--simulate"]);
    let _tracer = in_ros1(master.graph(), "tracer", &[]);
    let mut watch = master.graph().runnel("line_trace", &["watch"]);
    watch.wait_for_line(|line| line.starts_with("lap 1:"), deadline_in(LAP)).expect("a lap in ROS 1");

    let graph = Ros2Graph::new();
    let _control = native(&graph, "line_trace", &["control", "--simulate"]);
    let _tracer = in_ros2(&graph, "tracer", &[]);
    let mut watch = native(&graph, "line_trace", &["watch"]);
    watch.wait_for_line(|line| line.starts_with("lap 1:"), deadline_in(LAP)).expect("a lap in ROS 2");
}

#[test]
fn modules_in_rust_and_c_stay_small() {
    for (name, most) in
        [("tracer", 160_000), ("fibonacci_server", 160_000), ("talker", 40_000), ("counter", 45_000)]
    {
        let module = folder().join("../guests").join(format!("{name}.wasm"));
        let size = fs::metadata(&module).expect("the module").len();
        assert!(size < most, "{name}: {size} bytes");
    }
}
