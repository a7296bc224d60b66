//! Tests of wait sets, and of entities taken without callbacks.

use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use crate::common::{Graph, LONG, spin_until, wait_until};
use crate::ros2_pair::{EndOnDrop, context as ros2_context, new_domain};
use runnel::core::Message;
use runnel::core::wire::Wire;
use runnel::msgs::std_msgs::msg::{String as Text, UInt8MultiArray};
use runnel::msgs::std_srvs::srv::{SetBool, SetBoolRequest, SetBoolResponse};
use runnel::{
    Context, Error, GuardCondition, Publisher, QoS, QosEvent, QosEventKind, ServiceError, Subscription,
    SubscriptionOptions, WaitSet,
};

const AT_ONCE: Option<Duration> = Some(Duration::ZERO);

fn text(data: &str) -> Text {
    Text { data: data.into() }
}

fn taken_text(subscription: &Subscription) -> Option<String> {
    subscription.take::<Text>().map(|taken| taken.view().unwrap().data.to_string())
}

fn subscribe<M: Message>(context: &Context, topic: &str) -> Subscription {
    let node = context.create_node(&format!("taker_of_{topic}")).unwrap();
    node.create_waitable_subscription::<M>(topic, 10).unwrap()
}

/// A publisher that is connected to a subscriber of another context.
fn publisher<M: Message + Wire>(context: &Context, topic: &str) -> Publisher<M> {
    let node = context.create_node(&format!("talker_of_{topic}")).unwrap();
    let publisher = node.create_publisher(topic, 10).unwrap();
    assert!(publisher.wait_for_subscribers(1, LONG).unwrap());
    publisher
}

#[test]
fn wait_returns_entities_until_they_are_taken() {
    let graph = Graph::new();
    let (near, far) = (graph.context(), graph.context());
    let [one, other] = ["one", "other"].map(|topic| subscribe::<Text>(&far, topic));
    let mut wait_set = WaitSet::new(&far);
    let [key, other_key] = [&one, &other].map(|subscription| wait_set.add_subscription(subscription));
    assert!(wait_set.wait(AT_ONCE).unwrap().is_empty());
    let talker = publisher(&near, "one");
    ["a", "b"].into_iter().for_each(|data| talker.publish(text(data)).unwrap());
    assert_eq!(wait_set.wait(None).unwrap(), [key]);
    assert_eq!(taken_text(&one).as_deref(), Some("a"));
    assert_eq!(wait_set.wait(None).unwrap(), [key], "another waits");
    assert_eq!([taken_text(&one).as_deref(), taken_text(&one).as_deref()], [Some("b"), None]);
    assert!(wait_set.wait(AT_ONCE).unwrap().is_empty());
    publisher(&near, "other").publish(text("c")).unwrap();
    assert_eq!(wait_set.wait(None).unwrap(), [other_key]);
    assert!(wait_set.remove(other_key) && !wait_set.remove(other_key));
    assert!(wait_set.wait(AT_ONCE).unwrap().is_empty(), "it is not in the set");
    talker.publish(text("d")).unwrap();
    assert_eq!(wait_set.wait(None).unwrap(), [key], "the other one is");
}

#[test]
fn local_message_is_taken_by_reference() {
    let graph = Graph::new();
    let context = graph.context();
    let subscription = subscribe::<Text>(&context, "chatter");
    let talker = publisher(&context, "chatter");
    let message = Arc::new(text("hello"));
    talker.publish(Arc::clone(&message)).unwrap();
    let mut wait_set = WaitSet::new(&context);
    wait_set.add_subscription(&subscription);
    assert_eq!(wait_set.wait(None).unwrap().len(), 1);
    let taken = subscription.take::<Text>().unwrap();
    assert!(Arc::ptr_eq(taken.shared().unwrap(), &message), "it was copied");
}

#[test]
fn loaned_message_is_taken_in_place() {
    let graph = Graph::new();
    let (near, far) = (graph.context(), graph.context());
    let subscription = subscribe::<UInt8MultiArray>(&far, "data");
    let talker = publisher::<UInt8MultiArray>(&near, "data");
    let mut wait_set = WaitSet::new(&far);
    let key = wait_set.add_subscription(&subscription);
    wait_until("a link by shared memory", || {
        near.spin_once(Duration::from_millis(1)).unwrap();
        wait_set.wait(AT_ONCE).unwrap();
        talker.shared_memory_count() == 1 && subscription.shared_memory_count() == 1
    });
    let mut taken = Vec::new();
    for value in 0..3_u8 {
        let mut loan = talker.loan(&UInt8MultiArray::default(), 100_000).unwrap();
        loan.fill(value);
        loan.publish().unwrap();
        assert_eq!(wait_set.wait(None).unwrap(), [key]);
        taken.push(subscription.take::<UInt8MultiArray>().unwrap());
    }
    for (value, message) in taken.iter().enumerate() {
        assert!(message.shared().is_none(), "it lies where it was written");
        let bytes = message.view().unwrap().data.to_vec();
        assert_eq!((bytes.len(), bytes.iter().all(|byte| usize::from(*byte) == value)), (100_000, true));
    }
}

#[test]
fn ros2_message_ends_the_wait() {
    let domain = new_domain();
    let (near, far) = (ros2_context(domain, false), ros2_context(domain, false));
    let subscription = subscribe::<Text>(&far, "chatter");
    let talker = near.create_node("talker").unwrap().create_publisher("chatter", QoS::keep_last(10)).unwrap();
    let spinning = near.clone();
    thread::scope(|scope| {
        let _end = EndOnDrop(&near);
        scope.spawn(move || spinning.spin().unwrap());
        assert!(talker.wait_for_subscribers(1, LONG).unwrap());
        let mut wait_set = WaitSet::new(&far);
        let key = wait_set.add_subscription(&subscription);
        for number in 0..100 {
            talker.publish(text(&number.to_string())).unwrap();
            assert_eq!(wait_set.wait(None).unwrap(), [key]);
            assert_eq!(taken_text(&subscription), Some(number.to_string()));
        }
    });
}

/// Either the waiting thread polls, or a spinning one.
#[test]
fn guard_condition_ends_the_wait_of_another_thread() {
    for spins in [false, true] {
        let graph = Graph::new();
        let context = graph.context();
        let (guard, spinning) = (GuardCondition::new(), context.clone());
        thread::scope(|scope| {
            let _end = EndOnDrop(&context);
            if spins {
                scope.spawn(move || spinning.spin().unwrap());
            }
            let (sender, results) = channel();
            let (waited, waiting) = (Arc::clone(&guard), context.clone());
            scope.spawn(move || {
                let mut wait_set = WaitSet::new(&waiting);
                let key = wait_set.add_guard_condition(&waited);
                for _ in 0..100 {
                    assert_eq!(wait_set.wait(None).unwrap(), [key]);
                    assert!(waited.take());
                    sender.send(()).unwrap();
                }
            });
            for _ in 0..100 {
                guard.trigger();
                results.recv_timeout(LONG).unwrap();
            }
        });
    }
}

#[test]
fn thread_waits_while_another_polls() {
    let graph = Graph::new();
    let (near, far) = (graph.context(), graph.context());
    let (entered, enters) = channel();
    let (release, released) = channel::<()>();
    let node = far.create_node("slow").unwrap();
    let _slow = node
        .create_subscription("slow", 10, move |_: &Text| {
            entered.send(()).unwrap();
            released.recv_timeout(LONG).unwrap();
        })
        .unwrap();
    let subscription = subscribe::<Text>(&far, "chatter");
    let (slow, talker) = (publisher(&near, "slow"), publisher(&near, "chatter"));
    let spinning = far.clone();
    thread::scope(|scope| {
        let _end = EndOnDrop(&far);
        scope.spawn(move || spinning.spin().unwrap());
        let mut wait_set = WaitSet::new(&far);
        let key = wait_set.add_subscription(&subscription);
        let mut receive = |number: u32| {
            talker.publish(text(&number.to_string())).unwrap();
            assert_eq!(wait_set.wait(Some(LONG)).unwrap(), [key]);
            assert_eq!(taken_text(&subscription), Some(number.to_string()));
        };
        (0..20).for_each(&mut receive);
        slow.publish(text("go")).unwrap();
        enters.recv_timeout(LONG).unwrap();
        (20..40).for_each(&mut receive);
        release.send(()).unwrap();
    });
}

/// No thread spins: first one of the two polls for both, then the other.
#[test]
fn threads_with_own_wait_sets_serve_each_other() {
    let graph = Graph::new();
    let (near, far) = (graph.context(), graph.context());
    let subscriptions = ["one", "other"].map(|topic| subscribe::<Text>(&far, topic));
    let talkers = ["one", "other"].map(|topic| publisher(&near, topic));
    thread::scope(|scope| {
        let received = subscriptions.each_ref().map(|subscription| {
            let (receives, received) = channel();
            let far = far.clone();
            scope.spawn(move || {
                let mut wait_set = WaitSet::new(&far);
                let key = wait_set.add_subscription(subscription);
                for _ in 0..50 {
                    assert_eq!(wait_set.wait(None).unwrap(), [key]);
                    receives.send(taken_text(subscription).unwrap()).unwrap();
                }
            });
            received
        });
        for number in 0..50 {
            for (talker, received) in talkers.iter().zip(&received) {
                talker.publish(text(&number.to_string())).unwrap();
                assert_eq!(received.recv_timeout(LONG).unwrap(), number.to_string());
            }
        }
    });
}

#[test]
fn wait_ends_with_the_context() {
    for spins in [false, true] {
        let graph = Graph::new();
        let context = graph.context();
        let (waiting, spinning) = (context.clone(), context.clone());
        let (sender, results) = channel();
        thread::scope(|scope| {
            if spins {
                scope.spawn(move || spinning.spin().unwrap());
            }
            scope.spawn(move || {
                let mut wait_set = WaitSet::new(&waiting);
                wait_set.add_guard_condition(&GuardCondition::new());
                sender.send(None).unwrap();
                sender.send(Some(wait_set.wait(None).map(<[_]>::len))).unwrap();
            });
            assert!(results.recv_timeout(LONG).unwrap().is_none());
            context.shutdown();
            let ended = results.recv_timeout(LONG).unwrap();
            assert!(matches!(ended, Some(Err(Error::ShuttingDown))), "{ended:?}");
        });
    }
}

#[test]
fn ticks_of_a_timer_are_taken() {
    let graph = Graph::new();
    let context = graph.context();
    let node = context.create_node("node").unwrap();
    let [timer, rare] =
        [1, 3_600_000].map(|millis| node.create_waitable_timer(Duration::from_millis(millis)));
    let mut wait_set = WaitSet::new(&context);
    let key = wait_set.add_timer(&timer);
    wait_set.add_timer(&rare);
    for _ in 0..3 {
        assert_eq!(wait_set.wait(None).unwrap(), [key]);
        assert!(timer.take());
    }
    assert!(!rare.take());
}

#[test]
fn requests_are_answered_later_in_any_order() {
    let graph = Graph::new();
    let (near, far) = (graph.context(), graph.context());
    let node = near.create_node("server").unwrap();
    let service = node.create_waitable_service::<SetBool>("power").unwrap();
    let mut wait_set = WaitSet::new(&near);
    let key = wait_set.add_service(&service);
    let client = far.create_node("client").unwrap().create_client::<SetBool>("power").unwrap();
    let send = |data| client.send_request(&SetBoolRequest { data }, None).unwrap();
    let mut responses = [send(true), send(false), send(true)];
    let mut requests = Vec::new();
    while requests.len() < 3 {
        assert_eq!(wait_set.wait(None).unwrap(), [key]);
        requests.extend(std::iter::from_fn(|| service.take::<SetBool>()));
    }
    // The connections are opened concurrently, so requests arrive in any order.
    requests.sort_by_key(|(request, _)| request.data);
    let (_, last) = requests.pop().unwrap();
    for (request, pending) in requests {
        match request.data {
            true => pending.respond(&SetBoolResponse { success: true, message: "on".into() }),
            false => pending.fail("it must stay on"),
        }
    }
    drop(last);
    let mut answers = WaitSet::new(&far);
    let mut ended: Vec<String> = Vec::new();
    for response in &mut responses {
        let key = answers.add_response(response);
        assert_eq!(answers.wait(None).unwrap(), [key]);
        ended.push(match response.take().unwrap() {
            Ok(SetBoolResponse { message, .. }) => message,
            Err(Error::Service { why: ServiceError::Failed(why), .. }) => why,
            Err(error) => panic!("{error}"),
        });
        assert!(response.take().is_none());
        assert!(answers.remove(key));
    }
    assert_eq!(ended[1], "it must stay on");
    ended.sort();
    assert_eq!(ended, ["it must stay on", "on", "the service has not responded"]);
}

/// The local call runs no callback, and goes through sockets.
#[test]
fn local_call_is_answered_by_the_taking_thread() {
    let graph = Graph::new();
    let context = graph.context();
    let service = context.create_node("server").unwrap().create_waitable_service::<SetBool>("power").unwrap();
    let client = context.create_node("client").unwrap().create_persistent_client::<SetBool>("power").unwrap();
    thread::scope(|scope| {
        let serving = &service;
        let mut wait_set = WaitSet::new(&context);
        scope.spawn(move || {
            wait_set.add_service(serving);
            for _ in 0..3 {
                assert_eq!(wait_set.wait(Some(LONG)).unwrap().len(), 1);
                let (request, pending) = serving.take::<SetBool>().unwrap();
                let response = SetBoolResponse { success: request.data, message: String::new() };
                pending.respond(&response);
            }
        });
        for data in [true, false, true] {
            assert_eq!(client.call(&SetBoolRequest { data }).unwrap().success, data);
        }
    });
}

#[test]
fn qos_event_is_taken() {
    let graph = Graph::new();
    let (near, far) = (graph.context(), graph.context());
    let node = far.create_node("subscriber").unwrap();
    let options = SubscriptionOptions::from(10).waitable_events(&[QosEventKind::Matched]);
    let subscription = node.create_waitable_subscription::<Text>("chatter", options).unwrap();
    let mut wait_set = WaitSet::new(&far);
    let key = wait_set.add_events(&subscription).unwrap();
    assert!(wait_set.wait(AT_ONCE).unwrap().is_empty() && subscription.take_event().is_none());
    let talker = publisher::<Text>(&near, "chatter");
    assert_eq!(wait_set.wait(None).unwrap(), [key]);
    match subscription.take_event() {
        Some(QosEvent::Matched(matched)) => assert_eq!((matched.current_count, matched.total_count), (1, 1)),
        event => panic!("{event:?}"),
    }
    assert!(subscription.take_event().is_none());
    drop(talker);
    assert_eq!(wait_set.wait(None).unwrap(), [key]);
    match subscription.take_event() {
        Some(QosEvent::Matched(matched)) => {
            assert_eq!((matched.current_count, matched.current_count_change), (0, -1));
        }
        event => panic!("{event:?}"),
    }
}

/// Either the callback or the taking thread gets the message, never both.
#[test]
fn subscription_with_callback_can_be_taken_from() {
    let graph = Graph::new();
    let (near, far) = (graph.context(), graph.context());
    let (call, called) = channel();
    let node = far.create_node("subscriber").unwrap();
    let callback = move |message: &Text| call.send(message.data.clone()).unwrap();
    let subscription = node.create_subscription("chatter", 10, callback).unwrap();
    let talker = publisher(&near, "chatter");
    let mut wait_set = WaitSet::new(&far);
    wait_set.add_subscription(&subscription);
    for data in ["a", "b"] {
        talker.publish(text(data)).unwrap();
        assert_eq!(wait_set.wait(None).unwrap().len(), 1);
        assert_eq!(taken_text(&subscription).as_deref(), Some(data));
    }
    assert!(!far.spin_once(Duration::ZERO).unwrap(), "nothing is due");
    talker.publish(text("c")).unwrap();
    let mut received = Vec::new();
    spin_until(&far, "the callback called", || {
        received.extend(called.try_iter());
        !received.is_empty()
    });
    assert_eq!((received, taken_text(&subscription)), (vec!["c".to_owned()], None));
}
