//! Services of ROS 2 nodes, called by rclpy: type descriptions, logger levels, lifecycle. Answers are compared with those
//! of rclpy's own nodes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use interop::ros2::{Distro, Origin, Ros2Graph};
use interop::{TIMEOUT, ready};
use runnel::core::Message;
use runnel::msgs::sensor_msgs::msg::Imu;
use runnel::{Context, LifecycleNode, LifecycleNodeInterface, LifecycleState, NodeOptions};
use runnel_testkit::process::deadline_in;
use serde_json::{Value, json};

const DISTROS: [Distro; 2] = [Distro::Kilted, Distro::Jazzy];

/// Calls of services: name, type and request.
type Call<'a> = (&'a str, &'a str, Value);

/// The responses that rclpy gets while a context spins.
fn ask(graph: &Ros2Graph, distro: Distro, context: &Context, calls: &[Call<'_>]) -> Vec<Value> {
    let words: Vec<String> = calls
        .iter()
        .flat_map(|(service, kind, request)| [service.to_string(), kind.to_string(), request.to_string()])
        .collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut asker = graph.rclpy(distro, "ask.py", "ask", &words);
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let spinner = scope.spawn(|| {
            while !is_done.load(Ordering::SeqCst) {
                context.spin_once(Duration::from_millis(10)).unwrap();
            }
        });
        let deadline = deadline_in(TIMEOUT);
        let lines = calls.iter().map(|_| asker.wait_for_line(|line| line.starts_with('{'), deadline));
        let lines: Result<Vec<_>, _> = lines.collect();
        is_done.store(true, Ordering::SeqCst);
        spinner.join().unwrap();
        lines.unwrap().iter().map(|line| serde_json::from_str(line).unwrap()).collect()
    })
}

/// Removes the texts of files, which have other comments.
fn without_texts(mut response: Value) -> Value {
    for source in response["type_sources"].as_array_mut().unwrap() {
        assert!(source["encoding"] == "implicit" || source["raw_file_contents"] != "", "{source}");
        source["raw_file_contents"] = Value::Null;
    }
    response
}

/// A node of Runnel describes its types as one of rclpy does.
pub fn check_type_description(distro: Distro) {
    const TYPE: &str = "type_description_interfaces/srv/GetTypeDescription";
    let graph = Ros2Graph::new();
    let context = graph.context();
    let node = context.create_node("camera").unwrap();
    let _publisher = node.create_publisher::<Imu>("imu", 10).unwrap();
    // The listener spins. The talker would not answer.
    let listener = ["/theirs", "--type", "sensor_msgs/msg/Imu", "--count", "0"];
    let _listener = ready(graph.node(Origin::Ros2(distro), "listener", "talker", &listener));
    let request = |hash: &str, sources: bool| json!({"type_hash": hash, "include_type_sources": sources});
    let [ours, theirs] = ["/camera/get_type_description", "/talker/get_type_description"];
    let requests = [
        request(Imu::RIHS01, true),
        request(Imu::RIHS01, false),
        request("nonsense", true),
        request(&format!("RIHS01_{}", "0".repeat(64)), true),
    ];
    let calls: Vec<_> = requests
        .iter()
        .flat_map(|request| [ours, theirs].map(|name| (name, TYPE, request.clone())))
        .collect();
    let responses = ask(&graph, distro, &context, &calls);
    for (pair, request) in responses.chunks(2).zip(&requests) {
        let [ours, theirs] = [&pair[0], &pair[1]].map(|response| without_texts(response.clone()));
        assert_eq!(ours, theirs, "{distro:?} {request}");
    }
    assert_eq!(responses[0]["successful"], true);
}

#[test]
fn type_description_equals_that_of_rclpy() {
    DISTROS.into_iter().for_each(check_type_description);
}

/// rclpy gets and sets the levels of loggers of a node of Runnel.
pub fn check_logger_services(distro: Distro) {
    const GET: &str = "rcl_interfaces/srv/GetLoggerLevels";
    const SET: &str = "rcl_interfaces/srv/SetLoggerLevels";
    let graph = Ros2Graph::new();
    let context = graph.context();
    let options = NodeOptions::default().enable_logger_service(true);
    let node = context.create_node_with_options("robot/camera", options).unwrap();
    let names = json!({"names": ["robot.camera", "robot.camera.driver"]});
    let levels = json!({"levels": [{"name": "robot.camera.driver", "level": 10}, {"name": "robot.camera", "level": 7}]});
    let calls = [
        ("/robot/camera/get_logger_levels", GET, names.clone()),
        ("/robot/camera/set_logger_levels", SET, levels),
        ("/robot/camera/get_logger_levels", GET, names),
    ];
    let [before, set, after] = ask(&graph, distro, &context, &calls).try_into().unwrap();
    let found = |response: &Value| {
        response["levels"].as_array().unwrap().iter().map(|level| level["level"].as_u64()).collect::<Vec<_>>()
    };
    assert_eq!((found(&before), found(&after)), (vec![Some(0), Some(0)], vec![Some(0), Some(10)]));
    assert_eq!([&set["results"][0]["successful"], &set["results"][1]["successful"]], [true, false]);
    assert_eq!(node.logger().child("driver").level(), runnel::logging::Level::Debug);
}

#[test]
fn rclpy_sets_logger_levels() {
    DISTROS.into_iter().for_each(check_logger_services);
}

struct Idle;

impl LifecycleNodeInterface for Idle {}

const STATE: &str = "lifecycle_msgs/srv/GetState";
const CHANGE: &str = "lifecycle_msgs/srv/ChangeState";

#[test]
fn lifecycle_graph_equals_that_of_rclpy() {
    const TRANSITIONS: &str = "lifecycle_msgs/srv/GetAvailableTransitions";
    /// Index of the request for a transition that the state does not have.
    const REFUSED: usize = 4;
    for distro in DISTROS {
        let graph = Ros2Graph::new();
        let context = graph.context();
        let _node = context.create_lifecycle_node("camera", Idle).unwrap();
        let _theirs = ready(graph.rclpy(distro, "lifecycle.py", "lifecycle", &[]));
        let services = [
            ("get_state", STATE, json!({})),
            ("get_available_states", "lifecycle_msgs/srv/GetAvailableStates", json!({})),
            ("get_available_transitions", TRANSITIONS, json!({})),
            ("get_transition_graph", TRANSITIONS, json!({})),
            ("change_state", CHANGE, json!({"transition": {"id": 3, "label": ""}})),
            ("change_state", CHANGE, json!({"transition": {"id": 1, "label": ""}})),
            ("get_available_transitions", TRANSITIONS, json!({})),
            ("change_state", CHANGE, json!({"transition": {"id": 0, "label": "shutdown"}})),
            ("get_available_transitions", TRANSITIONS, json!({})),
        ];
        let refused = &services[REFUSED].2;
        // The node of rclpy in Jazzy ends without a response to it.
        let nodes = |request| match (distro, request == refused) {
            (Distro::Jazzy, true) => ["camera", "camera"],
            _ => ["camera", "lifecycle"],
        };
        let names: Vec<[String; 2]> = services
            .iter()
            .map(|(name, _, request)| nodes(request).map(|node| format!("/{node}/{name}")))
            .collect();
        let calls: Vec<Call<'_>> = services
            .iter()
            .zip(&names)
            .flat_map(|((_, kind, request), names)| {
                names.each_ref().map(|name| (name.as_str(), *kind, request.clone()))
            })
            .collect();
        let responses = ask(&graph, distro, &context, &calls);
        for (pair, (service, ..)) in responses.chunks(2).zip(services) {
            assert_eq!(pair[0], pair[1], "{distro:?} {service}");
        }
        assert_eq!(responses[2 * REFUSED], json!({"success": false}));
    }
}

#[test]
fn rclpy_drives_lifecycle_node_and_receives_its_events() {
    for distro in DISTROS {
        let graph = Ros2Graph::new();
        let context = graph.context();
        let node: LifecycleNode = context.create_lifecycle_node("camera", Idle).unwrap();
        let words = [
            "/camera/transition_event",
            "--type",
            "lifecycle_msgs/msg/TransitionEvent",
            "--count",
            "0",
            "--show",
        ];
        let mut listener = ready(graph.listener(Origin::Ros2(distro), &words));
        listener.wait_for_line(|line| line == "matched 1", deadline_in(TIMEOUT)).unwrap();
        let change =
            |id: u8| ("/camera/change_state", CHANGE, json!({"transition": {"id": id, "label": ""}}));
        let responses =
            ask(&graph, distro, &context, &[change(1), change(3), change(4), change(2), change(5)]);
        assert!(responses.iter().all(|response| response["success"] == true), "{responses:?}");
        assert_eq!(node.get_current_state(), LifecycleState::Finalized);
        for (start, goal) in
            [(1, 10), (10, 2), (2, 13), (13, 3), (3, 14), (14, 2), (2, 11), (11, 1), (1, 12), (12, 4)]
        {
            let line =
                listener.wait_for_line(|line| line.contains("start_state"), deadline_in(TIMEOUT)).unwrap();
            let event: Value = serde_json::from_str(line.splitn(3, ' ').nth(2).unwrap()).unwrap();
            let ids = (event["start_state"]["id"].as_u64(), event["goal_state"]["id"].as_u64());
            assert_eq!(ids, (Some(start), Some(goal)), "{line}");
        }
    }
}
