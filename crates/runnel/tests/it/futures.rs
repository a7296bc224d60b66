//! Tests of futures and streams under several async runtimes, none of them Runnel's.

use std::io::Read;
use std::net::TcpListener;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::task::{Context as Task, Poll, Wake, Waker};
use std::thread;

use futures_lite::StreamExt;

use crate::common::{Graph, LONG, block_on, wait_until};
use crate::ros2_pair::{EndOnDrop, context as ros2_context, new_domain};
use crate::scene::{Scene, goal, result};
use runnel::msgs::actionlib::action::{
    TestAction, TestActionFeedback, TestActionGoal, TestActionResult, TestFeedback,
};
use runnel::msgs::actionlib_msgs::msg::{GoalID, GoalStatusArray};
use runnel::msgs::std_msgs::msg::String as Text;
use runnel::msgs::std_srvs::srv::{SetBool, SetBoolRequest, SetBoolResponse};
use runnel::{Client, Context, Error, GoalStatus, MessageStream, Responder, ServiceError};

type Work = Pin<Box<dyn Future<Output = String> + Send>>;

/// Completes a future on a thread of its own, by a function of a runtime that has no deadline.
fn on_thread(block_on: impl FnOnce(Work) -> String + Send + 'static, work: Work) -> String {
    let (completed, output) = channel();
    thread::spawn(move || completed.send(block_on(work)));
    output.recv_timeout(LONG).expect("the future completes")
}

/// Completes a future under each runtime, on this thread or another.
fn under_each_runtime(context: &Context, work: impl Fn() -> Work) -> Vec<String> {
    let tokio = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
    let (executor, handle) = (context.executor(), tokio.handle().clone());
    vec![
        on_thread(pollster::block_on, work()),
        on_thread(futures_lite::future::block_on, work()),
        on_thread(move |work| handle.block_on(work), work()),
        block_on(tokio.spawn(work())).unwrap(),
        executor.spin_until_future_complete(work(), Some(LONG)).unwrap().unwrap(),
    ]
}

fn text(data: impl ToString) -> Text {
    Text { data: data.to_string() }
}

fn ask(data: bool) -> SetBoolRequest {
    SetBoolRequest { data }
}

fn client(context: &Context) -> Client<SetBool> {
    context.create_node("client").unwrap().create_client("power").unwrap()
}

#[test]
fn call_completes_under_every_runtime() {
    let graph = Graph::new();
    let (near, far) = (graph.context(), graph.context());
    let serve = |request: &SetBoolRequest| match request.data {
        true => Ok(SetBoolResponse { success: true, message: "on".into() }),
        false => Err("it must stay on"),
    };
    let _service = near.create_node("server").unwrap().create_service::<SetBool, _>("power", serve).unwrap();
    let client = client(&far);
    thread::scope(|scope| {
        let _end = EndOnDrop(&near);
        scope.spawn(|| near.spin().unwrap());
        let responses = under_each_runtime(&far, || {
            let client = client.clone();
            Box::pin(async move {
                let Err(Error::Service { why: ServiceError::Failed(why), .. }) =
                    client.call_async(&ask(false)).await
                else {
                    panic!("it was to fail");
                };
                client.call_async(&ask(true)).await.unwrap().message + ", " + &why
            })
        });
        assert_eq!(responses, ["on, it must stay on"; 5]);
    });
}

#[test]
fn unsendable_call_fails_when_awaited() {
    let graph = Graph::new();
    let client = client(&graph.context());
    let failed = block_on(client.call_async(&ask(true)));
    assert!(matches!(failed, Err(Error::Service { .. })), "nobody provides the service: {failed:?}");
}

#[test]
fn dropped_call_ends_its_connection() {
    let graph = Graph::new();
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let uri = format!("rosrpc://{}", listener.local_addr().unwrap());
    graph.ask(
        "registerService",
        &["/mute".into(), "/power".into(), uri.as_str().into(), "http://127.0.0.1:9/".into()],
    );
    let client = client(&graph.context());
    let mut call = Box::pin(client.call_async(&ask(true)));
    assert!(call.as_mut().poll(&mut Task::from_waker(Waker::noop())).is_pending());
    let (mut stream, _) = listener.accept().unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    drop(call);
    let mut received = Vec::new();
    stream.read_to_end(&mut received).unwrap();
}

#[test]
fn futures_end_with_the_context() {
    let graph = Graph::new();
    let (near, far) = (graph.context(), graph.context());
    let (held, responders) = channel::<Responder<SetBool>>();
    let server = near.create_node("server").unwrap();
    let _service = server.create_deferred_service::<SetBool>("power", move |_, responder| {
        held.send(responder).unwrap();
    });
    let client = client(&far);
    let mut stream = far.create_node("listener").unwrap().create_stream::<Text>("chatter", 10).unwrap();
    thread::scope(|scope| {
        let _end = EndOnDrop(&near);
        scope.spawn(|| near.spin().unwrap());
        let call = scope.spawn(|| block_on(client.call_async(&ask(true))));
        let message = scope.spawn(|| block_on(stream.next()).is_none());
        let _responder = responders.recv_timeout(LONG).unwrap();
        far.shutdown();
        let ended = call.join().unwrap();
        assert!(matches!(ended, Err(Error::ShuttingDown)), "{ended:?}");
        assert!(message.join().unwrap());
    });
}

/// Counts the wakes of a task.
#[derive(Default)]
struct Wakes(AtomicUsize);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn poll<F: Future + Unpin>(future: &mut F, wakes: &Arc<Wakes>) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Task::from_waker(&Waker::from(Arc::clone(wakes))))
}

#[test]
fn dropped_future_keeps_other_futures_of_task_waiting() {
    let scene = Scene::new();
    let (_server, goals) = scene.server();
    let client = scene.client();
    let handle = client.send_goal(&goal(1)).unwrap();
    let wakes = Arc::new(Wakes::default());
    let (mut first, mut second) = (handle.result(), handle.result());
    assert!(poll(&mut first, &wakes).is_pending() && poll(&mut second, &wakes).is_pending());
    drop(first);
    let server_goal = goals.recv_timeout(LONG).unwrap();
    server_goal.accept().unwrap();
    server_goal.succeed(&result(2), "").unwrap();
    // Status lists wake it, too.
    let mut seen = 0;
    let outcome = loop {
        wait_until("the task is woken", || wakes.0.load(Ordering::SeqCst) > seen);
        seen = wakes.0.load(Ordering::SeqCst);
        if let Poll::Ready(outcome) = poll(&mut second, &wakes) {
            break outcome.unwrap();
        }
    };
    assert_eq!((outcome.status, outcome.result), (GoalStatus::Succeeded, Some(result(2))));
}

#[test]
fn goal_completes_under_every_runtime() {
    let scene = Scene::new();
    let _server = scene.simple_server(|goal| {
        (0..3).try_for_each(|feedback| goal.publish_feedback(&TestFeedback { feedback }))?;
        goal.succeed(&result(2 * goal.goal().goal), "")
    });
    let client = scene.node().create_action_client::<TestAction>("test").unwrap();
    let outcomes = under_each_runtime(&scene.far, || {
        let client = client.clone();
        Box::pin(async move {
            client.wait_for_server_async().await.unwrap();
            let (handle, feedback) = client.send_goal_with_feedback(&goal(21)).unwrap();
            assert!(handle.accepted().await.unwrap());
            let feedback: Vec<i32> = feedback.map(|feedback| feedback.feedback).collect().await;
            let outcome = handle.result().await.unwrap();
            format!("{feedback:?} {:?}", outcome.result.map(|result| result.result))
        })
    });
    assert_eq!(outcomes, ["[0, 1, 2] Some(42)"; 5]);
}

/// The server's only status arrives before its other topics exist.
#[test]
fn server_that_sends_no_more_can_be_awaited() {
    let graph = Graph::new();
    let (near, far) = (graph.context(), graph.context());
    let node = far.create_node("client").unwrap();
    let client = node.create_action_client::<TestAction>("test").unwrap();
    let mut seen = node.create_stream::<GoalStatusArray>("test/status", 10).unwrap();
    let server = near.create_node("server").unwrap();
    let status = server.create_publisher::<GoalStatusArray>("test/status", 10).unwrap();
    thread::scope(|scope| {
        let _end = EndOnDrop(&near);
        scope.spawn(|| near.spin().unwrap());
        assert!(status.wait_for_subscribers(1, LONG).unwrap());
        status.publish(GoalStatusArray::default()).unwrap();
        assert!(block_on(seen.next()).is_some());
        let connected = scope
            .spawn(|| far.executor().spin_until_future_complete(client.wait_for_server_async(), Some(LONG)));
        let _feedback = server.create_publisher::<TestActionFeedback>("test/feedback", 10).unwrap();
        let _result = server.create_publisher::<TestActionResult>("test/result", 10).unwrap();
        let _goal = server.create_subscription("test/goal", 10, |_: &TestActionGoal| {}).unwrap();
        let _cancel = server.create_subscription("test/cancel", 10, |_: &GoalID| {}).unwrap();
        assert!(matches!(connected.join().unwrap(), Ok(Some(Ok(())))));
    });
}

#[test]
fn rejected_goal_is_not_accepted() {
    let scene = Scene::new();
    let (_server, goals) = scene.server();
    let handle = scene.client().send_goal(&goal(1)).unwrap();
    goals.recv_timeout(LONG).unwrap().reject(&result(0), "no").unwrap();
    assert!(!block_on(handle.accepted()).unwrap());
}

/// Returns the texts of the next messages of a stream.
async fn next(stream: &mut MessageStream<Text>, count: usize) -> Vec<String> {
    let mut texts = Vec::new();
    while texts.len() < count {
        texts.push(stream.next().await.unwrap().data.clone());
    }
    texts
}

#[test]
fn stream_yields_remote_and_local_messages() {
    let graph = Graph::new();
    let (near, far) = (graph.context(), graph.context());
    let topics = [("/far_talker", &near), ("/near_talker", &far)];
    let listener = far.create_node("listener").unwrap();
    for (name, context) in topics {
        let mut stream = listener.create_stream::<Text>(&name[1..], 100).unwrap();
        let talker = context.create_node(name).unwrap().create_publisher::<Text>(&name[1..], 100).unwrap();
        assert!(talker.wait_for_subscribers(1, LONG).unwrap());
        thread::scope(|scope| {
            let taken = scope.spawn(|| {
                block_on(async {
                    let first = stream.next().await.unwrap();
                    assert_eq!((first.info().publisher(), &*first.data), (name, "first"));
                    next(&mut stream, 50).await
                })
            });
            talker.publish(text("first")).unwrap();
            (0..50).for_each(|number| talker.publish(text(number)).unwrap());
            assert_eq!(taken.join().unwrap(), (0..50).map(|number| number.to_string()).collect::<Vec<_>>());
        });
        let shared = Arc::new(text("shared"));
        talker.publish(Arc::clone(&shared)).unwrap();
        let received = block_on(stream.next()).unwrap().into_shared();
        assert_eq!(Arc::ptr_eq(&received, &shared), std::ptr::eq(context, &far));
    }
}

/// No thread of the listener spins: the background thread wakes the task.
#[test]
fn ros2_stream_works_under_tokio() {
    let domain = new_domain();
    let (near, far) = (ros2_context(domain, false), ros2_context(domain, false));
    let mut stream = far.create_node("listener").unwrap().create_stream::<Text>("chatter", 100).unwrap();
    let talker = near.create_node("talker").unwrap().create_publisher::<Text>("chatter", 100).unwrap();
    assert!(talker.wait_for_subscribers(1, LONG).unwrap());
    let tokio = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
    let taken = tokio.spawn(async move {
        let texts = next(&mut stream, 20).await;
        (texts, stream.subscription().received())
    });
    (0..20).for_each(|number| talker.publish(text(number)).unwrap());
    let (texts, received) = block_on(taken).unwrap();
    assert_eq!((texts, received), ((0..20).map(|number| number.to_string()).collect(), 20));
}

/// `select` of runtimes polls futures in place and drops those that are not ready.
#[test]
fn call_after_dropped_call_is_answered() {
    let graph = Graph::new();
    let (near, far) = (graph.context(), graph.context());
    let (sender, requests) = channel();
    let server = near.create_node("server").unwrap();
    let _service = server.create_deferred_service::<SetBool>("power", move |request, responder| {
        // The test may end before the request of the dropped call arrives.
        let _ = sender.send((request.data, responder));
    });
    let client = client(&far);
    thread::scope(|scope| {
        let _end = EndOnDrop(&near);
        scope.spawn(|| near.spin().unwrap());
        block_on(async {
            let late = pin!(client.call_async(&ask(false)));
            let lost = futures_lite::future::or(async { Some(late.await) }, async { None }).await;
            assert!(lost.is_none());
            let answered = scope.spawn(move || {
                loop {
                    let (data, responder): (bool, Responder<SetBool>) = requests.recv_timeout(LONG).unwrap();
                    if data {
                        return responder.respond(&SetBoolResponse { success: true, message: "on".into() });
                    }
                }
            });
            assert_eq!(client.call_async(&ask(true)).await.unwrap().message, "on");
            answered.join().unwrap();
        });
    });
}

/// Only the driver's input, or another thread of this process, reports subscribers.
#[test]
fn subscribers_can_be_awaited_in_each_graph() {
    let (graph, domain) = (Graph::new(), new_domain());
    for ros2 in [false, true] {
        let new = || if ros2 { ros2_context(domain, false) } else { graph.context() };
        let (near, far) = (new(), new());
        let talker = near.create_node("talker").unwrap().create_publisher::<Text>("chatter", 10).unwrap();
        assert!(talker.subscription_count() == 0);
        let mut listeners = Vec::new();
        for (count, context) in [(1, &near), (2, &far)] {
            let (waiting, begun) = (talker.wait_for_subscribers_async(count), channel());
            let waiter = thread::spawn(move || {
                let mut waiting = waiting;
                block_on(std::future::poll_fn(|task| {
                    let polled = Pin::new(&mut waiting).poll(task);
                    let _ = begun.0.send(());
                    polled
                }))
            });
            begun.1.recv_timeout(LONG).unwrap();
            let node = context.create_node(&format!("listener_{count}")).unwrap();
            listeners.push(node.create_subscription("chatter", 10, |_: &Text| ()).unwrap());
            waiter.join().unwrap().unwrap();
        }
    }
}
