use std::time::Duration;

use runnel_core::time::{Instant, Time};
use runnel_msgs::actionlib::action::{TestAction, TestGoal, TestResult};
use runnel_testkit::namespace::require_private_network;

use super::*;
use crate::action::server_arrivals::Arrived;
use crate::action::server_types::StaticTypes;
use crate::log_output::held_lines;
use crate::{Context, ContextOptions, Graphs};

/// Longer than any step of these tests; only a failure waits for it.
const LONG: Duration = Duration::from_secs(60);

fn core(name: &str, ros2: Duration) -> (Context, Arc<ServerCore<StaticTypes<TestAction>>>) {
    require_private_network();
    let options = ContextOptions::default().signals(false).arguments([""; 0]);
    let options = options.graphs(Graphs::Ros2).domain_id(173).ipc(false);
    let context = Context::with_options(options).unwrap();
    let node = context.create_node(name).unwrap();
    let types = StaticTypes::<TestAction>::default();
    let ends = ServerEnds::new(&node, "/test", types.types()).unwrap();
    let core = ServerCore::new((&node, "/test", types), ends, KeepTimes { ros1: ros2, ros2 });
    (context, core)
}

#[test]
fn results_of_idle_server_expire() {
    let (context, core) = core("idle", Duration::from_millis(20));
    let id = GoalId::from([1; 16]);
    let stamps = (Time::default(), Time { sec: 1, nanosec: 0 });
    let goal =
        core.arrive("client", Arrived { id, stamps, goal: TestGoal { goal: 1 }, reply: None }).unwrap();
    core.accept(&goal).unwrap();
    core.finish(&goal, Step::Succeed, &TestResult { result: 1 }, "").unwrap();
    let until = clock::monotonic() + LONG;
    let is_left = |now: Instant| now < until && !core.table().goals.entries().is_empty();
    while is_left(clock::monotonic()) {
        context.spin_once(LONG).unwrap();
    }
    assert!(core.table().goals.entries().is_empty());
    core.end();
}

#[test]
fn lines_are_logged_after_the_table_is_unlocked() {
    let (_context, core) = core("logging", Duration::from_secs(10));
    let table = core.table();
    console::warning!("of this test");
    assert_eq!(held_lines::count(), 1);
    drop(table);
    assert_eq!(held_lines::count(), 0);
    core.end();
}
