//! Actions in ROS 2 between two participants on real sockets, and within one process.

use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use crate::common::{Graph, LONG, block_on, wait_until};
use crate::dual_scene;
use crate::ros2_action_scene::{Goal, REFUSES_CANCEL, Scene, end, wait_for_status};
use crate::ros2_pair::{context, new_domain};
use crate::scene::{goal, result};
use crate::spinning::Spinning;
use runnel::core::dynamic::DynamicMessage;
use runnel::core::schema::{Generation, TypeName};
use runnel::core::wire::encode;
use runnel::msgs::action_msgs::msg::{GoalInfo, GoalStatus as Ros2Status, GoalStatusArray};
use runnel::msgs::actionlib::action::{TestAction, TestFeedback, TestGoal};
use runnel::{Error, GoalStatus, Graphs, Node, QoS};

/// Too short for a goal to end.
const SHORT: Duration = Duration::from_millis(50);

/// More goals than a client or a server tracks.
const MANY: i32 = 2000;

#[test]
fn waiting_thread_receives_feedback_and_result_in_ros2() {
    let scene = Scene::new();
    let feedback = Arc::new(Mutex::new(Vec::new()));
    let into = Arc::clone(&feedback);
    let keep = move |message: &TestFeedback| into.lock().unwrap().push(message.feedback);
    let sent = scene.client.send_goal_with(&goal(3), keep, |_| {}).unwrap();
    let arrived = scene.goals.recv_timeout(LONG).unwrap();
    assert!(sent.id().uuid().is_some() && !sent.is_acknowledged());
    arrived.accept().unwrap();
    (0..3).for_each(|feedback| arrived.publish_feedback(&TestFeedback { feedback }).unwrap());
    assert!(sent.wait_for_result(SHORT).unwrap().is_none());
    wait_until("all feedback has arrived", || {
        let _ = sent.wait_for_result(SHORT);
        feedback.lock().unwrap().len() == 3
    });
    arrived.succeed(&result(6), "done").unwrap();
    assert_eq!(end(&sent), (GoalStatus::Succeeded, Some(6)));
    assert_eq!(*feedback.lock().unwrap(), [0, 1, 2]);
}

/// A goal that is canceled without a request is listed as canceling first, since ROS 2 allows no other order.
#[test]
fn every_end_reaches_its_ros2_client() {
    let scene = Scene::new();
    let node = scene.far.create_node("lists").unwrap();
    let qos = QoS::keep_last(100).transient_local();
    let mut lists = node.create_stream::<GoalStatusArray>("/test/_action/status", qos).unwrap();
    assert!(lists.subscription().wait_for_publishers(1, LONG).unwrap());
    let goals: Vec<_> = (0..4).map(|number| scene.send(number)).collect();
    let [succeeds, aborts, is_rejected, is_canceled] = [0, 1, 2, 3].map(|number| &goals[number].1);
    is_rejected.reject(&result(2), "too much").unwrap();
    [succeeds, aborts, is_canceled].into_iter().for_each(|goal| goal.accept().unwrap());
    aborts.abort(&result(1), "no way").unwrap();
    is_canceled.canceled(&result(3), "not now").unwrap();
    succeeds.succeed(&result(0), "").unwrap();
    let ends: Vec<_> = goals.iter().map(|(sent, _)| end(sent)).collect();
    let expected = [
        (GoalStatus::Succeeded, Some(0)),
        (GoalStatus::Aborted, Some(1)),
        (GoalStatus::Rejected, None),
        (GoalStatus::Preempted, Some(3)),
    ];
    assert_eq!(ends, expected);
    let id = is_canceled.id().uuid().unwrap();
    let mut statuses = Vec::new();
    while statuses.last() != Some(&Ros2Status::STATUS_CANCELED) {
        let list = block_on(lists.next()).unwrap();
        let own = list.status_list.iter().find(|goal| goal.goal_info.goal_id.uuid == id);
        statuses.extend(own.map(|goal| goal.status));
    }
    statuses.dedup();
    let expected = [Ros2Status::STATUS_EXECUTING, Ros2Status::STATUS_CANCELING, Ros2Status::STATUS_CANCELED];
    assert_eq!(statuses, expected);
}

/// The topic is only in ROS 2, while its type also has a form in ROS 1.
#[test]
fn status_reaches_typed_subscriptions_in_the_process_of_the_server() {
    let domain = new_domain();
    let (near, far) = (Spinning::with(context(domain, false)), context(domain, false));
    let topic = "/test/_action/status";
    let subscribe = |node: &Node| {
        let (sender, lists) = channel();
        let count = move |list: &GoalStatusArray| sender.send(list.status_list.len());
        (node.create_subscription(topic, QoS::keep_last(10).transient_local(), count).unwrap(), lists)
    };
    let (node, other) =
        (near.context.create_node("server").unwrap(), near.context.create_node("other").unwrap());
    let early = subscribe(&node);
    let accept = |goal: Goal| goal.accept().unwrap();
    let _server = node.create_action_server::<TestAction>("test", accept, drop).unwrap();
    let subscriptions = [early, subscribe(&node), subscribe(&other)];
    let refused = node.create_subscription(topic, 1, |_: &GoalInfo| {}).err();
    assert!(matches!(&refused, Some(Error::Topic(_))), "{refused:?}");
    let client = far.create_node("client").unwrap().create_action_client::<TestAction>("test").unwrap();
    assert!(client.wait_for_server(LONG).unwrap());
    let _goal = client.send_goal(&goal(1)).unwrap();
    for (_subscription, lists) in &subscriptions {
        while lists.recv_timeout(LONG).unwrap() == 0 {}
    }
}

#[test]
fn canceled_goal_is_being_canceled_until_its_owner_ends_it() {
    let scene = Scene::new();
    let (sent, arrived) = scene.send(1);
    sent.cancel().unwrap();
    assert!(scene.canceled.recv_timeout(SHORT).is_err(), "the request waits until the goal is accepted");
    arrived.accept().unwrap();
    wait_for_status(&sent, GoalStatus::Preempting);
    assert!(scene.canceled.recv_timeout(LONG).unwrap().is_cancel_requested());
    arrived.canceled(&result(7), "as you wish").unwrap();
    assert_eq!(end(&sent), (GoalStatus::Preempted, Some(7)));
}

#[test]
fn refused_cancel_lets_goal_succeed() {
    let scene = Scene::new();
    let (sent, arrived) = scene.send(REFUSES_CANCEL);
    arrived.accept().unwrap();
    wait_for_status(&sent, GoalStatus::Active);
    for _ in 0..2 {
        sent.cancel().unwrap();
        drop(scene.canceled.recv_timeout(LONG).unwrap());
    }
    assert!(arrived.refuse_cancel().is_err(), "no request awaits a decision");
    assert!(!arrived.is_cancel_requested());
    arrived.succeed(&result(1), "").unwrap();
    assert_eq!(end(&sent), (GoalStatus::Succeeded, Some(1)));
}

#[test]
fn cancel_of_all_concerns_every_goal() {
    let scene = Scene::new();
    let goals = [1, 2].map(|number| scene.send(number));
    goals.iter().for_each(|(_, arrived)| arrived.accept().unwrap());
    scene.client.cancel_all_goals().unwrap();
    for (sent, _) in &goals {
        drop(scene.canceled.recv_timeout(LONG).unwrap());
        wait_for_status(sent, GoalStatus::Preempting);
    }
}

#[test]
fn end_of_server_ends_its_ros2_goals() {
    let scene = Scene::new();
    let goals = [1, 2].map(|number| scene.send(number));
    goals[0].1.accept().unwrap();
    wait_for_status(&goals[0].0, GoalStatus::Active);
    drop(scene.server);
    assert_eq!(end(&goals[0].0), (GoalStatus::Aborted, Some(0)));
    assert_eq!(end(&goals[1].0), (GoalStatus::Rejected, None));
    assert!(matches!(goals[0].1.publish_feedback(&TestFeedback::default()), Err(Error::Action { .. })));
}

#[test]
fn dropped_handle_aborts_ros2_goal() {
    let scene = Scene::new();
    let (sent, arrived) = scene.send(1);
    arrived.accept().unwrap();
    drop(arrived);
    assert_eq!(end(&sent), (GoalStatus::Aborted, Some(0)));
}

#[test]
fn server_and_client_of_one_process_need_no_network() {
    let context = context(new_domain(), false);
    let scene = Scene::between(context.clone(), context);
    let (sent, arrived) = scene.send(1);
    arrived.accept().unwrap();
    wait_for_status(&sent, GoalStatus::Active);
    sent.cancel().unwrap();
    drop(scene.canceled.recv_timeout(LONG).unwrap());
    arrived.canceled(&result(2), "").unwrap();
    assert_eq!(end(&sent), (GoalStatus::Preempted, Some(2)));
}

#[test]
fn simple_server_executes_ros2_goals() {
    let domain = new_domain();
    let near = Spinning::new(domain);
    let far = context(domain, false);
    let node = near.context.create_node("server").unwrap();
    let _server = node
        .create_simple_action_server::<TestAction, Error>("test", |goal| {
            goal.succeed(&result(goal.goal().goal), "")
        })
        .unwrap();
    let client = far.create_node("client").unwrap().create_action_client::<TestAction>("test").unwrap();
    assert!(client.wait_for_server(LONG).unwrap());
    for number in 0..3 {
        assert_eq!(end(&client.send_goal(&goal(number)).unwrap()), (GoalStatus::Succeeded, Some(number)));
    }
}

#[test]
fn futures_of_ros2_goals_complete() {
    let scene = Scene::new();
    let (sent, mut feedback) = scene.client.send_goal_with_feedback(&goal(1)).unwrap();
    let arrived = scene.goals.recv_timeout(LONG).unwrap();
    let accepts = arrived.clone();
    let later = thread::spawn(move || accepts.accept().unwrap());
    assert!(block_on(sent.accepted()).unwrap());
    later.join().unwrap();
    arrived.publish_feedback(&TestFeedback { feedback: 5 }).unwrap();
    assert_eq!(block_on(feedback.next()), Some(TestFeedback { feedback: 5 }));
    arrived.succeed(&result(9), "").unwrap();
    assert_eq!(block_on(sent.result()).unwrap().result, Some(result(9)));
    assert_eq!(block_on(feedback.next()), None);
}

#[test]
fn dynamic_client_of_either_schema_uses_ros2_server() {
    let scene = Scene::new();
    let node = scene.far.create_node("dynamic").unwrap();
    for generation in Generation::ALL {
        let name = TypeName::new("actionlib", "Test");
        let schema = Arc::new(runnel::msgs::library().action_in(generation, &name).unwrap());
        let client = node.create_dynamic_action_client("test", &schema).unwrap();
        assert!(client.wait_for_server(LONG).unwrap());
        let goal = DynamicMessage::decode(&schema.goal, &encode(&TestGoal { goal: 4 })).unwrap();
        let sent = client.send_goal(&goal).unwrap();
        let arrived = scene.goals.recv_timeout(LONG).unwrap();
        assert_eq!(arrived.goal().goal, 4);
        arrived.accept().unwrap();
        arrived.succeed(&result(8), "").unwrap();
        let outcome = sent.wait_for_result(LONG).unwrap().expect("an end");
        assert_eq!(outcome.status, GoalStatus::Succeeded);
        assert_eq!(outcome.result.unwrap().to_bytes(), encode(&result(8)));
    }
}

/// The server accepts goals and never ends them. Those beyond its limit are rejected at once, and other requests are
/// served.
#[test]
fn excess_goals_of_a_client_are_rejected() {
    let scene = Scene::new();
    let mut open = Vec::new();
    for number in 0..MANY {
        match scene.client.send_goal(&goal(number)) {
            Ok(sent) => {
                let arrived = scene.goals.recv_timeout(LONG).unwrap();
                arrived.accept().unwrap();
                wait_for_status(&sent, GoalStatus::Active);
                open.push((sent, arrived));
            }
            Err(error) => {
                assert_eq!(error.to_string(), "action /test: this client already tracks 1000 goals");
                break;
            }
        }
    }
    assert_eq!(open.len(), 1000);
    let other = scene.far.create_node("other").unwrap().create_action_client::<TestAction>("test").unwrap();
    assert!(other.wait_for_server(LONG).unwrap());
    for number in 0..3 {
        assert_eq!(end(&other.send_goal(&goal(number)).unwrap()), (GoalStatus::Rejected, None));
    }
    let (sent, arrived) = open.pop().unwrap();
    arrived.succeed(&result(1), "").unwrap();
    assert_eq!(end(&sent), (GoalStatus::Succeeded, Some(1)));
    let sent = other.send_goal(&goal(7)).unwrap();
    scene.goals.recv_timeout(LONG).unwrap().reject(&result(0), "").unwrap();
    assert_eq!(end(&sent), (GoalStatus::Rejected, None));
}

/// Goals that end are forgotten when their number reaches the limit, so that any number succeeds.
#[test]
fn many_goals_of_one_client_succeed() {
    let scene = Scene::new();
    for number in 0..MANY {
        let (sent, arrived) = scene.send(number);
        arrived.accept().unwrap();
        arrived.succeed(&result(number), "").unwrap();
        assert_eq!(end(&sent), (GoalStatus::Succeeded, Some(number)));
    }
}

/// Each client sees its own goals, and the server all.
#[test]
fn dual_server_serves_both_generations_at_once() {
    let (graph, domain) = (Graph::new(), dual_scene::domain());
    let dual = Spinning::with(dual_scene::context(&graph.uri, Graphs::Both, domain));
    let [ros1, ros2] = [Graphs::Ros1, Graphs::Ros2].map(|only| dual_scene::context(&graph.uri, only, domain));
    let (sender, goals) = channel::<Goal>();
    let node = dual.context.create_node("server").unwrap();
    let on_cancel = |goal: Goal| goal.canceled(&result(goal.goal().goal), "as you wish").unwrap();
    let _server =
        node.create_action_server("test", move |goal| sender.send(goal).unwrap(), on_cancel).unwrap();
    let clients = [&ros1, &ros2].map(|context| {
        let client =
            context.create_node("client").unwrap().create_action_client::<TestAction>("test").unwrap();
        assert!(client.wait_for_server(LONG).unwrap());
        client
    });
    let sent: Vec<_> =
        (0..6).map(|number| clients[number % 2].send_goal(&goal(number as i32)).unwrap()).collect();
    let arrived: Vec<Goal> = sent.iter().map(|_| goals.recv_timeout(LONG).unwrap()).collect();
    arrived.iter().for_each(|goal| goal.accept().unwrap());
    sent.iter().for_each(|sent| wait_for_status(sent, GoalStatus::Active));
    for (sent, number) in sent.iter().zip(0..2) {
        sent.cancel().unwrap();
        assert_eq!(end(sent), (GoalStatus::Preempted, Some(number)));
    }
    let of = |number| arrived.iter().find(|goal| goal.goal().goal == number).unwrap();
    for number in [2, 3] {
        of(number).succeed(&result(number), "reached").unwrap();
        assert_eq!(end(&sent[number as usize]), (GoalStatus::Succeeded, Some(number)));
    }
    clients[1].cancel_all_goals().unwrap();
    for number in [4, 5] {
        assert_eq!(
            end(&sent[number as usize]),
            (GoalStatus::Preempted, Some(number)),
            "goals of both graphs"
        );
    }
    let ids = sent.iter().map(|sent| (sent.id().text().is_some(), sent.id().uuid().is_some()));
    assert!(ids.zip([(true, false), (false, true)].into_iter().cycle()).all(|(id, expected)| id == expected));
}
