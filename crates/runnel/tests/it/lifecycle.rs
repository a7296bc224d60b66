//! Tests of creation, end and replacement of nodes, and of timers, rates and executors.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use crate::common::{Graph, LONG, spin_until, wait_until};
use runnel::msgs::std_msgs::msg::String as Text;
use runnel::{Context, ContextOptions, Error, MasterOptions, PollingPolicy, Rate};
use runnel_io::clock;
use runnel_ros1::xmlrpc::Value;
use runnel_testkit::process::free_port;

fn publishers(graph: &Graph) -> Vec<String> {
    let state = graph.ask("getSystemState", &["/test".into()]);
    let publishers = state.as_array().unwrap()[0].as_array().unwrap().to_vec();
    let users = publishers.iter().filter(|row| row.as_array().unwrap()[0].as_str() != Some("/rosout"));
    let nodes = users.flat_map(|row| row.as_array().unwrap()[1].as_array().unwrap().to_vec());
    nodes.map(|node| node.as_str().unwrap().to_owned()).collect()
}

/// The nodes that publish a topic.
fn publishers_of(graph: &Graph, topic: &str) -> Vec<String> {
    let state = graph.ask("getSystemState", &["/test".into()]);
    let rows = state.as_array().unwrap()[0].as_array().unwrap().to_vec();
    let row = rows.iter().filter_map(Value::as_array).find(|row| row[0].as_str() == Some(topic));
    let nodes = row.map(|row| row[1].as_array().unwrap().to_vec()).unwrap_or_default();
    nodes.iter().map(|node| node.as_str().unwrap().to_owned()).collect()
}

fn count_up(counter: &AtomicUsize) {
    counter.fetch_add(1, Ordering::SeqCst);
}

#[test]
fn dropped_node_leaves_the_graph() {
    let graph = Graph::new();
    let context = graph.context();
    let node = context.create_node("talker").unwrap();
    let publisher = node.create_publisher::<Text>("chatter", 10).unwrap();
    assert_eq!(publishers(&graph), ["/talker"]);
    drop(node);
    assert_eq!(publishers(&graph), ["/talker"], "the publisher keeps its node");
    drop(publisher);
    assert_eq!(publishers(&graph), [""; 0]);
}

#[test]
fn newer_node_replaces_older_of_same_name() {
    let graph = Graph::new();
    let (old, new) = (graph.context(), graph.context());
    let _old = old.create_node("same").unwrap().create_publisher::<Text>("old", 10).unwrap();
    let _new = new.create_node("same").unwrap().create_publisher::<Text>("new", 10).unwrap();
    // The master shuts the older node down, whose background thread receives that.
    wait_until("the old context ended", || !old.ok());
    assert!(new.ok());
    assert!(old.spin().is_ok());
    let state = graph.ask("getPublishedTopics", &["/test".into(), "".into()]);
    let topics = [["/rosout", "rosgraph_msgs/Log"], ["/new", "std_msgs/String"]];
    let rows = topics.map(|row| Value::Array(row.map(Value::from).to_vec()));
    assert_eq!(state, Value::Array(rows.to_vec()));
}

#[test]
fn node_can_be_shut_down_remotely() {
    let graph = Graph::new();
    let context = graph.context();
    let node = context.create_node("victim").unwrap();
    let _publisher = node.create_publisher::<Text>("chatter", 10).unwrap();
    let ended = Arc::new(AtomicBool::new(false));
    let note = Arc::clone(&ended);
    let closing = context.clone();
    // A callback may add another one, which runs when the context is dropped.
    context.on_shutdown(move || {
        closing.on_shutdown(|| {});
        note.store(true, Ordering::SeqCst);
    });
    let uri = graph.ask("lookupNode", &["/test".into(), "/victim".into()]);
    let uri = runnel_ros1::rpc::Uri::parse(uri.as_str().unwrap()).unwrap();
    let caller = graph.context();
    caller.call(&uri, "shutdown", &["/test".into(), "enough".into()], LONG).unwrap();
    context.spin().unwrap();
    assert!(ended.load(Ordering::SeqCst));
    assert_eq!(publishers(&graph), [""; 0]);
}

#[test]
fn timer_fires_until_dropped() {
    let graph = Graph::new();
    let context = graph.context();
    let node = context.create_node("timed").unwrap();
    let ticks = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&ticks);
    let timer = node.create_timer(Duration::from_millis(2), move || count_up(&count));
    spin_until(&context, "five ticks", || ticks.load(Ordering::SeqCst) >= 5);
    drop(timer);
    // The callback and its captures are dropped, so it cannot run again.
    context.spin_some().unwrap();
    assert_eq!(Arc::strong_count(&ticks), 1);
}

#[test]
fn oneshot_timer_ticks_once_per_reset() {
    let graph = Graph::new();
    let context = graph.context();
    let node = context.create_node("timed").unwrap();
    let [ticks, once] = [(); 2].map(|()| Arc::new(AtomicUsize::new(0)));
    let (counted, counted_once) = (Arc::clone(&ticks), Arc::clone(&once));
    let timer = node.create_timer(Duration::from_millis(2), move || count_up(&counted));
    let oneshot = node.create_oneshot_timer(Duration::from_millis(4), move || count_up(&counted_once));
    for times in 1..=2 {
        spin_until(&context, "the one-shot timer", || once.load(Ordering::SeqCst) == times);
        let until = ticks.load(Ordering::SeqCst) + 5;
        spin_until(&context, "five more ticks", || ticks.load(Ordering::SeqCst) >= until);
        assert_eq!((once.load(Ordering::SeqCst), oneshot.is_canceled()), (times, true));
        assert_eq!(oneshot.time_until_next(), None);
        oneshot.reset();
        assert!(!oneshot.is_canceled());
    }
    oneshot.cancel();
    assert!(timer.time_until_next().unwrap() <= timer.period());
}

#[test]
fn dropped_timer_drops_its_callback() {
    let graph = Graph::new();
    let context = graph.context();
    let node = context.create_node("timed").unwrap();
    let publisher = node.create_publisher::<Text>("chatter", 10).unwrap();
    let timer =
        node.create_timer(Duration::from_secs(1000), move || drop(publisher.publish(Text::default())));
    assert_eq!(publishers(&graph), ["/timed"]);
    drop(timer);
    assert_eq!(publishers(&graph), [""; 0]);
}

#[test]
fn rate_does_not_exceed_its_frequency() {
    let graph = Graph::new();
    let context = graph.context();
    for hertz in [0.0, -5.0, f64::NAN, f64::INFINITY] {
        assert!(matches!(Rate::new(&context, hertz), Err(Error::Rate { .. })), "{hertz}");
    }
    // Its first period begins when it is created.
    let start = clock::monotonic();
    let mut rate = Rate::new(&context, 500.0).unwrap();
    (0..10).for_each(|_| rate.sleep().unwrap());
    assert!(clock::monotonic().since(start) >= Duration::from_millis(20));
}

#[test]
fn peers_are_served_after_sleep() {
    let graph = Graph::new();
    let context = graph.context();
    let node = context.create_node("sleeper").unwrap();
    let _publisher = node.create_publisher::<Text>("chatter", 10).unwrap();
    let uri = graph.ask("lookupNode", &["/test".into(), "/sleeper".into()]);
    let uri = runnel_ros1::rpc::Uri::parse(uri.as_str().unwrap()).unwrap();
    // Long enough for the background thread to leave the driver to the sleeping thread.
    context.sleep(Duration::from_millis(1500)).unwrap();
    graph.context().call(&uri, "getPid", &["/test".into()], LONG).unwrap();
}

#[test]
fn stopped_node_creates_no_endpoints() {
    let graph = Graph::new();
    let (older, newer) = (graph.context(), graph.context());
    let first = older.create_node("unique").unwrap();
    let _publisher = first.create_publisher::<Text>("chatter", 10).unwrap();
    let second = newer.create_node("unique").unwrap();
    let _other = second.create_publisher::<Text>("chatter", 10).unwrap();
    older.spin().unwrap();
    let error = first.create_subscription("more", 10, |_: &Text| {}).map(drop).unwrap_err();
    assert!(matches!(error, Error::ShuttingDown), "{error}");
    let error = first.create_publisher::<Text>("more", 10).map(drop).unwrap_err();
    assert!(matches!(error, Error::ShuttingDown), "{error}");
}

#[test]
fn rate_ends_with_the_context() {
    let graph = Graph::new();
    let context = graph.context();
    let mut rate = Rate::new(&context, 0.001).unwrap();
    let (begun, begins) = channel();
    let sleeper = thread::spawn(move || {
        begun.send(()).unwrap();
        rate.sleep()
    });
    begins.recv().unwrap();
    context.shutdown();
    wait_until("the sleep ends", || sleeper.is_finished());
    sleeper.join().unwrap().unwrap();
}

#[test]
fn executor_threads_never_overlap_one_callback() {
    let graph = Graph::new();
    let context = graph.context();
    let node = context.create_node("many").unwrap();
    let publishers: Vec<_> =
        ["a", "b"].iter().map(|topic| node.create_publisher::<Text>(topic, 100).unwrap()).collect();
    let inside = Arc::new(AtomicUsize::new(0));
    let threads = Arc::new(Mutex::new(HashSet::new()));
    let subscriptions: Vec<_> = ["a", "b"]
        .iter()
        .map(|topic| {
            let (inside, threads) = (Arc::clone(&inside), Arc::clone(&threads));
            let own = AtomicBool::new(false);
            node.create_subscription(topic, 100, move |_: &Text| {
                assert!(!own.swap(true, Ordering::SeqCst), "one callback runs twice at once");
                inside.fetch_add(1, Ordering::SeqCst);
                threads.lock().unwrap().insert(thread::current().id());
                // Each waits until the other has started, which takes two threads.
                wait_until("both callbacks inside", || inside.load(Ordering::SeqCst) >= 2);
                own.store(false, Ordering::SeqCst);
            })
            .unwrap()
        })
        .collect();
    publishers.iter().for_each(|publisher| assert!(publisher.wait_for_subscribers(1, LONG).unwrap()));
    let spinning = context.clone();
    let spinner = thread::spawn(move || spinning.executor().threads(3).spin().unwrap());
    publishers.iter().for_each(|publisher| publisher.publish(Text::default()).unwrap());
    wait_until("both callbacks done", || threads.lock().unwrap().len() == 2);
    context.shutdown();
    spinner.join().unwrap();
    drop(subscriptions);
}

#[test]
fn executor_threads_end_with_the_context() {
    let graph = Graph::new();
    let context = graph.context();
    let _node = context.create_node("many").unwrap();
    let spinning = context.clone();
    let spinner = thread::spawn(move || spinning.executor().threads(4).spin().unwrap());
    let node = context.create_node("other").unwrap();
    let asked = Arc::new(AtomicBool::new(false));
    let ask = (Arc::clone(&asked), context.clone());
    // The shutdown comes from a callback, on any of the threads.
    let _timer = node.create_timer(Duration::from_millis(1), move || {
        ask.0.store(true, Ordering::SeqCst);
        ask.1.shutdown();
    });
    spinner.join().unwrap();
    assert!(asked.load(Ordering::SeqCst));
}

#[test]
fn late_master_gets_all_registrations() {
    let graph = Graph::new();
    let port = free_port();
    let early = graph.context_with(&[&format!("__master:=http://127.0.0.1:{port}/")]);
    let node = early.create_node("early").unwrap();
    let _publisher = node.create_publisher::<Text>("chatter", 10).unwrap();
    let late = graph.context();
    let uri = late.start_master(MasterOptions::at(([127, 0, 0, 1], port))).unwrap();
    wait_until("the early node is registered", || {
        let answer = late.call(&uri, "lookupNode", &["/test".into(), "/early".into()], LONG).unwrap();
        answer.as_array().unwrap()[0].as_int() == Some(1)
    });
}

/// A context whose spinning thread uses this polling policy.
fn context_polling(graph: &Graph, polling: PollingPolicy) -> Context {
    let arguments = vec![format!("__master:={}", graph.uri)];
    Context::with_options(ContextOptions::default().arguments(arguments).signals(false).polling(polling))
        .unwrap()
}

#[test]
fn messages_arrive_with_every_polling_mode() {
    let graph = Graph::new();
    let policies = [
        PollingPolicy::Block,
        PollingPolicy::LookFirst(Duration::from_millis(1)),
        PollingPolicy::Spin,
        PollingPolicy::Period(Duration::from_millis(5)),
    ];
    for (number, policy) in policies.into_iter().enumerate() {
        let (here, there) = (context_polling(&graph, policy), graph.context());
        let topic = format!("topic_{number}");
        let received = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&received);
        let listener = here.create_node("listener").unwrap();
        let _subscription =
            listener.create_subscription(&topic, 10, move |_: &Text| count_up(&count)).unwrap();
        let publisher = there.create_node("talker").unwrap().create_publisher::<Text>(&topic, 10).unwrap();
        assert!(publisher.wait_for_subscribers(1, LONG).unwrap());
        for expected in 1..=10 {
            publisher.publish(Text::default()).unwrap();
            let what = format!("message {expected} with {policy:?}");
            spin_until(&here, &what, || received.load(Ordering::SeqCst) == expected);
        }
    }
}

#[test]
fn every_polling_mode_yields_driver_and_ends() {
    let graph = Graph::new();
    for policy in [PollingPolicy::Period(10 * LONG), PollingPolicy::LookFirst(Duration::from_millis(20))] {
        let context = context_polling(&graph, policy);
        let began = clock::monotonic();
        thread::scope(|scope| {
            let spinning = scope.spawn(|| context.spin());
            for n in 0..20 {
                let node = context.create_node(&format!("made_meanwhile_{n}")).unwrap();
                let _publisher = node.create_publisher::<Text>("chatter", 10).unwrap();
            }
            context.shutdown();
            spinning.join().unwrap().unwrap();
        });
        assert!(clock::monotonic().since(began) < LONG, "{policy:?}");
    }
}

#[test]
fn zero_period_timer_starves_nobody() {
    let graph = Graph::new();
    let context = graph.context();
    let node = context.create_node("node").unwrap();
    let fired = [Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0))];
    let timer = |counter: &Arc<AtomicUsize>, period| {
        let counter = Arc::clone(counter);
        node.create_timer(period, move || count_up(&counter))
    };
    let _timers = [timer(&fired[0], Duration::ZERO), timer(&fired[1], Duration::from_millis(1))];
    spin_until(&context, "both fired", || fired.iter().all(|count| count.load(Ordering::SeqCst) > 2));
}

#[test]
fn wait_for_subscribers_ends_with_the_context() {
    let graph = Graph::new();
    let context = graph.context();
    let publisher = context.create_node("node").unwrap().create_publisher::<Text>("chatter", 10).unwrap();
    let began = clock::monotonic();
    let waited = thread::scope(|scope| {
        let waiting = scope.spawn(|| publisher.wait_for_subscribers(1, 10 * LONG));
        context.shutdown();
        waiting.join().unwrap()
    });
    assert!(matches!(waited, Err(Error::ShuttingDown)), "{waited:?}");
    assert!(clock::monotonic().since(began) < LONG);
}

fn fail() {
    panic!("on purpose");
}

#[test]
fn panic_in_callback_ends_executor_threads() {
    let graph = Graph::new();
    let context = graph.context();
    let node = context.create_node("node").unwrap();
    let _timer = node.create_timer(Duration::from_millis(1), fail);
    let spun = catch_unwind(AssertUnwindSafe(|| context.executor().threads(3).spin()));
    assert!(spun.is_err() && !context.ok());
}

#[test]
fn subscription_survives_panic_in_callback() {
    let graph = Graph::new();
    let context = graph.context();
    let node = context.create_node("node").unwrap();
    let publisher = node.create_publisher::<Text>("chatter", 10).unwrap();
    let received = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&received);
    let callback = move |_: &Text| {
        count_up(&count);
        assert!(count.load(Ordering::SeqCst) > 1, "on purpose");
    };
    let _subscription = node.create_subscription("chatter", 10, callback).unwrap();
    (0..2).for_each(|_| publisher.publish(Text::default()).unwrap());
    assert!(catch_unwind(AssertUnwindSafe(|| context.spin_once(LONG))).is_err());
    spin_until(&context, "the second message received", || received.load(Ordering::SeqCst) == 2);
}

#[test]
fn due_callbacks_run_on_two_threads() {
    const MESSAGES: usize = 200;
    let graph = Graph::new();
    let context = graph.context();
    let node = context.create_node("node").unwrap();
    let publisher = node.create_publisher::<Text>("chatter", 10).unwrap();
    let inside = Arc::new(AtomicUsize::new(0));
    // Each waits until the other has started.
    let meet = |count: Arc<AtomicUsize>| {
        move |_: &Text| {
            let both = (count.fetch_add(1, Ordering::SeqCst) / 2 + 1) * 2;
            wait_until("both callbacks run", || count.load(Ordering::SeqCst) >= both);
        }
    };
    let _subscriptions =
        [(); 2].map(|()| node.create_subscription("chatter", 10, meet(Arc::clone(&inside))).unwrap());
    thread::scope(|scope| {
        let spinning = scope.spawn(|| context.executor().threads(2).spin());
        for sent in 1..=MESSAGES {
            publisher.publish(Text::default()).unwrap();
            wait_until("both have received it", || inside.load(Ordering::SeqCst) == 2 * sent);
        }
        context.shutdown();
        spinning.join().unwrap().unwrap();
    });
}

#[test]
fn due_callback_does_not_keep_node_alive() {
    let graph = Graph::new();
    let context = graph.context();
    let node = context.create_node("ending").unwrap();
    let kept = node.clone();
    let subscription = node.create_subscription("chatter", 1, move |_: &Text| drop(kept.clone())).unwrap();
    let kept = node.clone();
    let timer = node.create_timer(Duration::from_millis(1), move || drop(kept.clone()));
    let talker = graph.context().create_node("talker").unwrap();
    let publisher = talker.create_publisher::<Text>("chatter", 1).unwrap();
    assert!(publisher.wait_for_subscribers(1, LONG).unwrap());
    publisher.publish(Text::default()).unwrap();
    wait_until("it has arrived", || subscription.received() == 1);
    drop((timer, subscription, node, context));
    let names = || publishers_of(&graph, "/rosout");
    wait_until("the node has left the graph", || !names().contains(&"/ending".to_owned()));
}
