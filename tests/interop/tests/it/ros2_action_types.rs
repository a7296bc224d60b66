//! Every action type of the built-in packages between Runnel and rclpy, in both directions. No wheel has these types, so they
//! are generated for rclpy from the same definitions.

use std::fs;
use std::sync::mpsc::channel;
use std::time::Duration;

use interop::TIMEOUT;
use interop::distros::Distro;
use interop::ros2::Ros2Graph;
use interop::spinning::Spinning;
use interop::{outcome, ready};
use runnel::core::Message;
use runnel::core::message::Action;
use runnel::core::schema::{Generation, Library, TypeName};
use runnel::core::wire::{Encoding, cdr};
use runnel::{ActionServer, Error, GoalStatus, Node, ServerGoalHandle};
use runnel_core::yaml::to_json_in;
use runnel_msgs::actionlib::action::{TestAction, TestRequestAction, TwoIntsAction};
use runnel_msgs::example_interfaces::action::FibonacciAction;
use runnel_msgs::move_base_msgs::action::MoveBaseAction;
use runnel_msgs::tf2_msgs::action::LookupTransformAction;
use runnel_testkit::messages::distinct_message;
use runnel_testkit::process::Peer;
use serde_json::{Value as Json, json};

const LONG: Duration = Duration::from_secs(TIMEOUT);

/// The release for which types can be generated.
const DISTRO: Distro = Distro::Kilted;

/// One action type, with values for its messages.
struct Sample<A: Action> {
    goal: A::Goal,
    feedback: A::Feedback,
    result: A::Result,
    json: Json,
}

impl<A: Action> Sample<A> {
    fn new() -> Self {
        let library = runnel_msgs::library();
        let ((goal, goal_json), (feedback, feedback_json)) = (filled(&library), filled(&library));
        let (result, result_json) = filled(&library);
        let json = json!({
            "type": A::ROS2_NAME, "goal": goal_json, "feedback": feedback_json, "result": result_json,
        });
        Self { goal, feedback, result, json }
    }
}

/// A message with distinct values, and these values.
fn filled<M: Message>(library: &Library) -> (M, Json) {
    let name = TypeName::parse(M::TYPE).expect("a name");
    let schema = library.message_in(Generation::Ros2, &name).expect("a definition");
    let message = distinct_message(&schema);
    let payload = message.to_payload(Encoding::Xcdr1).expect("a form");
    (cdr::decode(&payload).expect("the same form"), to_json_in(Generation::Ros2, &message))
}

fn path<A: Action>() -> String {
    format!("/{}", A::ROS2_NAME.replace("/action/", "/"))
}

fn values<A: Action>() -> Json {
    Sample::<A>::new().json
}

/// Checks goals, publishes the feedback, and succeeds with the result.
fn serve<A: Action>(node: &Node) -> Box<dyn std::any::Any> {
    let Sample { goal: expected, feedback, result, .. } = Sample::<A>::new();
    let execute = move |goal: &ServerGoalHandle<A>| {
        assert!(*goal.goal() == expected, "{}: {:?}", A::ROS2_NAME, goal.goal());
        goal.publish_feedback(&feedback)?;
        goal.succeed(&result, "")
    };
    let server: ActionServer<A> =
        node.create_concurrent_action_server::<A, Error>(&path::<A>(), execute).expect("a server");
    Box::new(server)
}

/// Sends a goal and checks its feedback and result.
fn use_server<A: Action>(node: &Node, server: &Peer) {
    let Sample { goal, feedback: expected, result, .. } = Sample::<A>::new();
    let client = node.create_action_client::<A>(&path::<A>()).expect("a client");
    assert!(client.wait_for_server(LONG).expect("a wait"), "{}", server.output());
    let (sender, feedback) = channel();
    // The test may be over.
    let on_feedback = move |message: &A::Feedback| drop(sender.send(message.clone()));
    let goal = client.send_goal_with(&goal, on_feedback, drop).expect("a goal");
    let outcome = goal.wait_for_result(LONG).expect("a wait").expect("an end");
    assert_eq!(outcome.status, GoalStatus::Succeeded, "{}: {}", A::ROS2_NAME, server.output());
    assert!(outcome.result.as_ref() == Some(&result), "{}: {outcome:?}", A::ROS2_NAME);
    // A result may overtake feedback.
    assert!(feedback.try_iter().all(|message| message == expected), "{}", A::ROS2_NAME);
}

/// What is done with each type.
struct Checks {
    name: &'static str,
    values: fn() -> Json,
    serve: fn(&Node) -> Box<dyn std::any::Any>,
    use_server: fn(&Node, &Peer),
}

impl Checks {
    const fn of<A: Action>() -> Self {
        Self { name: A::ROS2_NAME, values: values::<A>, serve: serve::<A>, use_server: use_server::<A> }
    }
}

const TYPES: [Checks; 6] = [
    Checks::of::<FibonacciAction>(),
    Checks::of::<LookupTransformAction>(),
    Checks::of::<MoveBaseAction>(),
    Checks::of::<TestAction>(),
    Checks::of::<TestRequestAction>(),
    Checks::of::<TwoIntsAction>(),
];

/// Starts the rclpy program in this role.
fn peer(graph: &Ros2Graph, role: &str) -> Peer {
    let file = graph.home().join("samples");
    let lines: String = TYPES.iter().map(|checks| format!("{}\n", (checks.values)())).collect();
    fs::write(&file, lines).expect("a file");
    graph.rclpy(DISTRO, "action_types.py", "action_types", &[role, &file.display().to_string()])
}

/// Has rclpy use servers of all types. Returns their number.
pub fn check_rclpy_client() -> usize {
    let graph = Ros2Graph::new();
    let near = Spinning::new(graph.context());
    let node = near.node("servers");
    let _servers: Vec<_> = TYPES.iter().map(|checks| (checks.serve)(&node)).collect();
    let printed = outcome(peer(&graph, "client")).success();
    let names: Vec<&str> = TYPES.iter().map(|checks| checks.name).collect();
    // rclpy reports that it has found type support on the second attempt.
    let passed: Vec<&str> = printed.iter().map(String::as_str).filter(|line| names.contains(line)).collect();
    assert_eq!(passed, names, "{printed:?}");
    TYPES.len()
}

/// Uses servers of all types in rclpy. Returns their number.
pub fn check_rclpy_server() -> usize {
    let graph = Ros2Graph::new();
    let server = ready(peer(&graph, "server"));
    let context = graph.context();
    let node = context.create_node("client").expect("a node");
    TYPES.iter().for_each(|checks| (checks.use_server)(&node, &server));
    TYPES.len()
}

#[test]
fn rclpy_client_uses_every_action_type() {
    check_rclpy_client();
}

#[test]
fn rclpy_server_serves_every_action_type() {
    check_rclpy_server();
}
