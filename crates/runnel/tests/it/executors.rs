//! Tests of executors with chosen nodes, of callback groups, and of spinning until a future completes.

use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::thread;
use std::time::Duration;

use crate::common::{Graph, LONG};
use crate::ros2_pair::EndOnDrop;
use runnel::msgs::std_msgs::msg::{Empty, String as Text};
use runnel::msgs::std_srvs::srv::{Trigger, TriggerRequest};
use runnel::{
    CallbackGroup, Context, Error, Executor, Node, ServerOptions, ServiceError, Subscription,
    SubscriptionOptions, Timer, TimerOptions,
};

const TICK: Duration = Duration::from_millis(1);

/// A timer that counts, and its count.
fn counting(node: &Node) -> (Timer, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let timer = node.create_timer(TICK, move || {
        counted.fetch_add(1, Ordering::SeqCst);
    });
    (timer, count)
}

#[test]
fn executor_runs_only_added_nodes() {
    let graph = Graph::new();
    let context = graph.context();
    let [mine, other] = ["mine", "other"].map(|name| context.create_node(name).unwrap());
    let ((_ticks, count), (_other_ticks, other_count)) = (counting(&mine), counting(&other));
    let counts = || [&count, &other_count].map(|count| count.load(Ordering::SeqCst));
    let executor = Executor::new(&context);
    assert!(!executor.spin_once(TICK * 10).unwrap(), "it has no nodes");
    executor.add_node(&mine).unwrap();
    executor.add_node(&mine).unwrap();
    (0..5).for_each(|_| assert!(executor.spin_once(LONG).unwrap()));
    assert_eq!(counts(), [5, 0]);
    (0..5).for_each(|_| assert!(context.spin_once(LONG).unwrap()));
    assert_eq!(counts(), [5, 5]);
    executor.spin_some().unwrap();
    assert_eq!(counts()[1], 5);

    let refused = Executor::new(&context).add_node(&mine);
    assert!(matches!(refused, Err(Error::NodeInExecutor { .. })), "{refused:?}");
    let refused = Executor::new(&graph.context()).add_node(&mine);
    assert!(matches!(refused, Err(Error::OtherContext { .. })), "{refused:?}");

    assert!(executor.remove_node(&mine) && !executor.remove_node(&mine));
    let [before, _] = counts();
    while counts()[0] == before {
        context.spin_once(LONG).unwrap();
    }
    executor.add_node(&mine).unwrap();
    drop(executor);
    let [before, _] = counts();
    while counts()[0] == before {
        context.spin_once(LONG).unwrap();
    }
}

fn forward(node: &Node, topic: &str, sender: Sender<String>) -> Subscription {
    node.create_subscription(topic, 10, move |message: &Text| sender.send(message.data.clone()).unwrap())
        .unwrap()
}

/// The executor whose thread polls runs a long callback, so the other must poll.
#[test]
fn executor_receives_during_long_callback_of_another() {
    let graph = Graph::new();
    let (near, far) = (graph.context(), graph.context());
    let [slow, fast] = ["slow", "fast"].map(|name| far.create_node(name).unwrap());
    let (entered, enters) = channel();
    let (release, released) = channel::<()>();
    let _slow = slow
        .create_subscription("slow", 10, move |_: &Empty| {
            entered.send(()).unwrap();
            released.recv_timeout(LONG).unwrap();
        })
        .unwrap();
    let (sender, received) = channel();
    let _fast = forward(&fast, "fast", sender);
    let talker = near.create_node("talker").unwrap();
    let to_slow = talker.create_publisher::<Empty>("slow", 10).unwrap();
    let to_fast = talker.create_publisher::<Text>("fast", 10).unwrap();
    assert!(to_slow.wait_for_subscribers(1, LONG).unwrap());
    assert!(to_fast.wait_for_subscribers(1, LONG).unwrap());
    let executor = Executor::new(&far);
    executor.add_node(&slow).unwrap();
    thread::scope(|scope| {
        let _end = EndOnDrop(&far);
        let spinning = [scope.spawn(|| executor.spin()), scope.spawn(|| far.spin())];
        for number in 0..20 {
            if number == 10 {
                to_slow.publish(Empty {}).unwrap();
                enters.recv_timeout(LONG).unwrap();
            }
            to_fast.publish(Text { data: number.to_string() }).unwrap();
            assert_eq!(received.recv_timeout(LONG).unwrap(), number.to_string());
        }
        release.send(()).unwrap();
        far.shutdown();
        spinning.into_iter().for_each(|spinning| spinning.join().unwrap().unwrap());
    });
}

#[test]
fn executor_of_ended_context_does_not_wait() {
    let graph = Graph::new();
    let context = graph.context();
    context.shutdown();
    Executor::new(&context).threads(2).spin().unwrap();
}

/// Two subscriptions in a group.
fn pair(
    node: &Node,
    group: &CallbackGroup,
    callback: impl Fn() + Clone + Send + 'static,
) -> [Subscription; 2] {
    ["one", "other"].map(|topic| {
        let (options, callback) = (SubscriptionOptions::from(100).callback_group(group), callback.clone());
        node.create_subscription(topic, options, move |_: &Empty| callback()).unwrap()
    })
}

#[test]
fn callbacks_of_reentrant_group_run_concurrently() {
    let graph = Graph::new();
    let context = graph.context();
    let node = context.create_node("node").unwrap();
    let inside = Arc::new((Mutex::new(0), std::sync::Condvar::new()));
    let (both_ran, overlaps) = channel();
    let entered = Arc::clone(&inside);
    let _pair = pair(&node, &CallbackGroup::reentrant(), move || {
        let (count, changed) = &*entered;
        let mut count = count.lock().unwrap();
        *count += 1;
        changed.notify_all();
        let both = changed.wait_timeout_while(count, LONG, |count| *count < 2).unwrap().0;
        both_ran.send(*both).unwrap();
    });
    let publishers = ["one", "other"].map(|topic| node.create_publisher::<Empty>(topic, 1).unwrap());
    for publisher in &publishers {
        assert!(publisher.wait_for_subscribers(1, LONG).unwrap());
        publisher.publish(Empty {}).unwrap();
    }
    thread::scope(|scope| {
        let _end = EndOnDrop(&context);
        let executor = context.executor().threads(2);
        scope.spawn(move || executor.spin().unwrap());
        assert_eq!([(); 2].map(|()| overlaps.recv_timeout(LONG * 2).unwrap()), [2, 2]);
    });
}

#[test]
fn callbacks_of_exclusive_group_never_run_concurrently() {
    let graph = Graph::new();
    let context = graph.context();
    let node = context.create_node("node").unwrap();
    let (inside, overlaps) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let (ran, runs) = channel();
    let overlapping = Arc::clone(&overlaps);
    let callback = move |kind: usize| {
        if inside.swap(true, Ordering::SeqCst) {
            overlapping.fetch_add(1, Ordering::SeqCst);
        }
        // Long enough for other callbacks of the group to become due.
        thread::sleep(TICK * 2);
        inside.store(false, Ordering::SeqCst);
        let _ = ran.send(kind);
    };
    let group = CallbackGroup::mutually_exclusive();
    let (timed, subscribed, served) = (callback.clone(), callback.clone(), callback);
    let _timers = [(); 2].map(|()| {
        let timed = timed.clone();
        node.create_timer(TimerOptions::from(TICK).callback_group(&group), move || timed(0))
    });
    let _pair = pair(&node, &group, move || subscribed(1));
    let options = ServerOptions::from("serve").callback_group(&group);
    let serve = move |_: &TriggerRequest| {
        served(2);
        Ok(Default::default())
    };
    let _service = node.create_service::<Trigger, Error>(options, serve).unwrap();
    let publishers = ["one", "other"].map(|topic| node.create_publisher::<Empty>(topic, 10).unwrap());
    let client = graph.context().create_node("client").unwrap().create_client::<Trigger>("serve").unwrap();
    let mut counts = [0; 3];
    thread::scope(|scope| {
        let _end = EndOnDrop(&context);
        let executor = context.executor().threads(4);
        scope.spawn(move || executor.spin().unwrap());
        while counts.iter().any(|count| *count < 5) {
            publishers.iter().for_each(|publisher| publisher.publish(Empty {}).unwrap());
            client.call_timeout(&TriggerRequest {}, LONG).unwrap();
            runs.try_iter().for_each(|kind| counts[kind] += 1);
        }
    });
    assert_eq!(overlaps.load(Ordering::SeqCst), 0);
}

#[test]
fn call_of_service_in_own_group_is_refused() {
    let graph = Graph::new();
    let context = graph.context();
    let node = context.create_node("node").unwrap();
    let group = CallbackGroup::mutually_exclusive();
    let options = ServerOptions::from("serve").callback_group(&group);
    let _service = node.create_service::<Trigger, Error>(options, |_| Ok(Default::default())).unwrap();
    let client = node.create_client::<Trigger>("serve").unwrap();
    let (sender, received) = channel();
    let _timer = node.create_timer(TimerOptions::from(TICK).callback_group(&group), move || {
        sender.send(client.call(&TriggerRequest {})).unwrap();
    });
    assert!(context.spin_once(LONG).unwrap());
    let refused = received.recv_timeout(LONG).unwrap();
    assert!(matches!(refused, Err(Error::Service { why: ServiceError::Busy, .. })), "{refused:?}");
}

/// A flag that one thread sets and a future waits for.
#[derive(Clone, Default)]
struct Flag(Arc<Mutex<(bool, Option<Waker>)>>);

impl Flag {
    fn set(&self) {
        let mut state = self.0.lock().unwrap();
        state.0 = true;
        let waker = state.1.take();
        drop(state);
        waker.iter().for_each(Waker::wake_by_ref);
    }

    fn wait(&self) -> impl Future<Output = &'static str> + use<> {
        let flag = Arc::clone(&self.0);
        poll_fn(move |task| {
            let mut state = flag.lock().unwrap();
            if state.0 {
                return Poll::Ready("it is set");
            }
            state.1 = Some(task.waker().clone());
            Poll::Pending
        })
    }
}

#[test]
fn spinning_ends_when_callback_completes_future() {
    let graph = Graph::new();
    let context = graph.context();
    let node = context.create_node("node").unwrap();
    let (flag, never) = (Flag::default(), Flag::default());
    let set = flag.clone();
    let _timer = node.create_timer(TICK, move || set.set());
    let executor = Executor::new(&context);
    executor.add_node(&node).unwrap();
    assert_eq!(executor.spin_until_future_complete(flag.wait(), None).unwrap(), Some("it is set"));
    assert_eq!(executor.spin_until_future_complete(never.wait(), Some(TICK * 3)).unwrap(), None);
    context.shutdown();
    let ended = executor.spin_until_future_complete(never.wait(), None);
    assert!(matches!(ended, Err(Error::ShuttingDown)), "{ended:?}");
}

/// Any of the spinning threads may run the future's waker.
#[test]
fn spinning_ends_when_thread_completes_future() {
    for spinners in 0..3 {
        let graph = Graph::new();
        let context = graph.context();
        let _node = context.create_node("node").unwrap();
        thread::scope(|scope| {
            let _end = EndOnDrop(&context);
            let context: &Context = &context;
            for _ in 0..spinners {
                scope.spawn(move || context.spin().unwrap());
            }
            for _ in 0..200 {
                let flag = Flag::default();
                let (waited, set) = (flag.wait(), flag);
                scope.spawn(move || set.set());
                let ended = context.executor().spin_until_future_complete(waited, Some(LONG)).unwrap();
                assert_eq!(ended, Some("it is set"));
            }
        });
    }
}
