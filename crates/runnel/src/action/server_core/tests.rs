use std::panic::{AssertUnwindSafe, catch_unwind};
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

fn context(domain: u16) -> Context {
    require_private_network();
    let options = ContextOptions::default().signals(false).arguments([""; 0]);
    Context::with_options(options.graphs(Graphs::Ros2).domain_id(domain).ipc(false)).unwrap()
}

type Core = Arc<ServerCore<StaticTypes<TestAction>>>;

fn core(name: &str, ros2: Duration) -> (Context, Core) {
    let context = context(173);
    let node = context.create_node(name).unwrap();
    let types = StaticTypes::<TestAction>::default();
    let ends = ServerEnds::new(&node, "/test", types.types()).unwrap();
    let core = ServerCore::new((&node, "/test", types), ends, KeepTimes { ros1: ros2, ros2 });
    (context, core)
}

/// A goal of a ROS 2 client, which is accepted.
fn accepted(core: &Core, number: u8) -> Arc<ServerGoal<StaticTypes<TestAction>>> {
    let (id, goal) = (GoalId::from([number; 16]), TestGoal { goal: number.into() });
    let stamps = (Time::default(), Time { sec: 1, nanosec: 0 });
    let goal = core.arrive("client", Arrived { id, stamps, goal, reply: None }).unwrap();
    core.accept(&goal).unwrap();
    goal
}

fn succeed(core: &Core, goal: &ServerGoal<StaticTypes<TestAction>>) {
    core.finish(goal, Step::Succeed, &TestResult { result: 1 }, "").unwrap();
}

#[track_caller]
fn spin_until(context: &Context, what: &str, is_done: impl Fn() -> bool) {
    let until = clock::monotonic() + LONG;
    while !is_done() {
        assert!(clock::monotonic() < until, "timed out: {what}");
        context.spin_once(Duration::from_millis(20)).unwrap();
    }
}

#[test]
fn results_of_idle_server_expire() {
    let (context, core) = core("idle", Duration::from_millis(20));
    succeed(&core, &accepted(&core, 1));
    spin_until(&context, "no goal is listed", || core.table().goals.entries().is_empty());
    core.end();
}

#[test]
fn each_result_expires_after_its_time() {
    let (_context, core) = core("results", Duration::from_secs(10));
    let [first, second] = [1, 2].map(|number| accepted(&core, number));
    succeed(&core, &first);
    succeed(&core, &second);
    for (goal, seconds_ago) in [(&first, 11), (&second, 6)] {
        let ended = Instant(clock::monotonic().0 - seconds_ago * 1_000_000_000);
        core.table().goals.set(goal.key, GoalStatus::Succeeded, "", ended);
    }
    let timer = core.expiry.get().unwrap();
    timer.cancel();
    core.expire();
    assert_eq!(core.table().goals.entries().len(), 1);
    let left = timer.time_until_next().expect("it runs");
    assert!(left <= Duration::from_secs(4), "{left:?}");
    core.end();
}

#[test]
fn panic_of_cancel_callback_lets_goals_be_canceled_again() {
    let (_context, core) = core("panicking", Duration::from_secs(10));
    let goals = [1, 2, 3].map(|number| accepted(&core, number));
    let request = || core.table().goals.cancel_ros2([0; 16], Time::default(), clock::monotonic()).goals;
    let mut asked = 0;
    let mut panic_second = |_| {
        asked += 1;
        assert!(asked == 1, "the callback panics");
    };
    let requested = request();
    let decided = catch_unwind(AssertUnwindSafe(|| core.decide_cancel(&requested, &mut panic_second)));
    assert!(decided.is_err());
    let statuses = goals.each_ref().map(|goal| core.status(goal));
    assert_eq!(statuses, [GoalStatus::Preempting, GoalStatus::Active, GoalStatus::Active]);
    assert_eq!(core.decide_cancel(&request(), &mut drop), [true, true]);
    assert!(goals.iter().all(|goal| core.status(goal) == GoalStatus::Preempting));
    core.end();
}

/// The server is idle: no other request arrives.
#[test]
fn result_request_of_absent_client_is_dropped() {
    let (near, far) = (context(174), context(174));
    let (sender, goals) = std::sync::mpsc::channel();
    let on_goal = move |goal| sender.send(goal).unwrap();
    let server = near.create_node("server").unwrap();
    let server = server.create_action_server::<TestAction>("absent", on_goal, drop).unwrap();
    let client = far.create_node("client").unwrap().create_action_client::<TestAction>("absent").unwrap();
    spin_until(&near, "the server is ready", || client.server_is_ready());
    let sent = client.send_goal(&TestGoal { goal: 1 }).unwrap();
    let arrived = std::cell::OnceCell::new();
    spin_until(&near, "the goal arrives", || match goals.try_recv() {
        Ok(goal) => arrived.set(goal).is_ok(),
        Err(_) => false,
    });
    let arrived = arrived.into_inner().unwrap();
    arrived.accept().unwrap();
    let waiting = || server.core().table().goals.entries()[0].requests.waiting();
    spin_until(&near, "the client requests the result", || {
        // Any function of the client handles what it has received.
        client.server_is_ready() && waiting() == 1
    });
    drop((sent, client));
    far.shutdown();
    spin_until(&near, "its request is dropped", || waiting() == 0);
    assert_eq!(arrived.status(), GoalStatus::Active);
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
