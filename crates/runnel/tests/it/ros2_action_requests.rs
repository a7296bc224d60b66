//! Requests of ROS 2 clients to an action server beyond what its own client sends: repeated, too many, of clients that are
//! gone, and at the server's end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;

use crate::common::{LONG, block_on, wait_until};
use crate::logged::{keep_log, wait_logged};
use crate::ros2_action_scene::{Goal, Scene, end, wait_for_status};
use crate::ros2_pair::{context, new_domain};
use crate::scene::{goal, result};
use crate::spinning::Spinning;
use runnel::core::message::{Action, Service};
use runnel::msgs::action_msgs::srv::{CancelGoal, CancelGoalRequest};
use runnel::msgs::actionlib::action::{TestAction, TestFeedback};
use runnel::msgs::unique_identifier_msgs::msg::UUID;
use runnel::{Client, Context, Error, GoalStatus, PendingResponse, Ros2Graph};

type SendGoal = <TestAction as Action>::SendGoal;
type GetResult = <TestAction as Action>::GetResult;
type GoalRequest = <SendGoal as Service>::Request;
type ResultRequest = <GetResult as Service>::Request;

/// The number of clients that send goals at once.
const CLIENTS: usize = 10;

/// Most requests of a client that a server's executor has not taken.
const MOST_QUEUED: usize = 250;

fn client<S: Service>(context: &Context, node: &str, service: &str) -> Client<S> {
    let client =
        context.create_node(node).unwrap().create_client(&format!("/test/_action/{service}")).unwrap();
    assert!(client.wait_for_service(LONG).unwrap());
    client
}

fn request(id: [u8; 16], number: i32) -> GoalRequest {
    GoalRequest { goal_id: UUID { uuid: id }, goal: goal(number) }
}

fn numbered(number: usize) -> GoalRequest {
    let mut id = [1; 16];
    id[..8].copy_from_slice(&number.to_le_bytes());
    request(id, 0)
}

/// The response to a request.
fn response<S: Service>(mut pending: PendingResponse<S>) -> Result<S::Response, Error> {
    let mut response = None;
    wait_until("the request is answered", || {
        response = pending.take();
        response.is_some()
    });
    response.unwrap()
}

/// Whether the goal of a request is accepted.
fn is_accepted(pending: PendingResponse<SendGoal>) -> Result<bool, Error> {
    response(pending).map(|response| response.accepted)
}

/// The number of goals at once, and of those that are accepted at most: every accepted goal makes the status list longer.
fn many() -> (usize, usize) {
    if std::env::var_os("RUNNEL_TEST_FULL").is_some() { (10_000, 1000) } else { (3000, 10) }
}

#[test]
fn repeated_goal_is_accepted_again_and_runs_once() {
    let scene = Scene::new();
    let [sender, other] = ["sender", "other"].map(|node| client::<SendGoal>(&scene.far, node, "send_goal"));
    let send = |client: &Client<SendGoal>| client.send_request(&request([7; 16], 1), None).unwrap();
    let first = send(&sender);
    let arrived = scene.goals.recv_timeout(LONG).unwrap();
    let second = send(&sender);
    arrived.accept().unwrap();
    assert!(is_accepted(first).unwrap());
    assert!(is_accepted(second).unwrap());
    let stamps = [(); 2].map(|()| response(send(&sender)).unwrap().stamp);
    assert_eq!(stamps, [arrived.stamp(); 2]);
    arrived.succeed(&result(1), "").unwrap();
    assert!(is_accepted(send(&sender)).unwrap(), "it was accepted before it ended");
    let error = is_accepted(send(&other)).unwrap_err().to_string();
    assert!(error.contains("is in use by another client"), "{error}");
    assert!(scene.goals.try_recv().is_err(), "it runs once");
}

#[test]
fn repeated_goal_is_rejected_again() {
    let scene = Scene::new();
    let sender = client::<SendGoal>(&scene.far, "sender", "send_goal");
    let send = || sender.send_request(&request([7; 16], 1), None).unwrap();
    let first = send();
    scene.goals.recv_timeout(LONG).unwrap().reject(&result(0), "").unwrap();
    assert!(!is_accepted(first).unwrap());
    assert!(!is_accepted(send()).unwrap());
    assert!(scene.goals.try_recv().is_err(), "the user decides once");
}

#[test]
fn cancel_before_acceptance_outlives_its_handle() {
    let scene = Scene::new();
    let (sent, arrived) = scene.send(1);
    sent.cancel().unwrap();
    drop(sent);
    arrived.accept().unwrap();
    wait_until("the cancel request arrives", || {
        // Any function of the client handles what it has received.
        let _ = scene.client.server_is_ready();
        arrived.is_cancel_requested()
    });
}

#[test]
fn cancel_status_is_seen_once_the_callback_has_decided() {
    let domain = new_domain();
    let (near, far) = (Spinning::new(domain), context(domain, false));
    let ((goals, arrived), (asked, being_asked), (decide, decided)) = (channel(), channel(), channel());
    let on_cancel = move |goal: Goal| {
        asked.send(goal.is_cancel_requested()).unwrap();
        decided.recv().unwrap();
    };
    let server = near.node("server");
    let on_goal = move |goal: Goal| goals.send(goal).unwrap();
    let _server = server.create_action_server("test", on_goal, on_cancel).unwrap();
    let client = far.create_node("client").unwrap().create_action_client::<TestAction>("test").unwrap();
    assert!(client.wait_for_server(LONG).unwrap());
    let sent = client.send_goal(&goal(1)).unwrap();
    let arrived = arrived.recv_timeout(LONG).unwrap();
    arrived.accept().unwrap();
    wait_for_status(&sent, GoalStatus::Active);
    sent.cancel().unwrap();
    assert!(being_asked.recv_timeout(LONG).unwrap(), "the callback's handle has the new status");
    assert_eq!(arrived.status(), GoalStatus::Active, "it is not decided");
    decide.send(()).unwrap();
    wait_until("it is decided", || arrived.status() == GoalStatus::Preempting);
    wait_for_status(&sent, GoalStatus::Preempting);
}

#[test]
fn panic_of_cancel_callback_refuses_the_request_once() {
    let domain = new_domain();
    let (near, far) = (context(domain, false), context(domain, false));
    let (goals, arrived) = channel();
    let mut is_asked_again = false;
    let on_cancel =
        move |_: Goal| assert!(std::mem::replace(&mut is_asked_again, true), "the callback panics");
    let on_goal = move |goal: Goal| goals.send(goal).unwrap();
    let _server =
        near.create_node("server").unwrap().create_action_server("test", on_goal, on_cancel).unwrap();
    let spin_until = |what: &str, is_done: &mut dyn FnMut() -> bool| {
        wait_until(what, || {
            // The panic ends the spin of the thread that calls back.
            let spin = || near.spin_once(std::time::Duration::from_millis(1)).unwrap();
            let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(spin));
            is_done()
        });
    };
    let sender = client::<SendGoal>(&far, "sender", "send_goal");
    let mut accepted = sender.send_request(&request([7; 16], 1), None).unwrap();
    let mut goal = None;
    spin_until("the goal arrives", &mut || {
        goal = goal.take().or_else(|| arrived.try_recv().ok());
        goal.is_some()
    });
    let goal: Goal = goal.unwrap();
    goal.accept().unwrap();
    spin_until("the goal is accepted", &mut || accepted.take().is_some());
    let canceler = client::<CancelGoal>(&far, "canceler", "cancel_goal");
    let cancel = || {
        let mut pending = canceler.send_request(&CancelGoalRequest::default(), None).unwrap();
        let mut response = None;
        spin_until("the request is answered", &mut || {
            response = pending.take();
            response.is_some()
        });
        response.unwrap()
    };
    let error = cancel().unwrap_err().to_string();
    assert!(error.contains("the callback for cancel requests panicked"), "{error}");
    assert_eq!(goal.status(), GoalStatus::Active);
    assert_eq!(cancel().unwrap().goals_canceling.len(), 1);
    assert_eq!(goal.status(), GoalStatus::Preempting);
}

#[test]
fn result_requests_of_ended_clients_make_way() {
    let scene = Scene::new();
    let other = context(scene.far.domain_id().unwrap(), false);
    let (sent, arrived) = scene.send(1);
    arrived.accept().unwrap();
    wait_for_status(&sent, GoalStatus::Active);
    let ask_for = |uuid, client: &Client<GetResult>| {
        let goal_id = UUID { uuid };
        client.send_request(&ResultRequest { goal_id }, Some(LONG)).unwrap()
    };
    let ask = |client: &Client<GetResult>| ask_for(sent.id().uuid().unwrap(), client);
    let ending = client::<GetResult>(&other, "ending", "get_result");
    let waiting: Vec<_> = (0..10).map(|_| ask(&ending)).collect();
    let error = block_on(ask(&ending)).unwrap_err().to_string();
    assert!(error.contains("10 requests wait for the result"), "{error}");
    drop((waiting, ending));
    // That of the action client is left.
    let is_gone = |graph: &Ros2Graph| graph.count_clients("/test/_action/get_result") == 1;
    assert!(scene.near.context.wait_for_ros2_graph(LONG, is_gone).unwrap());
    let living = client::<GetResult>(&other, "living", "get_result");
    let response = ask(&living);
    // Requests of a client are handled in order: the server has that one before the goal ends.
    assert_eq!(block_on(ask_for([9; 16], &living)).unwrap().status, 0, "an unknown goal");
    arrived.succeed(&result(5), "").unwrap();
    let response = block_on(response).unwrap();
    assert_eq!((response.status, response.result), (4, result(5)));
}

/// A server whose callback for goals blocks until the test releases it, with a full queue of one client's goals.
#[test]
fn goals_beyond_the_queue_are_refused_and_queued_ones_at_the_end() {
    keep_log();
    let domain = new_domain();
    let (near, far) = (Spinning::new(domain), context(domain, false));
    let ((begun, begins), (go_on, goes_on)) = (channel(), channel::<()>());
    let on_goal = move |goal: Goal| {
        begun.send(goal).unwrap();
        // The sender may be dropped.
        let _ = goes_on.recv();
    };
    let server = near.node("server").create_action_server("test", on_goal, |_| {}).unwrap();
    let sender = client::<SendGoal>(&far, "sender", "send_goal");
    let first = sender.send_request(&numbered(0), None).unwrap();
    let first_goal = begins.recv_timeout(LONG).unwrap();
    let send = |number| sender.send_request(&numbered(number), None).unwrap();
    let queued: Vec<_> = (1..=MOST_QUEUED).map(send).collect();
    let error = is_accepted(send(MOST_QUEUED + 1)).unwrap_err().to_string();
    assert!(error.contains("250 requests of participant"), "{error}");
    wait_logged(&["service /test/_action/send_goal: 250 requests of participant"]);
    drop(server);
    assert!(!is_accepted(first).unwrap(), "it ends with its server");
    assert!(queued.into_iter().all(|pending| !is_accepted(pending).unwrap()));
    drop((go_on, first_goal));
}

/// Every goal is answered, the excess ones with the reason. Other goals of the server are not disturbed.
#[test]
fn many_goals_at_once_are_answered() {
    let scene = Scene::new();
    let domain = scene.far.domain_id().unwrap();
    let (sent, mut feedback) = scene.client.send_goal_with_feedback(&goal(1)).unwrap();
    let bystander = scene.goals.recv_timeout(LONG).unwrap();
    bystander.accept().unwrap();
    wait_for_status(&sent, GoalStatus::Active);
    let flood = context(domain, false);
    let clients: Vec<_> = (0..CLIENTS)
        .map(|number| client::<SendGoal>(&flood, &format!("flood_{number}"), "send_goal"))
        .collect();
    let (many, most_open) = many();
    let is_over = Arc::new(AtomicBool::new(false));
    let over = Arc::clone(&is_over);
    let goals = scene.goals;
    let worker = std::thread::spawn(move || {
        let mut open = Vec::new();
        while !over.load(Ordering::SeqCst) {
            let Ok(goal) = goals.recv_timeout(std::time::Duration::from_millis(10)) else { continue };
            if open.len() < most_open {
                goal.accept().unwrap();
                open.push(goal);
            } else {
                goal.reject(&result(0), "enough").unwrap();
            }
        }
        open
    });
    let pending: Vec<_> = (0..many)
        .map(|number| clients[number % CLIENTS].send_request(&numbered(number), None).unwrap())
        .collect();
    bystander.publish_feedback(&TestFeedback { feedback: 5 }).unwrap();
    assert_eq!(block_on(feedback.next()), Some(TestFeedback { feedback: 5 }));
    let mut accepted = 0;
    for pending in pending {
        match is_accepted(pending) {
            Ok(is_accepted) => accepted += usize::from(is_accepted),
            Err(error) => {
                let error = error.to_string();
                let is_named = error.contains("works on 1000 goals already")
                    || error.contains("requests") && error.contains("have no response yet");
                assert!(is_named, "{error}");
            }
        }
    }
    is_over.store(true, Ordering::SeqCst);
    let open = worker.join().unwrap();
    assert_eq!(accepted, open.len());
    assert!((1..1000).contains(&accepted), "{accepted}");
    bystander.succeed(&result(3), "").unwrap();
    assert_eq!(end(&sent), (GoalStatus::Succeeded, Some(3)));
}
