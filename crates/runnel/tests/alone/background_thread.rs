//! Tests of the background thread, which runs the driver during long callbacks and costs little otherwise.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::common::{Graph, LONG, spin_until};
use crate::process::alone;
use runnel::Node;
use runnel::io::clock;
use runnel::msgs::std_msgs::msg::String as Text;
use runnel::ros1::rpc::Uri;

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
    let tasks = fs::read_dir("/proc/self/task").unwrap().map(|task| task.unwrap().path());
    let read = |task: &Path, file: &str| fs::read_to_string(task.join(file)).unwrap_or_default();
    let background_threads = tasks.filter(|task| read(task, "comm").trim() == "runnel-poll");
    let sleeps = |status: &str| {
        let count = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        count.and_then(|count| count.trim().parse::<u64>().ok())
    };
    background_threads.filter_map(|task| sleeps(&read(&task, "status"))).sum()
}
