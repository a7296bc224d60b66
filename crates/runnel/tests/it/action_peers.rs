//! Tests of goals when action peers misbehave or end.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::common::{LONG, spin_until, wait_until};
use crate::logged::{is_logged, keep_log, wait_logged};
use crate::scene::{Scene, goal, result};
use runnel::core::schema::TypeName;
use runnel::core::time::Time;
use runnel::core::wire::encode;
use runnel::msgs::actionlib::action::{
    TestAction, TestActionFeedback, TestActionGoal, TestActionResult, TestFeedback,
};
use runnel::msgs::actionlib_msgs::msg::{GoalID, GoalStatus as WireStatus, GoalStatusArray};
use runnel::{ActionClient, ActionError, DynamicPublisher, Error, GoalStatus, Node, Publisher, QoS};

/// Too short for a result to arrive.
const SHORT: Duration = Duration::from_millis(50);

#[test]
fn cancel_before_goal_recalls_goal() {
    let scene = Scene::new();
    let (_server, goals) = scene.server();
    let node = scene.node();
    let client: ActionClient<TestAction> = node.create_action_client("test").unwrap();
    assert!(client.wait_for_server(LONG).unwrap());
    let raw = node.create_publisher::<TestActionGoal>("test/goal", 10).unwrap();
    let cancel = node.create_publisher::<GoalID>("test/cancel", 10).unwrap();
    let (results, received) = channel();
    let _results = node.create_subscription("test/result", 10, move |result: &TestActionResult| {
        results.send(result.clone()).unwrap();
    });
    let listed = Arc::new(AtomicBool::new(false));
    let is_listed = Arc::clone(&listed);
    let _status = node.create_subscription("test/status", 10, move |list: &GoalStatusArray| {
        let recalling =
            |status: &WireStatus| status.goal_id.id == "early" && status.status == WireStatus::RECALLING;
        is_listed.fetch_or(list.status_list.iter().any(recalling), Ordering::SeqCst);
    });
    let id = GoalID { id: "early".into(), ..GoalID::default() };
    cancel.publish(&id).unwrap();
    spin_until(&scene.far, "the cancel stands in the list", || listed.load(Ordering::SeqCst));
    raw.publish(TestActionGoal { goal_id: id, ..TestActionGoal::default() }).unwrap();
    let mut result = None;
    spin_until(&scene.far, "the result comes", || {
        result = received.try_recv().ok();
        result.is_some()
    });
    let status = result.unwrap().status;
    assert_eq!((status.goal_id.id.as_str(), status.status), ("early", WireStatus::RECALLED));
    assert!(goals.try_recv().is_err(), "no server works on it");
}

/// A goal with an id chosen by the client, and no stamp.
fn goal_with_id(id: &str, number: i32) -> TestActionGoal {
    let goal_id = GoalID { id: id.into(), ..GoalID::default() };
    TestActionGoal { goal_id, goal: goal(number), ..TestActionGoal::default() }
}

/// A publisher of goals with any id.
fn raw_goals(scene: &Scene) -> Publisher<TestActionGoal> {
    let raw = scene.far.create_node("raw").unwrap().create_publisher("test/goal", 10).unwrap();
    assert!(raw.wait_for_subscribers(1, LONG).unwrap());
    raw
}

/// Makes the next server forget goals as soon as they have ended.
fn forget_ended_goals(scene: &Scene) {
    scene.graph.ask("setParam", &["/me".into(), "/test/status_list_timeout".into(), 0.0.into()]);
    scene.graph.ask("setParam", &["/me".into(), "/actionlib_status_frequency".into(), 100.into()]);
}

#[test]
fn stale_handle_does_not_affect_later_goal() {
    let scene = Scene::new();
    forget_ended_goals(&scene);
    let (_server, goals) = scene.server();
    let raw = raw_goals(&scene);
    raw.publish(goal_with_id("fixed", 1)).unwrap();
    let old = goals.recv_timeout(LONG).unwrap();
    old.accept().unwrap();
    old.succeed(&result(1), "").unwrap();
    let mut later = None;
    wait_until("the goal is forgotten and comes again", || {
        raw.publish(goal_with_id("fixed", 2)).unwrap();
        later = goals.recv_timeout(SHORT).ok();
        later.is_some()
    });
    let later = later.unwrap();
    assert_eq!((later.id(), later.goal()), (old.id(), &goal(2)));
    assert_eq!((old.status(), later.status()), (GoalStatus::Succeeded, GoalStatus::Pending));
    let error = old.reject(&result(1), "").unwrap_err();
    assert!(error.to_string().contains("goal fixed is SUCCEEDED"), "{error}");
    assert!(old.accept().is_err());
    old.publish_feedback(&TestFeedback::default()).unwrap();
    drop(old);
    assert_eq!(later.status(), GoalStatus::Pending);
    later.accept().unwrap();
    later.succeed(&result(2), "").unwrap();
}

#[test]
fn simple_server_accepts_reused_goal_id() {
    let scene = Scene::new();
    forget_ended_goals(&scene);
    let _server = scene.simple_server(|goal| goal.succeed(&result(goal.goal().goal), "reached"));
    let raw = raw_goals(&scene);
    let ends = Arc::new(Mutex::new(Vec::new()));
    let into = Arc::clone(&ends);
    let results = scene.node().create_subscription("test/result", 10, move |end: &TestActionResult| {
        into.lock().unwrap().push((end.status.status, end.status.text.clone()));
    });
    wait_until("results are received", || results.as_ref().unwrap().publisher_count() == 1);
    for count in 1..4 {
        spin_until(&scene.far, "the goal comes and ends", || {
            raw.publish(goal_with_id("fixed", 1)).unwrap();
            ends.lock().unwrap().len() >= count
        });
    }
    let reached = (WireStatus::SUCCEEDED, "reached".to_owned());
    assert!(ends.lock().unwrap().iter().all(|end| *end == reached), "{ends:?}");
}

#[test]
fn goal_without_stamp_survives_cancel_by_time() {
    let scene = Scene::new();
    let (_server, goals) = scene.server();
    let client = scene.client();
    let before = client.send_goal(&goal(1)).unwrap();
    let canceled = goals.recv_timeout(LONG).unwrap();
    client.cancel_goals_at_and_before_time(Time { sec: i32::MAX, nanosec: 0 }).unwrap();
    wait_until("the cancel arrives", || canceled.is_cancel_requested());
    raw_goals(&scene).publish(goal_with_id("unstamped", 2)).unwrap();
    let arrived = goals.recv_timeout(LONG).unwrap();
    assert_eq!((arrived.id().text(), arrived.status()), (Some("unstamped"), GoalStatus::Pending));
    assert!(arrived.stamp() >= before.stamp(), "it was set when it came");
}

#[test]
fn goal_unknown_to_server_is_lost() {
    let scene = Scene::new();
    let (server, goals) = scene.server();
    let client = scene.client();
    let handle = client.send_goal(&goal(1)).unwrap();
    let arrived = goals.recv_timeout(LONG).unwrap();
    arrived.accept().unwrap();
    wait_until("the goal is active", || handle.status() == GoalStatus::Active);
    // Another server on the same topics, as after a restart, does not know the goal.
    let other = scene.graph.context();
    let list =
        other.create_node("other").unwrap().create_publisher::<GoalStatusArray>("test/status", 1).unwrap();
    assert!(list.wait_for_subscribers(1, LONG).unwrap());
    list.publish(GoalStatusArray::default()).unwrap();
    let end = handle.wait_for_result(LONG).unwrap().unwrap();
    assert_eq!((end.status, end.result), (GoalStatus::Lost, None));
    assert_eq!(end.text, "the action server no longer lists the goal");
    drop((arrived, server));
}

#[test]
fn queued_result_precedes_status_without_goal() {
    let scene = Scene::new();
    let context = scene.graph.context();
    let node = context.create_node("observer").unwrap();
    scene.graph.ask("setParam", &["/me".into(), "/test/status_list_timeout".into(), 0.0.into()]);
    scene.graph.ask("setParam", &["/me".into(), "/actionlib_status_frequency".into(), 100.into()]);
    let (_server, goals) = scene.server();
    let client = scene.client();
    let handle = client.send_goal(&goal(1)).unwrap();
    let arrived = goals.recv_timeout(LONG).unwrap();
    arrived.accept().unwrap();
    wait_until("the goal is active", || handle.status() == GoalStatus::Active);
    let seen = [(); 2].map(|()| Arc::new(AtomicUsize::new(0)));
    let count = seen.clone();
    let _lists = node.create_subscription("test/status", 100, move |list: &GoalStatusArray| {
        count[usize::from(list.status_list.is_empty())].fetch_add(1, Ordering::SeqCst);
    });
    // A status list arrives before the result, followed by more than the queue holds, all without the goal. Nothing is
    // taken meanwhile.
    spin_until(&context, "a few lists come", || seen[0].load(Ordering::SeqCst) > 3);
    arrived.succeed(&result(1), "").unwrap();
    spin_until(&context, "many lists come", || seen[1].load(Ordering::SeqCst) > 30);
    scene.far.spin_once(LONG).unwrap();
    assert_eq!(handle.wait_for_result(LONG).unwrap().unwrap().status, GoalStatus::Succeeded);
}

#[test]
fn client_times_out_on_incomplete_server() {
    let scene = Scene::new();
    let client = scene.node().create_action_client::<TestAction>("test").unwrap();
    assert!(!client.wait_for_server(SHORT).unwrap());
    let half = scene.near.create_node("half").unwrap();
    let latched = QoS::keep_last(1).transient_local();
    let list = half.create_publisher::<GoalStatusArray>("test/status", latched).unwrap();
    list.publish(GoalStatusArray::default()).unwrap();
    assert!(list.wait_for_subscribers(1, LONG).unwrap());
    assert!(!client.wait_for_server(SHORT).unwrap());
    let goals = half.create_subscription("test/goal", 1, |_: &TestActionGoal| {}).unwrap();
    wait_until("goals arrive", || goals.publisher_count() == 1);
    assert!(!client.wait_for_server(SHORT).unwrap());
    let results = half.create_publisher::<TestActionResult>("test/result", 1).unwrap();
    assert!(results.wait_for_subscribers(1, LONG).unwrap());
    assert!(!client.wait_for_server(SHORT).unwrap());
    let cancels = half.create_subscription("test/cancel", 1, |_: &GoalID| {}).unwrap();
    wait_until("cancel requests arrive", || cancels.publisher_count() == 1);
    assert!(!client.wait_for_server(SHORT).unwrap());
    let feedback = half.create_publisher::<TestActionFeedback>("test/feedback", 1).unwrap();
    assert!(client.wait_for_server(LONG).unwrap());
    drop(cancels);
    wait_until("the client sees that cancel requests do not arrive", || !client.server_is_ready());
    let cancels = half.create_subscription("test/cancel", 1, |_: &GoalID| {}).unwrap();
    assert!(client.wait_for_server(LONG).unwrap());
    drop(results);
    wait_until("the client sees that results do not come", || !client.server_is_ready());
    drop((feedback, cancels));
}

#[test]
fn peer_controlled_state_is_bounded() {
    let scene = Scene::new();
    let (_server, goals) = scene.server();
    let client = scene.client();
    let sent: Vec<_> = (0..1000).map(|_| client.send_goal(&goal(1)).unwrap()).collect();
    let error = client.send_goal(&goal(1)).unwrap_err();
    let limit = 1000;
    assert!(matches!(error, Error::Action { why, .. } if why == ActionError::TooManyGoals { limit }));
    let _came: Vec<_> = sent.iter().map(|_| goals.recv_timeout(LONG).unwrap()).collect();
    let another = scene.graph.context().create_node("another").unwrap();
    let another: ActionClient<TestAction> = another.create_action_client("test").unwrap();
    assert!(another.wait_for_server(LONG).unwrap());
    let end = another.send_goal(&goal(1)).unwrap().wait_for_result(LONG).unwrap().unwrap();
    assert_eq!(
        (end.status, end.text.as_str()),
        (GoalStatus::Rejected, "server /server works on 1000 goals already")
    );
    drop(sent);
    assert!(client.send_goal(&goal(1)).is_ok(), "a dropped handle takes no capacity");
}

#[test]
fn interrupted_server_lets_goal_finish() {
    let mut scene = Scene::new();
    let _server = scene.simple_server(|goal| {
        wait_until("the goal is preempted", || goal.is_preempt_requested());
        goal.preempted(&result(goal.goal().goal), "the end is near")
    });
    let client = scene.client();
    let sent = client.send_goal(&goal(1)).unwrap();
    wait_until("the goal is worked on", || sent.status() == GoalStatus::Active);
    scene.end_server();
    let end = sent.wait_for_result(LONG).unwrap().unwrap();
    assert_eq!((end.status, end.text.as_str()), (GoalStatus::Preempted, "the end is near"));
}

/// Time that a server takes to end when its callback ends the goal at once and then continues.
fn time_to_end_lingering_server() -> Duration {
    let (mut scene, free) = (Scene::new(), Arc::new(AtomicBool::new(false)));
    let go = Arc::clone(&free);
    let _server = scene.simple_server(move |goal| {
        wait_until("the goal is preempted", || goal.is_preempt_requested());
        goal.preempted(&result(1), "")?;
        wait_until("the test lets go", || go.load(Ordering::SeqCst));
        Ok(())
    });
    let client = scene.client();
    let sent = client.send_goal(&goal(1)).unwrap();
    wait_until("the goal is worked on", || sent.status() == GoalStatus::Active);
    let begun = Instant::now();
    scene.end_server();
    free.store(true, Ordering::SeqCst);
    begun.elapsed()
}

#[test]
fn interrupted_server_waits_only_for_its_goal() {
    // It would wait for a second. On a busy machine it may once.
    let soon = |_| time_to_end_lingering_server() < Duration::from_millis(700);
    assert!((0..5).any(soon));
}

#[test]
fn queued_goals_of_dropped_server_are_rejected() {
    let scene = Scene::new();
    // No thread spins.
    let context = scene.graph.context();
    let node = context.create_node("server").unwrap();
    let (received, hearing) = channel();
    let server =
        node.create_action_server::<TestAction>("test", move |goal| received.send(goal).unwrap(), |_| {});
    let come = node.create_subscription("test/goal", 10, |_: &TestActionGoal| {}).unwrap();
    let client = scene.client();
    let sent = client.send_goal(&goal(1)).unwrap();
    let another = node.create_action_client::<TestAction>("another").unwrap();
    wait_until("the goal waits", || !another.wait_for_server(SHORT).unwrap() && come.received() == 1);
    drop(server);
    let end = sent.wait_for_result(LONG).unwrap().expect("an end");
    assert_eq!((end.status, end.text.as_str()), (GoalStatus::Rejected, "the action server has ended"));
    assert!(hearing.try_recv().is_err(), "no server works on it");
}

#[test]
fn open_goals_of_interrupted_server_are_aborted() {
    let mut scene = Scene::new();
    let (_server, goals) = scene.server();
    let client = scene.client();
    let sent = client.send_goal(&goal(1)).unwrap();
    let arrived = goals.recv_timeout(LONG).unwrap();
    arrived.accept().unwrap();
    scene.end_server();
    let end = sent.wait_for_result(LONG).unwrap().unwrap();
    assert_eq!((end.status, end.text.as_str()), (GoalStatus::Aborted, "the action server has ended"));
}

/// A publisher of raw bytes on a topic of the action.
fn raw_publisher(node: &Node, topic: &str, message: &str) -> DynamicPublisher {
    let schema = runnel::msgs::library().message(&TypeName::parse(message).unwrap()).unwrap();
    let publisher = node.create_dynamic_publisher(topic, &schema, 10).unwrap();
    assert!(publisher.wait_for_subscribers(1, LONG).unwrap());
    publisher
}

fn publish(publisher: &DynamicPublisher, bytes: &[u8]) {
    publisher.publish_bytes(|out| out.extend_from_slice(bytes)).unwrap();
}

#[test]
fn server_survives_invalid_client_messages() {
    keep_log();
    let scene = Scene::new();
    let (_server, goals) = scene.server();
    let rude = scene.graph.context().create_node("rude").unwrap();
    let raw = raw_publisher(&rude, "test/goal", "actionlib/TestActionGoal");
    let mut message = TestActionGoal { goal: goal(1), ..TestActionGoal::default() };
    publish(&raw, &[1, 2, 3]);
    wait_logged(&["/test/goal", "[/rude]", "field header"]);
    message.goal_id.id = "cut".into();
    publish(&raw, &encode(&message)[..encode(&message).len() - 1]);
    wait_logged(&["/test/goal", "2 messages of publisher [/rude]", "field goal.goal"]);
    message.goal_id.id = "x".repeat(2000);
    publish(&raw, &encode(&message));
    wait_logged(&["action /test", "refused", "a goal from [/rude]", "2000 bytes"]);
    let cancels = raw_publisher(&rude, "test/cancel", "actionlib_msgs/GoalID");
    publish(&cancels, &encode(&message.goal_id));
    wait_logged(&["action /test", "refused", "a cancel request from [/rude]"]);
    message.goal_id = GoalID::default();
    publish(&raw, &encode(&message));
    let unnamed = goals.recv_timeout(LONG).unwrap();
    assert!(unnamed.id().to_string().starts_with("/server-"), "it gets an id: {}", unnamed.id());
    assert!(!unnamed.stamp().is_zero());
    assert!(goals.try_recv().is_err(), "nothing else came through");
}

/// Received feedback, and the callback that records it.
fn received_feedback() -> (Arc<Mutex<Vec<i32>>>, impl FnMut(&TestFeedback) + Send) {
    let received = Arc::new(Mutex::new(Vec::new()));
    let into = Arc::clone(&received);
    (received, move |feedback: &TestFeedback| into.lock().unwrap().push(feedback.feedback))
}

#[test]
fn client_survives_invalid_server_messages() {
    keep_log();
    let scene = Scene::new();
    let (_server, goals) = scene.server();
    let client = scene.client();
    let (received, feedback) = received_feedback();
    let sent = client.send_goal_with(&goal(1), feedback, |_| {}).unwrap();
    let arrived = goals.recv_timeout(LONG).unwrap();
    arrived.accept().unwrap();
    let rude = scene.graph.context().create_node("rude").unwrap();
    let (lists, tells, results) = (
        raw_publisher(&rude, "test/status", "actionlib_msgs/GoalStatusArray"),
        raw_publisher(&rude, "test/feedback", "actionlib/TestActionFeedback"),
        raw_publisher(&rude, "test/result", "actionlib/TestActionResult"),
    );
    let status = |id: &str, status| WireStatus {
        goal_id: GoalID { id: id.to_owned(), ..GoalID::default() },
        status,
        text: String::new(),
    };
    let list = GoalStatusArray {
        status_list: vec![status(&sent.id().to_string(), 77)],
        ..GoalStatusArray::default()
    };
    publish(&lists, &encode(&list));
    wait_until("the list is taken in", || {
        let _ = sent.status();
        is_logged(&["server [/rude] reports goal", &sent.id().to_string(), "as 77"])
    });
    let mut about =
        TestActionFeedback { status: status(&sent.id().to_string(), 1), ..TestActionFeedback::default() };
    let bytes = encode(&about);
    publish(&tells, &bytes[..bytes.len() - 1]);
    about.feedback.feedback = 8;
    publish(&tells, &encode(&about));
    // Messages about another client's goal are ignored.
    publish(
        &results,
        &encode(&TestActionResult { status: status("other", 3), ..TestActionResult::default() }),
    );
    wait_until("good feedback is received", || {
        sent.wait_for_result(Duration::ZERO).unwrap();
        *received.lock().unwrap() == [8]
    });
    wait_logged(&["action /test", "feedback that cannot be read", "field feedback"]);
    let result = encode(&TestActionResult {
        status: status(&sent.id().to_string(), 3),
        ..TestActionResult::default()
    });
    publish(&results, &result[..result.len() - 1]);
    let end = sent.wait_for_result(LONG).unwrap().unwrap();
    assert_eq!((end.status, end.result), (GoalStatus::Lost, None));
    assert!(end.text.contains("a result that cannot be read: field result"), "{}", end.text);
}

#[test]
fn feedback_precedes_result() {
    let scene = Scene::new();
    let (_server, goals) = scene.server();
    let client = scene.client();
    let received = [(); 2].map(|()| Arc::new(Mutex::new(Vec::new())));
    let sent = [0, 1].map(|number| {
        let (into, at_last) = (Arc::clone(&received[number]), Arc::clone(&received[number]));
        let feedback = move |feedback: &TestFeedback| into.lock().unwrap().push(feedback.feedback);
        let done = move |_| at_last.lock().unwrap().push(-1);
        client.send_goal_with(&goal(1), feedback, done).unwrap()
    });
    let arrived = [(); 2].map(|()| goals.recv_timeout(LONG).unwrap());
    arrived.iter().for_each(|goal| goal.accept().unwrap());
    // The second result follows the first one directly, which arrived before the feedback.
    arrived[0].succeed(&result(0), "").unwrap();
    (1..=3).for_each(|feedback| arrived[1].publish_feedback(&TestFeedback { feedback }).unwrap());
    arrived[1].succeed(&result(1), "").unwrap();
    spin_until(&scene.far, "both have ended", || {
        received.iter().all(|received| received.lock().unwrap().contains(&-1))
    });
    assert_eq!(received.map(|received| received.lock().unwrap().clone()), [vec![-1], vec![1, 2, 3, -1]]);
    drop(sent);
}

#[test]
fn untaken_feedback_is_dropped_and_counted() {
    let scene = Scene::new();
    let (_server, goals) = scene.server();
    let client = scene.client();
    let (received, feedback) = received_feedback();
    let sent = client.send_goal_with(&goal(1), feedback, |_| {}).unwrap();
    let arrived = goals.recv_timeout(LONG).unwrap();
    arrived.accept().unwrap();
    (0..150).for_each(|feedback| arrived.publish_feedback(&TestFeedback { feedback }).unwrap());
    wait_until("the oldest are dropped", || sent.status().is_terminal() || sent.dropped_feedback() == 50);
    arrived.succeed(&result(1), "").unwrap();
    assert_eq!(sent.wait_for_result(LONG).unwrap().unwrap().status, GoalStatus::Succeeded);
    assert_eq!(*received.lock().unwrap(), (50..150).collect::<Vec<_>>());
}
