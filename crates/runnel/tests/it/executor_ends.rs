//! Tests of several executors: the end of one, a removed node, a new timer.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use crate::common::{Graph, LONG, spin_until};
use crate::ros2_pair::EndOnDrop;
use runnel::msgs::std_msgs::msg::Empty;
use runnel::{Context, Executor, PollingPolicy};

const TICK: Duration = Duration::from_millis(1);

/// An executor ends while another one still runs a callback, which publishes a last message.
#[test]
fn last_executor_to_end_closes_nodes() {
    let graph = Graph::new();
    let (near, far) = (graph.context(), graph.context());
    let listener = near.create_node("listener").unwrap();
    let (sender, received) = channel();
    let _subscription =
        listener.create_subscription("last_words", 10, move |_: &Empty| sender.send(()).unwrap()).unwrap();
    let [slow, _other] = ["slow", "other"].map(|name| far.create_node(name).unwrap());
    let publisher = slow.create_publisher::<Empty>("last_words", 10).unwrap();
    assert!(publisher.wait_for_subscribers(1, LONG).unwrap());
    let (entered, enters) = channel();
    let (release, released) = channel::<()>();
    let has_published = Arc::new(AtomicBool::new(false));
    let published = Arc::clone(&has_published);
    let _timer = slow.create_oneshot_timer(TICK, move || {
        entered.send(()).unwrap();
        released.recv_timeout(LONG).unwrap();
        publisher.publish(Empty {}).unwrap();
        published.store(true, Ordering::SeqCst);
    });
    let (closed, closes) = channel();
    far.on_shutdown(move || closed.send(has_published.load(Ordering::SeqCst)).unwrap());
    let executor = Executor::new(&far);
    executor.add_node(&slow).unwrap();
    thread::scope(|scope| {
        let _end = EndOnDrop(&far);
        let last = scope.spawn(|| executor.spin());
        let first = scope.spawn(|| far.spin());
        enters.recv_timeout(LONG).unwrap();
        far.shutdown();
        first.join().unwrap().unwrap();
        release.send(()).unwrap();
        last.join().unwrap().unwrap();
    });
    assert_eq!(closes.try_iter().collect::<Vec<_>>(), [true], "one close, after the last callback");
    spin_until(&near, "the last message arrives", || received.try_recv().is_ok());
}

/// Many messages wait for the subscription. Its first callback removes the node, so another thread runs the others.
#[test]
fn removed_node_leaves_executor_before_next_message() {
    let graph = Graph::new();
    let context = graph.context();
    let node = context.create_node("node").unwrap();
    let executor = Arc::new(Executor::new(&context));
    executor.add_node(&node).unwrap();
    let (ran, runs) = channel();
    let (leaving, left) = (node.clone(), Arc::clone(&executor));
    let _subscription = node
        .create_subscription("many", 10, move |_: &Empty| {
            left.remove_node(&leaving);
            ran.send(thread::current().id()).unwrap();
        })
        .unwrap();
    let publisher = node.create_publisher::<Empty>("many", 10).unwrap();
    assert!(publisher.wait_for_subscribers(1, LONG).unwrap());
    (0..5).for_each(|_| publisher.publish(Empty {}).unwrap());
    thread::scope(|scope| {
        let _end = EndOnDrop(&context);
        let context: &Context = &context;
        let spinning = scope.spawn(move || executor.spin().unwrap());
        let first = runs.recv_timeout(LONG).unwrap();
        assert_eq!(first, spinning.thread().id());
        for _ in 1..5 {
            context.spin_once(LONG).unwrap();
            assert_eq!(runs.recv_timeout(LONG).unwrap(), thread::current().id());
        }
    });
}

/// Each timer is created while the executor sleeps between two polls.
#[test]
fn new_timer_ends_pause_of_executor() {
    let graph = Graph::new();
    let context = Context::with_options(graph.options().polling(PollingPolicy::Period(LONG * 2))).unwrap();
    let node = context.create_node("node").unwrap();
    let executor = Executor::new(&context);
    executor.add_node(&node).unwrap();
    thread::scope(|scope| {
        let _end = EndOnDrop(&context);
        scope.spawn(|| executor.spin().unwrap());
        for _ in 0..20 {
            let (ran, runs) = channel();
            let _timer = node.create_oneshot_timer(TICK, move || ran.send(()).unwrap());
            runs.recv_timeout(LONG).unwrap();
        }
    });
}
