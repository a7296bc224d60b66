//! Every action type of the built-in packages between Runnel and rclpy, in both directions. No wheel has these types, so they
//! are generated for rclpy from the same definitions.

use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use interop::TIMEOUT;
use interop::distros::Distro;
use runnel::core::message::Action;
use runnel::core::schema::Kind;
use runnel::{ActionServer, Error, GoalStatus, Node, ServerGoalHandle};
use runnel_msgs::actionlib::action::{TestAction, TestRequestAction, TwoIntsAction};
use runnel_msgs::example_interfaces::action::FibonacciAction;
use runnel_msgs::move_base_msgs::action::MoveBaseAction;
use runnel_msgs::tf2_msgs::action::LookupTransformAction;
use runnel_testkit::process::Peer;
use serde_json::{Value as Json, json};

use crate::ros2_samples::{self, TypeChecks, built_in, filled, path, paths};

const LONG: Duration = Duration::from_secs(TIMEOUT);

/// How long a client waits for feedback at a time, and the period of feedback.
const SHORT: Duration = Duration::from_millis(20);

/// The type that rclpy cannot have: only ROS 1 has it, and the wheel of nav_msgs has no actions.
const WITHOUT_PEER: &str = "nav_msgs/action/GetMap";

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

fn values<A: Action>() -> Json {
    Sample::<A>::new().json
}

/// Checks goals, publishes the feedback until the client, which has received it, cancels the goal, and succeeds with the
/// result. The first feedback may be sent before the client's subscription is matched.
fn serve<A: Action>(node: &Node) -> Box<dyn std::any::Any> {
    let Sample { goal: expected, feedback, result, .. } = Sample::<A>::new();
    let execute = move |goal: &ServerGoalHandle<A>| {
        assert!(*goal.goal() == expected, "{}: {:?}", A::ROS2_NAME, goal.goal());
        while !goal.is_cancel_requested() {
            goal.publish_feedback(&feedback)?;
            std::thread::sleep(SHORT);
        }
        goal.succeed(&result, "")
    };
    let server: ActionServer<A> =
        node.create_concurrent_action_server::<A, Error>(&path(A::ROS2_NAME), execute).expect("a server");
    Box::new(server)
}

/// Sends a goal, and cancels it once its feedback has arrived. Checks the feedback and the result.
fn use_server<A: Action>(node: &Node, server: &Peer) {
    let Sample { goal, feedback: expected, result, .. } = Sample::<A>::new();
    let client = node.create_action_client::<A>(&path(A::ROS2_NAME)).expect("a client");
    assert!(client.wait_for_server(LONG).expect("a wait"), "{}", server.output());
    let (sender, feedback) = channel();
    // The test may be over.
    let on_feedback = move |message: &A::Feedback| drop(sender.send(message.clone()));
    let goal = client.send_goal_with(&goal, on_feedback, drop).expect("a goal");
    let mut received = Vec::new();
    let until = Instant::now() + LONG;
    while received.is_empty() {
        assert!(Instant::now() < until, "{}: no feedback: {}", A::ROS2_NAME, server.output());
        assert_eq!(goal.wait_for_result(SHORT).expect("a wait"), None, "{}", server.output());
        received.extend(feedback.try_iter());
    }
    goal.cancel().expect("a request");
    let outcome = goal.wait_for_result(LONG).expect("a wait").expect("an end");
    assert_eq!(outcome.status, GoalStatus::Succeeded, "{}: {}", A::ROS2_NAME, server.output());
    assert!(outcome.result.as_ref() == Some(&result), "{}: {outcome:?}", A::ROS2_NAME);
    assert!(received.iter().all(|one| *one == expected), "{}: {received:?}", A::ROS2_NAME);
}

const fn checks<A: Action>() -> TypeChecks {
    TypeChecks { name: A::ROS2_NAME, values: values::<A>, serve: serve::<A>, use_server: use_server::<A> }
}

const TYPES: [TypeChecks; 6] = [
    checks::<FibonacciAction>(),
    checks::<LookupTransformAction>(),
    checks::<MoveBaseAction>(),
    checks::<TestAction>(),
    checks::<TestRequestAction>(),
    checks::<TwoIntsAction>(),
];

/// The rclpy program.
const PROGRAM: &str = "action_types";

/// Has rclpy use servers of all types. Returns their number.
pub fn check_rclpy_client(distro: Distro) -> usize {
    ros2_samples::check_rclpy_client(distro, PROGRAM, &TYPES)
}

/// Uses servers of all types in rclpy. Returns their number.
pub fn check_rclpy_server(distro: Distro) -> usize {
    ros2_samples::check_rclpy_server(distro, PROGRAM, &TYPES)
}

#[test]
fn every_action_type_is_tested() {
    let mut expected = built_in(Kind::Action, false);
    assert!(expected.remove(&path(WITHOUT_PEER)));
    assert_eq!(paths(&TYPES), expected);
}

#[test]
fn rclpy_client_uses_every_action_type() {
    for distro in Distro::ALL {
        check_rclpy_client(distro);
    }
}

#[test]
fn rclpy_server_serves_every_action_type() {
    for distro in Distro::ALL {
        check_rclpy_server(distro);
    }
}
