//! Names and types as users type them: misspelt, abbreviated, or of a type that only the graph knows.

use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use runnel::core::dynamic::DynamicMessage;
use runnel::core::schema::{Generation, Schema, TypeName};
use runnel::msgs::std_msgs::msg::String as Text;
use runnel::msgs::std_srvs::srv::{SetBool, SetBoolRequest, SetBoolResponse};
use runnel::{Context, ContextOptions, Graphs, QoS};
use runnel_testkit::namespace::require_private_network;
use runnel_testkit::process::{Peer, deadline_in};

/// Seconds that a step may take on a busy host.
const STEP: u64 = 60;

/// A context in ROS 2 that spins until it is dropped.
pub struct Spinning {
    pub context: Context,
    domain: u16,
    thread: Option<JoinHandle<()>>,
}

impl Spinning {
    pub fn new(domain: u16) -> Self {
        require_private_network();
        let options = ContextOptions::default().signals(false).graphs(Graphs::Ros2).domain_id(domain);
        let context = Context::with_options(options).expect("a context");
        let spins = context.clone();
        Self { context, domain, thread: Some(thread::spawn(move || drop(spins.spin()))) }
    }

    fn runnel(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_runnel"));
        command.args(line.split(' ')).stdin(Stdio::null()).env("ROS_DOMAIN_ID", self.domain.to_string());
        for variable in ["ROS_MASTER_URI", "ROS_IP", "ROS_HOSTNAME", "ROS_NAMESPACE", "RUNNEL_LOG"] {
            command.env_remove(variable);
        }
        command
    }

    /// Runs a command until its output and its errors contain a text: on a busy host it may listen too briefly.
    fn expect(&self, line: &str, expected: &str) {
        let deadline = deadline_in(STEP);
        loop {
            let output = self.runnel(line).output().expect("it starts");
            let text = [output.stdout, output.stderr].concat();
            let text = String::from_utf8_lossy(&text);
            if text.contains(expected) {
                return;
            }
            assert!(Instant::now() < deadline, "{line}: no {expected:?} in {text}");
        }
    }
}

impl Drop for Spinning {
    fn drop(&mut self) {
        self.context.shutdown();
        self.thread.take().map(JoinHandle::join);
    }
}

#[test]
fn misspelt_name_gets_a_suggestion() {
    let robot = Spinning::new(120);
    let node = robot.context.create_node("arm").expect("a node");
    let _odom = node.create_publisher::<Text>("/odom", QoS::default()).expect("a publisher");
    let feedback = "/fibonacci/_action/feedback";
    let _feedback = node.create_publisher::<Text>(feedback, QoS::default()).expect("a publisher");
    let answer = |_: &SetBoolRequest| Ok::<_, runnel::Error>(SetBoolResponse::default());
    let _power = node.create_service::<SetBool, _>("/power", answer).expect("a service");
    node.declare_parameter("rate", 5.0).expect("a parameter");
    for (line, meant) in [
        ("ros2 topic info odm", "/odom"),
        ("ros2 topic echo odm", "/odom"),
        ("topic info odm", "/odom"),
        ("ros2 node info /amr", "/arm"),
        ("node info /amr", "/arm"),
        ("ros2 param get /amr rate", "/arm"),
        ("ros2 param get /arm rat", "rate"),
        ("param describe /amr rate", "/arm"),
        ("ros2 service info /powr", "/power"),
        ("service call /powr true", "/power"),
        ("ros2 service call /powr std_srvs/srv/SetBool --timeout 0.5", "/power"),
        ("ros2 action info /fib", "/fibonacci"),
        ("ros2 action send_goal /fib example_interfaces/action/Fibonacci --timeout 0.5", "/fibonacci"),
    ] {
        robot.expect(line, &format!("(did you mean {meant}?)"));
    }
    robot.expect("ros2 topic echo /odom --one", "no such option: --one (did you mean --once?)");
    robot.expect("service call /powr true", "--wait");
}

#[test]
fn ros2_service_call_waits_as_the_original() {
    let robot = Spinning::new(121);
    let call = robot.runnel("ros2 service call /power std_srvs/srv/SetBool");
    let mut call = Peer::spawn("call", call).expect("it starts");
    let is_waiting = |line: &str| line == "waiting for service to become available...";
    call.wait_for_line(is_waiting, deadline_in(STEP)).expect("it waits");
    let node = robot.context.create_node("late").expect("a node");
    let answer = |_: &SetBoolRequest| Ok::<_, runnel::Error>(SetBoolResponse::default());
    let _power = node.create_service::<SetBool, _>("/power", answer).expect("a service");
    call.wait_for_line(|line| line == "response:", deadline_in(STEP)).expect("the service answers");
    assert_eq!(call.wait_exit(deadline_in(STEP)).expect("it ends").code(), Some(0), "{}", call.output());
    let waiting = call.output().matches("waiting for service").count();
    assert_eq!(waiting, 1, "{}", call.output());
}

/// What an error advises can be typed as it is.
#[test]
fn ros2_spells_types_in_three_parts() {
    let robot = Spinning::new(122);
    for (line, advice) in [
        ("ros2 interface show geometry_msgs/msg/Twis", "did you mean geometry_msgs/msg/Twist?"),
        (
            "ros2 action send_goal /fib example_interfaces/action/Fibonacci wrong:",
            "(see 'runnel ros2 interface show example_interfaces/action/Fibonacci')",
        ),
        ("ros2 topic echo /a std_msgs/msg/Strin", "did you mean std_msgs/msg/String?"),
        ("ros2 topic pub /a std_msgs/msg/Strin", "did you mean std_msgs/msg/String?"),
        ("ros2 service call /a std_srvs/srv/SetBol --timeout 0.1", "did you mean std_srvs/srv/SetBool?"),
        ("interface show geometry_msgs/msg/Twis", "did you mean geometry_msgs/Twist?"),
    ] {
        robot.expect(line, advice);
    }
}

/// A user who types the type by habit gets what a user without it gets.
#[test]
fn typed_type_is_learned_from_its_publisher() {
    let robot = Spinning::new(123);
    let node = robot.context.create_node("station").expect("a node");
    let name = TypeName::new("climate", "Reading");
    let schema: Arc<Schema> =
        Schema::from_full_text_in(Generation::Ros2, &name, "float64 degrees\n").expect("sound");
    let publisher = node.create_dynamic_publisher("/readings", &schema, QoS::latched()).expect("a publisher");
    let mut reading = DynamicMessage::default_of(&schema).expect("small");
    reading.set("degrees", 21.5).expect("a number");
    let publish = move || publisher.publish(&reading);
    let _timer = node.create_timer(Duration::from_millis(20), publish);
    for line in [
        "ros2 topic echo /readings climate/msg/Reading --once",
        "ros2 topic echo /readings climate/Reading --once",
        "topic echo /readings climate/Reading --once",
    ] {
        robot.expect(line, "degrees: 21.5\n---\n");
    }
    robot.expect("topic pub -n 1 -v /readings climate/Reading 21.5", "publishing:\ndegrees: 21.5\n");
    for line in
        ["ros2 topic echo /readings climate/msg/Readin --once", "topic pub -n 1 /readings climate/Readin 1"]
    {
        robot.expect(line, "It cannot be learned from the graph");
    }
}

#[test]
fn parameters_of_a_node_are_completed() {
    let robot = Spinning::new(126);
    let node = robot.context.create_node("arm").expect("a node");
    node.declare_parameter("rate", 5.0).expect("a parameter");
    node.declare_parameter("limits.low", 1.0).expect("a parameter");
    let answer = |_: &SetBoolRequest| Ok::<_, runnel::Error>(SetBoolResponse::default());
    let _power = node.create_service::<SetBool, _>("/power", answer).expect("a service");
    for (line, expected) in [
        ("ros2 param get ", "/arm"),
        ("ros2 param list /a", "/arm"),
        ("ros2 param dump /", "/arm"),
        ("ros2 param get /arm ", "limits.low rate use_sim_time"),
        ("ros2 param set /arm r", "rate"),
        ("ros2 param describe /arm l", "limits.low"),
        ("ros2 param delete /arm r", "rate"),
        ("param get /arm r", "rate"),
        ("ros2 service call /power ", "std_srvs/srv/SetBool"),
        ("ros2 service call /power std_srvs/srv/SetBool ", ""),
    ] {
        let deadline = deadline_in(STEP);
        loop {
            let words = format!("-- {}{line}", if line.starts_with("ros2") { "" } else { "runnel " });
            let mut command = robot.runnel(&words);
            let index = words.split(' ').count() - 2;
            command.env("RUNNEL_COMPLETE", "bash").env("_CLAP_COMPLETE_INDEX", index.to_string());
            command.env("_CLAP_COMPLETE_COMP_TYPE", "9").env("_CLAP_IFS", " ");
            let output = command.output().expect("it starts");
            let offered = String::from_utf8_lossy(&output.stdout).into_owned();
            let offered = offered.split(' ').filter(|word| !word.starts_with('-')).collect::<Vec<_>>();
            if offered.join(" ") == expected {
                break;
            }
            assert!(Instant::now() < deadline, "{line}: {offered:?}");
        }
    }
}
