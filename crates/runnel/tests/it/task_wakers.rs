//! Tests that a task's waker may call Runnel: publish, create and drop entities, poll and drop other futures.

use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::task::{Context as Task, Poll, Wake, Waker};
use std::thread;

use crate::common::{Graph, LONG, wait_until};
use crate::ros2_pair::{EndOnDrop, context as ros2_context, new_domain};
use crate::scene::{Scene, goal, result};
use futures_core::Stream;
use runnel::msgs::actionlib::action::{TestAction, TestFeedback};
use runnel::msgs::std_msgs::msg::String as Text;
use runnel::msgs::std_srvs::srv::{SetBool, SetBoolRequest, SetBoolResponse};
use runnel::{Context, GoalStatus, MessageStream, Node, Publisher, Responder, Subscription};

/// Wakes that call Runnel. A waker that always changes what its task waits for would wake itself without end.
const HOSTILE_WAKES: usize = 3;

/// A waker that calls Runnel in every way that needs a lock.
struct Hostile {
    node: Node,
    talker: Publisher<Text>,
    /// Receives from `talker`, within the process.
    listener: Mutex<Subscription>,
    /// A stream of the same topic, with a waker of its own.
    stream: Mutex<MessageStream<Text>>,
    other: Arc<Counter>,
    begun: AtomicUsize,
    done: AtomicUsize,
}

/// A waker of another task.
#[derive(Default)]
struct Counter(AtomicUsize);

impl Wake for Counter {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl Hostile {
    fn new(context: &Context) -> Arc<Self> {
        let node = context.create_node("hostile").unwrap();
        let talker = node.create_publisher::<Text>("gossip", 10).unwrap();
        let listener = Mutex::new(node.create_subscription("gossip", 10, |_: &Text| {}).unwrap());
        let stream = Mutex::new(node.create_stream("gossip", 10).unwrap());
        let (begun, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Arc::new(Self { node, talker, listener, stream, other: Arc::default(), begun, done })
    }

    /// Polls a stream, and a future that is dropped at once.
    fn poll_others(&self) {
        let waker = Waker::from(Arc::clone(&self.other));
        let mut task = Task::from_waker(&waker);
        while let Poll::Ready(Some(_)) = Pin::new(&mut *self.stream.lock().unwrap()).poll_next(&mut task) {}
        let mut waiting = self.talker.wait_for_subscribers_async(9);
        // It ends with the context.
        assert!(!matches!(Pin::new(&mut waiting).poll(&mut task), Poll::Ready(Ok(()))));
    }

    /// Asserts that the waker has run, and that no call of it panicked or still waits.
    fn assert_done(&self) {
        wait_until("the waker returns", || {
            self.done.load(Ordering::SeqCst) == self.begun.load(Ordering::SeqCst)
        });
        assert!(self.done.load(Ordering::SeqCst) > 0);
        assert!(self.other.0.load(Ordering::SeqCst) > 0, "messages of the waker wake the other task");
    }
}

impl Wake for Hostile {
    fn wake(self: Arc<Self>) {
        if self.begun.fetch_add(1, Ordering::SeqCst) >= HOSTILE_WAKES {
            self.done.fetch_add(1, Ordering::SeqCst);
            return;
        }
        self.poll_others();
        self.talker.publish(Text { data: "woken".into() }).unwrap();
        let timer = self.node.create_waitable_timer(std::time::Duration::from_secs(9));
        assert!(!timer.take());
        let another = self.node.create_subscription("gossip", 1, |_: &Text| {});
        // Registration fails once the context ends.
        drop(another.map(|another| std::mem::replace(&mut *self.listener.lock().unwrap(), another)));
        Waker::from(Arc::clone(&self.other)).wake();
        self.done.fetch_add(1, Ordering::SeqCst);
    }
}

/// Polls a future with a hostile waker until it completes. `trigger` is called once the future waits.
fn complete<F: Future + Unpin>(mut future: F, hostile: &Arc<Hostile>, trigger: impl FnOnce()) -> F::Output {
    let waker = Waker::from(Arc::clone(hostile));
    let mut trigger = Some(trigger);
    loop {
        let seen = hostile.begun.load(Ordering::SeqCst);
        if let Poll::Ready(output) = Pin::new(&mut future).poll(&mut Task::from_waker(&waker)) {
            assert!(trigger.is_none(), "the future was to wait");
            hostile.assert_done();
            return output;
        }
        trigger.take().into_iter().for_each(|trigger| trigger());
        wait_until("the task is woken", || hostile.begun.load(Ordering::SeqCst) > seen);
    }
}

fn text(data: &str) -> Text {
    Text { data: data.into() }
}

/// The service's process answers on the network, or the service is in this process.
#[test]
fn call_completes_with_hostile_waker() {
    for is_local in [false, true] {
        let graph = Graph::new();
        let near = graph.context();
        let far = if is_local { near.clone() } else { graph.context() };
        let (held, responders) = channel::<Responder<SetBool>>();
        let server = near.create_node("server").unwrap();
        let _service = server.create_deferred_service::<SetBool>("power", move |_, responder| {
            held.send(responder).unwrap();
        });
        let client = far.create_node("client").unwrap().create_client::<SetBool>("power").unwrap();
        thread::scope(|scope| {
            let _end = EndOnDrop(&near);
            scope.spawn(|| near.spin().unwrap());
            let call = client.call_async(&SetBoolRequest { data: true });
            let response = complete(call, &Hostile::new(&far), || {
                let responder = responders.recv_timeout(LONG).unwrap();
                responder.respond(&SetBoolResponse { success: true, message: "on".into() });
            });
            assert_eq!(response.unwrap().message, "on");
        });
    }
}

#[test]
fn stream_yields_with_hostile_waker() {
    let (graph, domain) = (Graph::new(), new_domain());
    for ros2 in [false, true] {
        let new = || if ros2 { ros2_context(domain, false) } else { graph.context() };
        let (near, far) = (new(), new());
        for (topic, context) in [("remote", &near), ("local", &far)] {
            let node = far.create_node(&format!("{topic}_listener")).unwrap();
            let mut stream = node.create_stream::<Text>(topic, 10).unwrap();
            let talker = context.create_node(topic).unwrap().create_publisher::<Text>(topic, 10).unwrap();
            assert!(talker.wait_for_subscribers(1, LONG).unwrap());
            let hostile = Hostile::new(&far);
            let next = std::future::poll_fn(|task| Pin::new(&mut stream).poll_next(task));
            let message = complete(next, &hostile, || talker.publish(text(topic)).unwrap());
            assert_eq!(message.unwrap().data, topic);
        }
    }
}

#[test]
fn goal_completes_with_hostile_waker() {
    let scene = Scene::new();
    let client = scene.node().create_action_client::<TestAction>("test").unwrap();
    let (mut server, mut goals) = (None, None);
    complete(client.wait_for_server_async(), &Hostile::new(&scene.far), || {
        let (begun, begun_goals) = scene.server();
        (server, goals) = (Some(begun), Some(begun_goals));
    })
    .unwrap();
    let hostile = Hostile::new(&scene.far);
    let (handle, mut feedback) = client.send_goal_with_feedback(&goal(1)).unwrap();
    let server_goal = goals.unwrap().recv_timeout(LONG).unwrap();
    assert!(complete(handle.accepted(), &hostile, || server_goal.accept().unwrap()).unwrap());
    let next = std::future::poll_fn(|task| Pin::new(&mut feedback).poll_next(task));
    let next = complete(next, &hostile, || {
        server_goal.publish_feedback(&TestFeedback { feedback: 5 }).unwrap();
    });
    assert_eq!(next.map(|next| next.feedback), Some(5));
    let outcome = complete(handle.result(), &hostile, || server_goal.succeed(&result(2), "").unwrap());
    assert_eq!(outcome.unwrap().status, GoalStatus::Succeeded);
}

#[test]
fn subscribers_are_awaited_with_hostile_waker() {
    let (graph, domain) = (Graph::new(), new_domain());
    for ros2 in [false, true] {
        let new = || if ros2 { ros2_context(domain, false) } else { graph.context() };
        let (near, far) = (new(), new());
        let talker = near.create_node("talker").unwrap().create_publisher::<Text>("chatter", 10).unwrap();
        let hostile = Hostile::new(&near);
        let mut listeners = Vec::new();
        for (count, context) in [(1, &near), (2, &far)] {
            let node = context.create_node(&format!("listener_{count}")).unwrap();
            complete(talker.wait_for_subscribers_async(count), &hostile, || {
                listeners.push(node.create_subscription("chatter", 10, |_: &Text| ()).unwrap());
            })
            .unwrap();
        }
    }
}

#[test]
fn publishers_are_awaited_with_hostile_waker() {
    let (graph, domain) = (Graph::new(), new_domain());
    for ros2 in [false, true] {
        let new = || if ros2 { ros2_context(domain, false) } else { graph.context() };
        let (near, far) = (new(), new());
        let node = near.create_node("listener").unwrap();
        let listener = node.create_subscription("chatter", 10, |_: &Text| ()).unwrap();
        let hostile = Hostile::new(&near);
        let mut talkers = Vec::new();
        for (count, context) in [(1, &near), (2, &far)] {
            let node = context.create_node(&format!("talker_{count}")).unwrap();
            complete(listener.wait_for_publishers_async(count), &hostile, || {
                talkers.push(node.create_publisher::<Text>("chatter", 10).unwrap());
            })
            .unwrap();
        }
    }
}

#[test]
fn service_is_awaited_with_hostile_waker() {
    let graph = Graph::new();
    let (near, far) = (graph.context(), graph.context());
    let client = far.create_node("client").unwrap().create_client::<SetBool>("power").unwrap();
    let server = near.create_node("server").unwrap();
    let mut services = Vec::new();
    complete(client.wait_for_service_async(), &Hostile::new(&far), || {
        services.push(server.create_deferred_service::<SetBool>("power", |_, _| {}).unwrap());
    })
    .unwrap();
}

#[test]
fn shutdown_wakes_hostile_waker() {
    let graph = Graph::new();
    let context = graph.context();
    let mut stream = context.create_node("listener").unwrap().create_stream::<Text>("chatter", 10).unwrap();
    let next = std::future::poll_fn(|task| Pin::new(&mut stream).poll_next(task));
    assert!(complete(next, &Hostile::new(&context), || context.shutdown()).is_none());
}
