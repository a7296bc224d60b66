//! Actions between Runnel and rclpy, and of a dual node between rclpy and actionlib.

use std::fs;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use interop::distros::Distro;
use interop::ros2::Ros2Graph;
use interop::ros2_checks::expect_line;
use interop::test_msgs::action::{FibonacciAction, FibonacciFeedback, FibonacciGoal, FibonacciResult};
use interop::{Master, Origin, Ros1Graph, Server, TIMEOUT, built, ready, wait_until};
use runnel::core::Message;
use runnel::{ActionClient, ClientGoalHandle, GoalStatus, Node};
use runnel_testkit::process::{Peer, Signal, deadline_in};

const ACTION: &str = "/fibonacci";

/// Time limit of every step.
const LONG: Duration = Duration::from_secs(TIMEOUT);

/// What the rclpy client prints. Servers differ in the code for a refused cancel request.
const PRINTED: [&str; 15] = [
    "ready",
    "accepted [1, 2, 4, 5]",
    "cancel 4 code 0 mine True",
    "cancel 5",
    "goal 1 SUCCEEDED [1, 10]",
    "goal 2 ABORTED [2, 20]",
    "goal 4 CANCELED [4, 40]",
    "goal 5 SUCCEEDED [5, 50]",
    "feedback {1: [[1]], 2: [], 3: [], 4: [[4]], 5: []}",
    "ended: cancel code 3",
    "unknown: cancel code 2",
    "all: cancel code 0 of 0",
    "ended: result SUCCEEDED [1, 10]",
    "unknown: result UNKNOWN []",
    "done",
];

fn runnel_server(graph: &Ros2Graph, arguments: &[&str]) -> Peer {
    let mut command = graph.command(built("runnel_ros2_action_server"));
    command.arg(ACTION).args(arguments);
    ready(Peer::spawn("runnel_ros2_action_server", command).unwrap())
}

fn rclpy_server(graph: &Ros2Graph, distro: Distro) -> Peer {
    ready(graph.rclpy(distro, "action_server.py", "action_server", &[ACTION]))
}

/// Has an rclpy client use the server that is there, and checks what it prints.
fn check_rclpy_client(graph: &Ros2Graph, distro: Distro, (server, refused): (&Peer, u8)) {
    let mut client = graph.rclpy(distro, "action_client.py", "action_client", &[ACTION]);
    let exit = client.wait_exit(deadline_in(TIMEOUT));
    let printed = format!("{}\n{}", client.output(), server.output());
    assert!(exit.unwrap_or_else(|error| panic!("{error}\n{printed}")).success(), "{printed}");
    let refused = format!("cancel 5 code {refused} mine False");
    let expected = PRINTED.map(|line| if line.starts_with("cancel 5") { refused.as_str() } else { line });
    // rclpy drops the feedback of goal 1 if it finds the goal's result in the same turn.
    let lines: Vec<_> = client.lines().iter().map(|line| line.replace("{1: [],", "{1: [[1]],")).collect();
    assert_eq!(lines, expected, "{printed}");
}

/// A goal with its feedback so far.
struct Sent {
    goal: ClientGoalHandle<FibonacciAction>,
    feedback: Receiver<Vec<i32>>,
}

fn send(client: &ActionClient<FibonacciAction>, order: i32) -> Sent {
    let (sender, feedback) = channel();
    let on_feedback = move |message: &FibonacciFeedback| {
        // The test may be over.
        let _ = sender.send(message.sequence.clone());
    };
    Sent { goal: client.send_goal_with(&FibonacciGoal { order }, on_feedback, |_| {}).unwrap(), feedback }
}

/// Sends the orders 1 to 5 as the rclpy client does, and checks what becomes of them.
fn check_runnel_client(node: &Node, server: &Peer) {
    let client = node.create_action_client::<FibonacciAction>(ACTION).unwrap();
    assert!(client.wait_for_server(LONG).unwrap(), "{}", server.output());
    let goals: Vec<Sent> = (1..=5).map(|order| send(&client, order)).collect();
    let first_feedback = |sent: &Sent| {
        loop {
            if let Ok(sequence) = sent.feedback.try_recv() {
                return sequence;
            }
            let ended = sent.goal.wait_for_result(Duration::from_millis(10)).unwrap();
            assert!(ended.is_none(), "{ended:?}\n{}", server.output());
        }
    };
    assert_eq!(first_feedback(&goals[3]), [4]);
    wait_until("order 5 is accepted", deadline_in(TIMEOUT), || goals[4].goal.status() == GoalStatus::Active);
    goals[3].goal.cancel().unwrap();
    goals[4].goal.cancel().unwrap();
    for (sent, order) in goals.iter().zip(1..) {
        let outcome = sent.goal.wait_for_result(LONG).unwrap().expect("an end");
        let (status, result) = match order {
            2 => (GoalStatus::Aborted, Some(vec![2, 20])),
            3 => (GoalStatus::Rejected, None),
            4 => (GoalStatus::Preempted, Some(vec![4, 40])),
            _ => (GoalStatus::Succeeded, Some(vec![order, 10 * order])),
        };
        let expected = (status, result.map(|sequence| FibonacciResult { sequence }));
        assert_eq!((outcome.status, outcome.result), expected, "order {order}: {}", outcome.text);
        let feedback: Vec<Vec<i32>> = sent.feedback.try_iter().collect();
        // A result may overtake feedback, which travels on another topic.
        let is_possible = feedback.is_empty() || order == 1 && feedback == [[1]];
        assert!(is_possible, "order {order}: {feedback:?}");
    }
}

/// Has an rclpy client use a Runnel server.
pub fn check_client(distro: Distro) {
    let graph = Ros2Graph::new();
    let server = runnel_server(&graph, &[]);
    check_rclpy_client(&graph, distro, (&server, 1));
}

/// Uses an rclpy server.
pub fn check_server(distro: Distro) {
    let graph = Ros2Graph::new();
    let server = rclpy_server(&graph, distro);
    let context = graph.context();
    check_runnel_client(&context.create_node("client").unwrap(), &server);
}

#[test]
fn rclpy_client_uses_runnel_server() {
    Distro::ALL.into_iter().for_each(check_client);
}

#[test]
fn rclpy_client_prints_the_same_with_rclpy_server() {
    let graph = Ros2Graph::new();
    let server = rclpy_server(&graph, Distro::Kilted);
    // A server in rclcpp gives 1, the code of refusal; one in rclpy does not.
    check_rclpy_client(&graph, Distro::Kilted, (&server, 0));
}

#[test]
fn runnel_client_uses_rclpy_server() {
    Distro::ALL.into_iter().for_each(check_server);
}

#[test]
fn runnel_client_uses_runnel_server() {
    let graph = Ros2Graph::new();
    let server = runnel_server(&graph, &[]);
    check_runnel_client(&graph.context().create_node("client").unwrap(), &server);
}

/// What actionlib's client prints: in ROS 1 a rejected goal has a result, and each end a text.
const PRINTED_IN_ROS1: [&str; 6] = [
    "goal 1 SUCCEEDED [1, 10] reached",
    "goal 2 ABORTED [2, 20] no way",
    "goal 3 REJECTED [3, 30] too much",
    "feedback 4 [4]",
    "goal 4 PREEMPTED [4, 40] as you wish",
    "done",
];

#[test]
fn dual_server_serves_clients_of_both_generations_at_once() {
    let (graph, ros1) = (Ros2Graph::new(), Master::start(Server::Rosmaster));
    let master = format!("__master:={}", ros1.graph().master_uri());
    let server = runnel_server(&graph, &["--both", &master]);
    thread::scope(|scope| {
        scope.spawn(|| check_rclpy_client(&graph, Distro::Kilted, (&server, 1)));
        scope.spawn(|| check_actionlib_client(&graph, ros1.graph(), &server));
    });
}

fn check_actionlib_client(graph: &Ros2Graph, ros1: &Ros1Graph, server: &Peer) {
    let definition = graph.home().join("FibonacciAction.txt");
    fs::write(&definition, FibonacciAction::DEFINITION).unwrap();
    let arguments = [ACTION, definition.to_str().unwrap()];
    let mut client = ros1.node(Origin::Rospy, "fibonacci_client", "fibonacci_client", &arguments);
    let exit = client.wait_exit(deadline_in(TIMEOUT));
    let printed = format!("{}\n{}", client.output(), server.output());
    assert!(exit.unwrap_or_else(|error| panic!("{error}\n{printed}")).success(), "{printed}");
    assert_eq!(client.lines(), PRINTED_IN_ROS1, "{printed}");
}

#[test]
fn goal_is_lost_when_rclpy_server_is_replaced() {
    let graph = Ros2Graph::new();
    let mut server = rclpy_server(&graph, Distro::Kilted);
    let context = graph.context();
    let client =
        context.create_node("client").unwrap().create_action_client::<FibonacciAction>(ACTION).unwrap();
    assert!(client.wait_for_server(LONG).unwrap(), "{}", server.output());
    let sent = send(&client, 4);
    wait_until("the goal is accepted", deadline_in(TIMEOUT), || sent.goal.status() == GoalStatus::Active);
    server.signal(Signal::INT).unwrap();
    server.wait_exit(deadline_in(TIMEOUT)).unwrap();
    let mut server = rclpy_server(&graph, Distro::Kilted);
    let outcome = sent.goal.wait_for_result(LONG).unwrap().expect("an end");
    assert_eq!((outcome.status, outcome.result), (GoalStatus::Lost, None), "{}", outcome.text);
    let next = send(&client, 1).goal.wait_for_result(LONG).unwrap().expect("an end");
    assert_eq!(next.status, GoalStatus::Succeeded, "{}", next.text);
    expect_line(&mut server, "goal 1");
}
