//! Tests of the background thread, which runs the driver during long callbacks and costs little otherwise.

use std::fs;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::thread;
use std::time::Duration;

use crate::common::{Graph, LONG, spin_until, wait_until};
use crate::process::alone;
use runnel::msgs::std_msgs::msg::String as Text;
use runnel::{Context, Node};
use runnel_io::clock;
use runnel_ros1::rpc::Uri;

/// Runs a hundred short callbacks per second for this time.
fn run_short_callbacks(node: &Node, time: Duration) {
    let end = clock::monotonic() + time;
    let _timer = node.create_wall_timer(Duration::from_millis(10), || {});
    let executor = node.context().executor();
    while clock::monotonic() < end {
        executor.spin_once(Duration::from_millis(100)).unwrap();
    }
}

/// Time after which the background thread uses its long period.
const SETTLED: Duration = Duration::from_millis(1500);

#[test]
fn peers_are_served_during_long_callback_after_short_ones() {
    let _alone = alone();
    let graph = Graph::new();
    let context = graph.context();
    let node = context.create_node("callee").unwrap();
    let _publisher = node.create_publisher::<Text>("chatter", 10).unwrap();
    let uri = graph.ask("lookupNode", &["/test".into(), "/callee".into()]);
    let uri = Uri::parse(uri.as_str().unwrap()).unwrap();
    run_short_callbacks(&node, SETTLED);
    let (asker, answered) = (graph.context(), Arc::new(AtomicBool::new(false)));
    let mark = Arc::clone(&answered);
    let _timer = node.create_wall_timer(Duration::from_millis(1), move || {
        asker.call(&uri, "getPid", &["/test".into()], LONG).unwrap();
        mark.store(true, Ordering::SeqCst);
    });
    spin_until(&context, "the callback has its answer", || answered.load(Ordering::SeqCst));
}

#[test]
fn background_thread_checks_five_times_per_second() {
    let _alone = alone();
    let graph = Graph::new();
    let node = graph.context().create_node("busy").unwrap();
    run_short_callbacks(&node, SETTLED);
    // On a busy machine a callback may take long, and the background thread checks more often.
    let mut all = Vec::new();
    while all.last().is_none_or(|(sleeps, checks)| *sleeps > 2 * checks) {
        assert!(all.len() < 5, "sleeps and allowed checks: {all:?}");
        let (before, start) = (sleeps_of_background_threads(), clock::monotonic());
        assert!(before > 0, "no background thread runs");
        run_short_callbacks(&node, Duration::from_secs(2));
        // A check during a callback is followed by a second one.
        let checks = clock::monotonic().since(start).as_millis() as u64 / 200 + 1;
        all.push((sleeps_of_background_threads() - before, checks));
    }
}

/// How often the background threads of this process have gone to sleep.
fn sleeps_of_background_threads() -> u64 {
    let sleeps = |status: &str| {
        let count = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        count.and_then(|count| count.trim().parse::<u64>().ok())
    };
    background_threads().iter().filter_map(|task| sleeps(&read(task, "status"))).sum()
}

/// The background threads of this process, by their folders in `/proc`.
fn background_threads() -> Vec<PathBuf> {
    let tasks = fs::read_dir("/proc/self/task").unwrap().map(|task| task.unwrap().path());
    tasks.filter(|task| read(task, "comm").trim() == "runnel-poll").collect()
}

fn read(task: &Path, file: &str) -> String {
    fs::read_to_string(task.join(file)).unwrap_or_default()
}

/// True if no background thread runs except the master's, which is of this process.
fn has_ended() -> bool {
    background_threads().len() == 1
}

/// Runs `then` as the second poll of a future, which is woken once the background thread has ended because this thread
/// has waited in the driver for long.
fn poll_without_background_thread(context: &Context, mut then: impl FnMut()) {
    let mut polls = 0;
    let future = poll_fn(|task| {
        polls += 1;
        if polls == 1 {
            let waker = task.waker().clone();
            thread::spawn(move || {
                wait_until("the background thread has ended", has_ended);
                waker.wake();
            });
            return Poll::Pending;
        }
        then();
        Poll::Ready(())
    });
    assert_eq!(context.executor().spin_until_future_complete(future, None).unwrap(), Some(()));
}

#[test]
fn peers_are_served_during_poll_of_future() {
    let _alone = alone();
    let graph = Graph::new();
    let context = graph.context();
    let _node = context.create_node("callee").unwrap();
    let uri = graph.ask("lookupNode", &["/test".into(), "/callee".into()]);
    let uri = Uri::parse(uri.as_str().unwrap()).unwrap();
    let arguments = ["/test".into()];
    poll_without_background_thread(&context, || {
        graph.context().call(&uri, "getPid", &arguments, LONG).unwrap();
    });
}

#[test]
fn background_thread_runs_after_poll_that_panics() {
    let _alone = alone();
    let graph = Graph::new();
    let context = graph.context();
    let _node = context.create_node("callee").unwrap();
    let panics = catch_unwind(AssertUnwindSafe(|| {
        poll_without_background_thread(&context, || panic!("as users do"));
    }));
    assert!(panics.is_err() && !has_ended());
}
