//! The command `ros2`, as a link to `runnel`, in a graph of rclpy. The expected texts are those of the original ros2 of
//! Kilted.

use std::fs;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use interop::ros2::{Distro, Origin, Ros2Graph};
use interop::{Printed, TIMEOUT, built, ready};
use runnel::core::dynamic::DynamicMessage;
use runnel::core::schema::{Generation, Schema, TypeName};
use runnel::{NodeOptions, QoS};
use runnel_testkit::process::{Peer, Signal, deadline_in};

const KILTED: Origin = Origin::Ros2(Distro::Kilted);

/// A type that Runnel does not have built in, as rosidl defines it, and its default value.
const OWN: &str = "test_msgs/msg/Nested";
const OWN_TEXT: &str = "basic_types_value:\n  bool_value: false\n  byte_value: \"\\0\"\n  char_value: 0\n  \
                        float32_value: 0.0\n  float64_value: 0.0\n  int8_value: 0\n  uint8_value: 0\n  int16_value: 0\n  \
                        uint16_value: 0\n  int32_value: 0\n  uint32_value: 0\n  int64_value: 0\n  uint64_value: 0\n---\n";

/// Runs a command line with `ros2` as a link to `runnel`.
fn ros2(graph: &Ros2Graph, line: &str) -> Printed {
    let folder = graph.home().join("links");
    if !folder.exists() {
        fs::create_dir(&folder).unwrap();
        let made = graph.command(built("runnel")).args(["ros2", "link"]).arg(&folder).output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    }
    let mut command = graph.command("timeout");
    command.args(["--kill-after=5", &TIMEOUT.to_string(), "bash", "-c", line]);
    command.env("PATH", format!("{}:/usr/bin:/bin", folder.display()));
    let output = command.stdin(Stdio::null()).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Printed { code: output.status.code(), output: text(&output.stdout), error: text(&output.stderr) }
}

/// Output of a command that succeeds without errors.
fn answer(graph: &Ros2Graph, line: &str) -> String {
    let printed = ros2(graph, line);
    assert_eq!((printed.code, printed.error.as_str()), (Some(0), ""), "{line}: {}", printed.output);
    printed.output
}

/// A talker of rclpy that publishes default values.
fn talker(graph: &Ros2Graph, distro: Distro, topic: &str, of: &str) -> Peer {
    let arguments = [topic, "--type", of, "--value", "{}", "--wait", "0", "--count", "0", "--rate", "10"];
    ready(graph.node(Origin::Ros2(distro), "talker", "talker", &arguments))
}

#[test]
fn graph_is_shown_as_by_the_original() {
    let graph = Ros2Graph::new();
    let _talker = talker(&graph, Distro::Kilted, "/chatter", "std_msgs/msg/String");
    let expected = "/chatter [std_msgs/msg/String]\n/parameter_events [rcl_interfaces/msg/ParameterEvent]\n\
                    /rosout [rcl_interfaces/msg/Log]\n";
    assert_eq!(answer(&graph, "ros2 topic list -t"), expected);
    assert_eq!(answer(&graph, "ros2 topic list -c"), "3\n");
    let verbose = answer(&graph, "ros2 topic list --verbose");
    let published = "Published topics:\n * /chatter [std_msgs/msg/String] 1 publisher\n * ";
    assert!(verbose.starts_with(published) && verbose.ends_with("\n\nSubscribed topics:\n\n"), "{verbose}");
    assert_eq!(answer(&graph, "ros2 topic type /chatter"), "std_msgs/msg/String\n");
    assert_eq!(answer(&graph, "ros2 topic find std_msgs/msg/String"), "/chatter\n");
    assert_eq!(answer(&graph, "ros2 topic find -c std_msgs/msg/String"), "1\n");
    let info = "Type: std_msgs/msg/String\nPublisher count: 1\nSubscription count: 0\n";
    assert_eq!(answer(&graph, "ros2 topic info /chatter"), info);
    let verbose = answer(&graph, "ros2 topic info /chatter -v");
    let head = "Type: std_msgs/msg/String\n\nPublisher count: 1\n\nNode name: talker\nNode namespace: /\n\
                Topic type: std_msgs/msg/String\nTopic type hash: RIHS01_df66";
    assert!(verbose.starts_with(head) && verbose.ends_with("Subscription count: 0\n\n"), "{verbose}");
    assert!(!verbose.contains("Participant"), "{verbose}");
    assert_eq!(answer(&graph, "ros2 node list"), "/talker\n");
    assert_eq!(answer(&graph, "ros2 node list --count-nodes"), "1\n");
    let node = answer(&graph, "ros2 node info /talker");
    let lists = "/talker\n  Subscribers:\n\n  Publishers:\n    /chatter: std_msgs/msg/String\n";
    assert!(node.starts_with(lists), "{node}");
    let ends = "  Service Clients:\n\n  Action Servers:\n\n  Action Clients:\n\n";
    assert!(node.ends_with(ends) && node.contains("  Service Servers:\n    /talker/"), "{node}");
}

#[test]
fn messages_are_printed_as_by_the_original() {
    let graph = Ros2Graph::new();
    let _talker = talker(&graph, Distro::Kilted, "/imu", "sensor_msgs/msg/Imu");
    let zeros = "- 0.0\n".repeat(9);
    let vector = "  x: 0.0\n  y: 0.0\n  z: 0.0\n";
    let block = format!(
        "header:\n  stamp:\n    sec: 0\n    nanosec: 0\n  frame_id: ''\norientation:\n{vector}  w: 1.0\n\
         orientation_covariance:\n{zeros}angular_velocity:\n{vector}angular_velocity_covariance:\n{zeros}\
         linear_acceleration:\n{vector}linear_acceleration_covariance:\n{zeros}---\n"
    );
    assert_eq!(answer(&graph, "ros2 topic echo /imu --once"), block);
    let flow = block.replace(&format!("\n{zeros}"), &format!(" [{}]\n", ["0.0"; 9].join(", ")));
    assert_eq!(answer(&graph, "ros2 topic echo --once --flow-style /imu"), flow);
    let csv = format!("0,0,,0.0,0.0,0.0,1.0,{}\n", ["0.0"; 33].join(","));
    assert_eq!(answer(&graph, "ros2 topic echo /imu sensor_msgs/msg/Imu --csv --once"), csv);
    assert_eq!(answer(&graph, "ros2 topic echo /imu --once --field orientation.w"), "1.0\n---\n");
    assert_eq!(
        answer(&graph, "ros2 topic echo /imu --once --field header.stamp"),
        "sec: 0\nnanosec: 0\n---\n"
    );
    let bare = answer(&graph, "ros2 topic echo /imu --once --no-arr --no-str");
    assert!(bare.contains("  frame_id: '<string length: <0>>'\n"), "{bare}");
    assert!(bare.contains("orientation_covariance: '<array type: double[9]>'\n"), "{bare}");
    let wrong = ros2(&graph, "ros2 topic echo /imu --once --field nope");
    assert!(wrong.code == Some(1) && wrong.error.starts_with("Invalid field 'nope': "), "{wrong:?}");
}

#[test]
fn type_of_rclpy_is_learned_from_its_node() {
    for distro in [Distro::Kilted, Distro::Jazzy] {
        let graph = Ros2Graph::new();
        let _talker = talker(&graph, distro, "/own", OWN);
        assert_eq!(answer(&graph, "ros2 topic echo /own --once"), OWN_TEXT, "{distro:?}");
        let mut command = graph.command("timeout");
        command.args([TIMEOUT.to_string().as_ref(), built("runnel").as_os_str()]);
        let output = command.args(["topic", "echo", "/own", "-1", "--field", "basic_types_value.int8_value"]);
        let output = output.output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "0\n---\n", "{output:?}");
    }
}

#[test]
fn type_of_subscription_is_learned_for_a_publisher() {
    let graph = Ros2Graph::new();
    let of = "test_msgs/msg/BasicTypes";
    let mut listener = ready(graph.listener(KILTED, &["/own", "--type", of, "--count", "1"]));
    let printed = answer(&graph, &format!("ros2 topic pub -1 /own {of} '{{int8_value: 5}}'"));
    assert!(printed.contains("publishing #1: test_msgs.msg.BasicTypes(bool_value=False, "), "{printed}");
    listener.wait_for_line(|line| line.starts_with("got 1 len "), deadline_in(TIMEOUT)).unwrap();
}

/// Output of a command while a Runnel node publishes a type of its own, with or without descriptions of its types.
fn echo_of_own_type(describes: bool) -> Printed {
    let graph = Ros2Graph::new();
    let context = graph.context();
    let options = NodeOptions::default().start_type_description_service(describes);
    let node = context.create_node_with_options("own_talker", options).unwrap();
    let text = "my_msgs/Part[] parts\nstring<=5 word\n\n\
                ================================================================================\n\
                MSG: my_msgs/Part\nuint8[2] bytes\n";
    let name = TypeName::new("my_msgs", "Whole");
    let schema: Arc<Schema> = Schema::from_full_text_in(Generation::Ros2, &name, text).unwrap();
    let publisher = node.create_dynamic_publisher("/own", &schema, QoS::keep_last(5)).unwrap();
    let mut message = DynamicMessage::default_of(&schema).unwrap();
    message.set("word", "hi").unwrap();
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_done.load(Ordering::SeqCst) {
                publisher.publish(&message).unwrap();
                context.spin_once(Duration::from_millis(20)).unwrap();
            }
        });
        let printed = ros2(&graph, "ros2 topic echo /own --once");
        is_done.store(true, Ordering::SeqCst);
        printed
    })
}

#[test]
fn type_of_runnel_is_learned_from_its_node() {
    let printed = echo_of_own_type(true);
    assert_eq!(
        (printed.code, printed.output.as_str()),
        (Some(0), "parts: []\nword: hi\n---\n"),
        "{printed:?}"
    );
}

#[test]
fn unknown_type_that_no_node_describes_is_an_error() {
    let printed = echo_of_own_type(false);
    assert_eq!((printed.code, printed.output.as_str()), (Some(1), ""), "{printed:?}");
    let why = "It cannot be learned from the graph: no service get_type_description at /own_talker";
    assert!(printed.error.contains("my_msgs/Whole") && printed.error.contains(why), "{printed:?}");
}

#[test]
fn published_message_reaches_rclpy() {
    let graph = Ros2Graph::new();
    let mut listener = ready(graph.listener(KILTED, &["/chatter", "--count", "1"]));
    let line = "ros2 topic pub -1 /chatter std_msgs/msg/String 'data: hello'";
    let printed = answer(&graph, line);
    let expected = "publisher: beginning loop\npublishing #1: std_msgs.msg.String(data='hello')\n\n";
    let waiting = "Waiting for at least 1 matching subscription(s)...\n";
    assert_eq!(printed.replace(waiting, ""), expected);
    listener.wait_for_line(|line| line.starts_with("got 1 len "), deadline_in(TIMEOUT)).unwrap();
}

#[test]
fn exit_codes_are_those_of_the_original() {
    let graph = Ros2Graph::new();
    for (line, code, text) in [
        ("ros2 topic type /nope", 1, ""),
        ("ros2 topic info /nope", 1, "Unknown topic '/nope'\n"),
        ("ros2 node info /nope", 1, "Unable to find node '/nope'\n"),
        ("ros2 topic echo /nope", 1, "Could not determine the type for the passed topic\n"),
        (
            "ros2 topic pub -1 /a std_msgs/msg/String hi",
            1,
            "The passed value needs to be a dictionary in YAML format, such as '{data: ..}'\n",
        ),
        ("ros2 run nope nope", 1, "Package 'nope' not found (searched: AMENT_PREFIX_PATH)\n"),
    ] {
        let printed = ros2(&graph, line);
        let lines = printed.error.lines().filter(|line| !line.starts_with("no graph found"));
        let error: String = lines.map(|line| format!("{line}\n")).collect();
        assert_eq!((printed.code, error.as_str()), (Some(code), text), "{line}");
    }
    for line in ["ros2 nope", "ros2 topic nope", "ros2 topic echo", "ros2 topic list --nope"] {
        assert_eq!(ros2(&graph, line).code, Some(2), "{line}");
    }
    assert_eq!(ros2(&graph, "ros2 topic").code, Some(0));
    assert_eq!(
        ros2(&graph, "ros2 topic pub -1 /nobody std_msgs/msg/String --max-wait-time-secs 0.2").code,
        Some(1)
    );
}

#[test]
fn interrupt_ends_with_the_exit_code_of_the_original() {
    let graph = Ros2Graph::new();
    let mut command = graph.command(built("runnel"));
    command.args(["ros2", "topic", "pub", "/chatter", "std_msgs/msg/String"]);
    let mut publisher = Peer::spawn("ros2", command).unwrap();
    publisher.wait_for_line(|line| line.starts_with("publishing #1: "), deadline_in(TIMEOUT)).unwrap();
    publisher.signal(Signal::INT).unwrap();
    assert_eq!(publisher.wait_exit(deadline_in(TIMEOUT)).unwrap().code(), Some(2));
}
