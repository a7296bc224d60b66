//! Tests of actions over real sockets and within a process.

mod common;
#[path = "common/action_scene.rs"]
mod scene;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use common::{LONG, spin_until, wait_until};
use runnel::core::Message;
use runnel::core::dynamic::DynamicMessage;
use runnel::core::schema::TypeName;
use runnel::core::wire::encode;
use runnel::msgs::actionlib::action::{
    TestAction, TestActionResult, TestFeedback, TestGoal, TwoIntsAction, TwoIntsGoal, TwoIntsResult,
};
use runnel::msgs::actionlib_msgs::msg::{GoalID, GoalStatus as WireStatus, GoalStatusArray};
use runnel::{
    ActionClient, ActionError, ClientGoalHandle, Error, GoalStatus, ServerGoalHandle, SimpleGoalHandle,
};
use scene::{Scene, goal, result};

/// Too short for a result to arrive.
const SHORT: Duration = Duration::from_millis(50);

/// Executes a goal until it is preempted.
fn until_preempted(goal: &SimpleGoalHandle<TestAction>) -> Result<(), Error> {
    wait_until("the goal is preempted", || goal.is_preempt_requested());
    goal.preempted(&result(goal.goal().goal), "as you wish")
}

fn why(error: Error) -> ActionError {
    match error {
        Error::Action { action, why } if action == "/test" => why,
        other => panic!("{other}"),
    }
}

#[test]
fn waiting_thread_receives_feedback_and_result() {
    let scene = Scene::new();
    let _server = scene.simple_server(|goal| {
        let order = goal.goal().goal;
        for feedback in 0..order {
            goal.publish_feedback(&TestFeedback { feedback })?;
        }
        goal.succeed(&result(2 * order), "done")
    });
    let client = scene.client();
    assert!(client.server_is_ready());
    let (feedback, done) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(None)));
    let (into, at_last) = (Arc::clone(&feedback), Arc::clone(&done));
    let here = thread::current().id();
    let handle = client.send_goal_with(
        &goal(5),
        move |feedback| {
            assert_eq!(thread::current().id(), here);
            into.lock().unwrap().push(feedback.feedback);
        },
        move |outcome| *at_last.lock().unwrap() = Some(outcome),
    );
    let outcome = handle.unwrap().wait_for_result(LONG).unwrap().expect("an end");
    assert_eq!((outcome.status, outcome.text.as_str()), (GoalStatus::Succeeded, "done"));
    assert_eq!(outcome.result, Some(result(10)));
    assert_eq!(*feedback.lock().unwrap(), [0, 1, 2, 3, 4]);
    assert_eq!(done.lock().unwrap().take(), Some(outcome));
}

#[test]
fn action_uses_five_topics_of_actionlib() {
    let scene = Scene::new();
    let (_server, _goals) = scene.server();
    let types = scene.graph.ask("getTopicTypes", &["/test".into()]);
    let types = types.as_array().unwrap().iter().filter_map(|row| match row.as_array()? {
        [topic, name] => Some((topic.as_str()?.to_owned(), name.as_str()?.to_owned())),
        _ => None,
    });
    let types: BTreeMap<String, String> = types.collect();
    for (topic, name) in [
        ("/test/goal", "actionlib/TestActionGoal"),
        ("/test/cancel", "actionlib_msgs/GoalID"),
        ("/test/status", "actionlib_msgs/GoalStatusArray"),
        ("/test/feedback", "actionlib/TestActionFeedback"),
        ("/test/result", "actionlib/TestActionResult"),
    ] {
        assert_eq!(types[topic], name);
    }
}

#[test]
fn server_executes_concurrent_goals() {
    let scene = Scene::new();
    let (_server, goals) = scene.server();
    let client = scene.client();
    let sent: Vec<_> = (0..4).map(|number| client.send_goal(&goal(number)).unwrap()).collect();
    let arrived: Vec<_> = sent.iter().map(|_| goals.recv_timeout(LONG).unwrap()).collect();
    assert!(
        arrived
            .iter()
            .zip(&sent)
            .all(|(arrived, sent)| arrived.id() == sent.id() && arrived.stamp() == sent.stamp())
    );
    assert!(arrived.iter().zip(0..).all(|(arrived, number)| arrived.goal().goal == number));
    arrived[3].reject(&result(3), "too much").unwrap();
    arrived[0].accept().unwrap();
    arrived[1].accept().unwrap();
    wait_until("the client learns that a goal is active", || sent[1].status() == GoalStatus::Active);
    // On other threads than the spinning one, and in another order.
    let other = arrived[1].clone();
    thread::spawn(move || other.abort(&result(1), "no way").unwrap()).join().unwrap();
    arrived[0].succeed(&result(0), "").unwrap();
    arrived[2].canceled(&result(2), "not now").unwrap();
    let ends = sent.iter().map(|handle| handle.wait_for_result(LONG).unwrap().expect("an end"));
    let ends: Vec<_> = ends.map(|end| (end.status, end.text, end.result)).collect();
    let expected = [
        (GoalStatus::Succeeded, ""),
        (GoalStatus::Aborted, "no way"),
        (GoalStatus::Recalled, "not now"),
        (GoalStatus::Rejected, "too much"),
    ];
    for ((end, (status, text)), number) in ends.iter().zip(expected).zip(0..) {
        assert_eq!(*end, (status, text.to_owned(), Some(result(number))));
    }
}

#[test]
fn invalid_goal_transition_is_refused() {
    let scene = Scene::new();
    let (server, goals) = scene.server();
    let client = scene.client();
    let handle = client.send_goal(&goal(1)).unwrap();
    let arrived = goals.recv_timeout(LONG).unwrap();
    let status = GoalStatus::Pending;
    let refused = ActionError::WrongStatus { goal: arrived.id().clone(), status, wanted: "succeeded" };
    assert_eq!(why(arrived.succeed(&result(1), "").unwrap_err()), refused);
    arrived.accept().unwrap();
    assert!(arrived.accept().is_err() && arrived.reject(&result(1), "").is_err());
    arrived.succeed(&result(1), "").unwrap();
    let error = arrived.abort(&result(1), "").unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("action /test: goal {} is SUCCEEDED and cannot become aborted", handle.id())
    );
    drop(server);
    assert_eq!(
        why(arrived.publish_feedback(&TestFeedback::default()).unwrap_err()),
        ActionError::ServerEnded
    );
}

#[test]
fn client_cancels_one_goal() {
    let scene = Scene::new();
    let (canceled, goals) = (Arc::new(Mutex::new(Vec::new())), channel());
    let into = Arc::clone(&canceled);
    let server = scene.near.create_node("server").unwrap().create_action_server::<TestAction>(
        "test",
        move |goal| goals.0.send(goal).unwrap(),
        move |goal| into.lock().unwrap().push(goal.goal().goal),
    );
    let _server = server.unwrap();
    let client = scene.client();
    let sent: Vec<_> = (0..3).map(|number| client.send_goal(&goal(number)).unwrap()).collect();
    let arrived: Vec<_> = sent.iter().map(|_| goals.1.recv_timeout(LONG).unwrap()).collect();
    arrived[1].accept().unwrap();
    wait_until("the goal is active", || sent[1].status() == GoalStatus::Active);
    sent[1].cancel().unwrap();
    wait_until("the cancel arrives", || arrived[1].is_cancel_requested());
    wait_until("the client is informed", || sent[1].status() == GoalStatus::Preempting);
    assert!(!arrived[0].is_cancel_requested() && !arrived[2].is_cancel_requested());
    // A server may complete a goal that it was asked to cancel.
    arrived[1].succeed(&result(1), "it was as good as done").unwrap();
    assert_eq!(sent[1].wait_for_result(LONG).unwrap().unwrap().status, GoalStatus::Succeeded);
    sent[0].cancel().unwrap();
    wait_until("the other cancel arrives", || arrived[0].status() == GoalStatus::Recalling);
    arrived[0].accept().unwrap();
    assert_eq!(arrived[0].status(), GoalStatus::Preempting);
    arrived[0].canceled(&result(0), "").unwrap();
    assert_eq!(sent[0].wait_for_result(LONG).unwrap().unwrap().status, GoalStatus::Preempted);
    wait_until("the callback has had both", || *canceled.lock().unwrap() == [1, 0]);
    assert_eq!(sent[2].wait_for_result(SHORT).unwrap(), None);
}

#[test]
fn client_cancels_goals_by_time() {
    let scene = Scene::new();
    let (_server, goals) = scene.server();
    let client = scene.client();
    let send = |number| {
        let handle = client.send_goal(&goal(number)).unwrap();
        (handle, goals.recv_timeout(LONG).unwrap())
    };
    let (first, second) = (send(1), send(2));
    assert!(first.0.stamp() < second.0.stamp());
    client.cancel_goals_at_and_before_time(first.0.stamp()).unwrap();
    wait_until("the first is to be canceled", || first.1.is_cancel_requested());
    assert!(!second.1.is_cancel_requested());
    client.cancel_all_goals().unwrap();
    wait_until("the second is, too", || second.1.is_cancel_requested());
    let third = send(3);
    assert!(!third.1.is_cancel_requested(), "only what was there then");
}

#[test]
fn newer_goal_preempts_active_goal() {
    let scene = Scene::new();
    let executed = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&executed);
    let _server = scene.simple_server(move |goal| {
        count.fetch_add(1, Ordering::SeqCst);
        if goal.goal().goal == 9 {
            return goal.succeed(&result(9), "");
        }
        wait_until("a newer goal waits", || goal.is_new_goal_available() || goal.is_preempt_requested());
        until_preempted(goal)
    });
    let client = scene.client();
    let first = client.send_goal(&goal(1)).unwrap();
    wait_until("the first is worked on", || first.status() == GoalStatus::Active);
    let second = client.send_goal(&goal(9)).unwrap();
    let end = first.wait_for_result(LONG).unwrap().unwrap();
    assert_eq!(
        (end.status, end.text.as_str(), end.result),
        (GoalStatus::Preempted, "as you wish", Some(result(1)))
    );
    assert_eq!(second.wait_for_result(LONG).unwrap().unwrap().status, GoalStatus::Succeeded);
    let third = client.send_goal(&goal(3)).unwrap();
    wait_until("the third is worked on", || third.status() == GoalStatus::Active);
    third.cancel().unwrap();
    assert_eq!(third.wait_for_result(LONG).unwrap().unwrap().status, GoalStatus::Preempted);
    assert_eq!(executed.load(Ordering::SeqCst), 3);
}

#[test]
fn replaced_pending_goal_is_recalled() {
    let scene = Scene::new();
    let free = Arc::new(AtomicBool::new(false));
    let go = Arc::clone(&free);
    let _server = scene.simple_server(move |goal| {
        wait_until("the test lets go", || go.load(Ordering::SeqCst));
        goal.succeed(&result(goal.goal().goal), "")
    });
    let client = scene.client();
    let sent = [1, 2, 3].map(|number| {
        let handle = client.send_goal(&goal(number)).unwrap();
        let begun = if number == 1 { GoalStatus::Active } else { GoalStatus::Pending };
        wait_until("the goal arrives", || handle.status() == begun);
        handle
    });
    let end = sent[1].wait_for_result(LONG).unwrap().unwrap();
    assert_eq!((end.status, end.text.as_str()), (GoalStatus::Recalled, "a newer goal has taken its place"));
    free.store(true, Ordering::SeqCst);
    assert_eq!(sent[0].wait_for_result(LONG).unwrap().unwrap().status, GoalStatus::Succeeded);
    assert_eq!(sent[2].wait_for_result(LONG).unwrap().unwrap().result, Some(result(3)));
}

#[test]
fn unfinished_goal_is_aborted_with_reason() {
    let scene = Scene::new();
    let _server = scene.simple_server(|goal| match goal.goal().goal {
        1 => Ok(()),
        2 => panic!("it dislikes this one"),
        _ => Err(Error::ShuttingDown),
    });
    let client = scene.client();
    for (number, expected) in [
        (1, "executing the goal ended without saying how"),
        (2, "executing the goal failed with a panic"),
        (3, "the context is shutting down"),
    ] {
        let end = client.send_goal(&goal(number)).unwrap().wait_for_result(LONG).unwrap().unwrap();
        assert_eq!((end.status, end.text.as_str()), (GoalStatus::Aborted, expected));
    }
}

#[test]
fn dropped_handle_or_server_ends_goals() {
    let scene = Scene::new();
    let (server, goals) = scene.server();
    let client = scene.client();
    let sent: Vec<_> = (0..4).map(|number| client.send_goal(&goal(number)).unwrap()).collect();
    let mut arrived: Vec<_> = sent.iter().map(|_| goals.recv_timeout(LONG).unwrap()).collect();
    arrived[0].accept().unwrap();
    arrived[2].accept().unwrap();
    let end = |number: usize| {
        let end = sent[number].wait_for_result(LONG).unwrap().unwrap();
        (end.status, end.text)
    };
    let dropped = "nobody works on the goal any more: its handle was dropped before it ended".to_owned();
    let also = arrived[0].clone();
    arrived.drain(0..2);
    assert_eq!(end(1), (GoalStatus::Rejected, dropped.clone()));
    assert_eq!(sent[0].wait_for_result(SHORT).unwrap(), None, "another handle is there");
    drop(also);
    assert_eq!(end(0), (GoalStatus::Aborted, dropped));
    drop(server);
    let ended = "the action server has ended".to_owned();
    assert_eq!(end(2), (GoalStatus::Aborted, ended.clone()));
    assert_eq!(end(3), (GoalStatus::Rejected, ended));
    wait_until("the client sees that the server is gone", || !client.server_is_ready());
}

#[test]
fn callback_may_wait_for_goals() {
    let scene = Scene::new();
    let _server = scene.simple_server(|goal| {
        goal.publish_feedback(&TestFeedback { feedback: 7 })?;
        goal.succeed(&result(goal.goal().goal + 1), "")
    });
    let client = scene.client();
    let (first, second) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (in_feedback, in_done, again) = (Arc::clone(&first), Arc::clone(&second), client.clone());
    let from_feedback = client.clone();
    let reach = |client: &ActionClient<TestAction>, number| {
        client
            .send_goal(&goal(number))
            .unwrap()
            .wait_for_result(LONG)
            .unwrap()
            .unwrap()
            .result
            .unwrap()
            .result
    };
    let handle = client.send_goal_with(
        &goal(1),
        move |_| in_feedback.store(reach(&from_feedback, 10) as usize, Ordering::SeqCst),
        move |outcome| {
            assert_eq!(outcome.status, GoalStatus::Succeeded);
            in_done.store(reach(&again, 20) as usize, Ordering::SeqCst);
        },
    );
    drop(handle);
    spin_until(&scene.far, "both callbacks have reached theirs", || {
        first.load(Ordering::SeqCst) == 11 && second.load(Ordering::SeqCst) == 21
    });
}

#[test]
fn action_works_within_node_and_process() {
    let scene = Scene::new();
    let one = scene.near.create_node("one").unwrap();
    let two = scene.near.create_node("two").unwrap();
    let _server = one
        .create_simple_action_server::<TwoIntsAction, _>("sum", |goal| {
            let TwoIntsGoal { a, b } = *goal.goal();
            goal.succeed(&TwoIntsResult { sum: a + b }, "")
        })
        .unwrap();
    for (node, a) in [(one, 1), (two, 2)] {
        let client = node.create_action_client::<TwoIntsAction>("sum").unwrap();
        assert!(client.wait_for_server(LONG).unwrap());
        let handle = client.send_goal(&TwoIntsGoal { a, b: 40 }).unwrap();
        let outcome = handle.wait_for_result(LONG).unwrap().unwrap();
        assert_eq!(outcome.result, Some(TwoIntsResult { sum: a + 40 }));
    }
}

#[test]
fn remapping_applies_to_whole_action() {
    let scene = Scene::new();
    let (_server, goals) = scene.server();
    let context = scene.graph.context_with(&["work:=/test"]);
    let client = context.create_node("client").unwrap().create_action_client::<TestAction>("work").unwrap();
    assert_eq!(client.action(), "/test");
    assert!(client.wait_for_server(LONG).unwrap());
    let sent = client.send_goal(&goal(1)).unwrap();
    assert_eq!(goals.recv_timeout(LONG).unwrap().id(), sent.id());
    let context = scene.graph.context_with(&["test:=/other"]);
    let node = context.create_node("another").unwrap();
    let server = node.create_action_server::<TestAction>("test", |_| {}, |_| {}).unwrap();
    assert_eq!(server.action(), "/other");
    let other = scene.far.create_node("other").unwrap().create_action_client::<TestAction>("/other").unwrap();
    assert!(other.wait_for_server(LONG).unwrap());
}

#[test]
fn action_type_may_be_dynamic() {
    let scene = Scene::new();
    let _server = scene.simple_server(|goal| {
        goal.publish_feedback(&TestFeedback { feedback: 3 })?;
        goal.succeed(&result(goal.goal().goal), "")
    });
    let library = runnel::msgs::library();
    let schema = Arc::new(library.action(&TypeName::new("actionlib", "Test")).unwrap());
    let client = scene.node().create_dynamic_action_client("test", &schema).unwrap();
    assert!(client.wait_for_server(LONG).unwrap() && client.server_is_ready());
    let message = DynamicMessage::decode(&schema.goal, &encode(&goal(6))).unwrap();
    let received = Arc::new(Mutex::new(Vec::new()));
    let into = Arc::clone(&received);
    let feedback = move |feedback: &DynamicMessage| into.lock().unwrap().push(feedback.to_bytes());
    let handle = client.send_goal_with(&message, feedback, |_| {}).unwrap();
    let outcome = handle.wait_for_result(LONG).unwrap().unwrap();
    assert_eq!((outcome.status, handle.status()), (GoalStatus::Succeeded, GoalStatus::Succeeded));
    assert_eq!(outcome.result.unwrap().to_bytes(), encode(&result(6)));
    assert_eq!(*received.lock().unwrap(), [encode(&TestFeedback { feedback: 3 })]);
    assert_eq!(schema.goal.md5, TestGoal::MD5);
}

thread_local! {
    /// The goal whose status this thread's logger queries.
    static QUERIED_GOAL: RefCell<Option<(ServerGoalHandle<TestAction>, usize)>> = const { RefCell::new(None) };
}

/// Whether a thread logs an invalid status of a goal, and whether it may continue.
static HELD: (AtomicBool, AtomicBool) = (AtomicBool::new(false), AtomicBool::new(false));

/// A logger that uses the objects that it logs about.
struct QueryingLogger;

impl log::Log for QueryingLogger {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }
    fn log(&self, record: &log::Record<'_>) {
        if record.args().to_string().contains("as 77") {
            HELD.0.store(true, Ordering::SeqCst);
            wait_until("the test lets go", || HELD.1.load(Ordering::SeqCst));
        }
        QUERIED_GOAL.with_borrow_mut(|asked| {
            if let Some((goal, count)) = asked {
                assert!(!goal.status().is_terminal());
                *count += 1;
            }
        });
    }
    fn flush(&self) {}
}

fn be_curious() {
    // Another test of this process may have set the logger.
    let _ = log::set_logger(&QueryingLogger);
    log::set_max_level(log::LevelFilter::Info);
}

#[test]
fn logger_may_query_the_action_server() {
    be_curious();
    // When the test fails, the server's end would block.
    let scene = ManuallyDrop::new(Scene::new());
    let (server, goals) = scene.server();
    let server = ManuallyDrop::new(server);
    let client = scene.client();
    let _sent = [1, 2].map(|number| client.send_goal(&goal(number)).unwrap());
    let [dropped, asked] = [(); 2].map(|()| goals.recv_timeout(LONG).unwrap());
    let logging = thread::spawn(move || {
        QUERIED_GOAL.set(Some((asked, 0)));
        drop(dropped);
        QUERIED_GOAL.take().map(|(_, count)| count)
    });
    wait_until("the drop is over", || logging.is_finished());
    assert_eq!(logging.join().unwrap(), Some(1));
    drop((ManuallyDrop::into_inner(server), ManuallyDrop::into_inner(scene)));
}

fn status_of(goal: &ClientGoalHandle<TestAction>, status: u8) -> WireStatus {
    let goal_id = GoalID { stamp: goal.stamp(), id: goal.id().to_string() };
    WireStatus { goal_id, status, text: String::new() }
}

#[test]
fn result_precedes_status_during_concurrent_results() {
    be_curious();
    let scene = Scene::new();
    let server = scene.near.create_node("server").unwrap();
    let lists = server.create_publisher("test/status", 10).unwrap();
    let results = server.create_publisher("test/result", 10).unwrap();
    let node = scene.node();
    let client = node.create_action_client::<TestAction>("test").unwrap();
    let come = node.create_subscription("test/result", 10, |_: &TestActionResult| {}).unwrap();
    assert!(lists.wait_for_subscribers(1, LONG).unwrap() && results.wait_for_subscribers(1, LONG).unwrap());
    let [odd, ended, other] = [1, 2, 3].map(|number| client.send_goal(&goal(number)).unwrap());
    let list = |status_list| lists.publish(GoalStatusArray { status_list, ..Default::default() }).unwrap();
    let end = |status| results.publish(TestActionResult { status, ..Default::default() }).unwrap();
    list([&odd, &ended, &other].map(|goal| status_of(goal, WireStatus::ACTIVE)).into());
    wait_until("all are active", || {
        [&odd, &ended, &other].iter().all(|goal| goal.status() == GoalStatus::Active)
    });
    end(status_of(&odd, 77));
    let working = thread::spawn(move || odd.wait_for_result(LONG).unwrap().unwrap().status);
    wait_until("another thread works on a result", || HELD.0.load(Ordering::SeqCst));
    end(status_of(&ended, WireStatus::SUCCEEDED));
    spin_until(&scene.far, "the next result waits", || come.received() == 2);
    list(vec![status_of(&other, WireStatus::PREEMPTING)]);
    wait_until("the list is received", || other.status() == GoalStatus::Preempting);
    assert_eq!(ended.status(), GoalStatus::Active);
    HELD.1.store(true, Ordering::SeqCst);
    assert_eq!(ended.wait_for_result(LONG).unwrap().unwrap().status, GoalStatus::Succeeded);
    assert_eq!(working.join().unwrap(), GoalStatus::Lost);
    list(Vec::new());
    assert_eq!(other.wait_for_result(LONG).unwrap().unwrap().status, GoalStatus::Lost);
}
