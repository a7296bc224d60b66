//! Tests of simulated time: `/clock` while the parameter `/use_sim_time` is true.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use crate::common::{Graph, spin_until, wait_until};
use runnel::core::time::Time;
use runnel::msgs::rosgraph_msgs::msg::Clock;
use runnel::msgs::std_srvs::srv::SetBool;
use runnel::{Context, Publisher, Rate};
use runnel_io::clock;
use runnel_ros1::xmlrpc::Value;

/// A graph with simulated time, and its clock publisher.
struct World {
    graph: Graph,
    clock: Publisher<Clock>,
}

impl World {
    fn new() -> Self {
        let graph = Graph::new();
        graph.ask("setParam", &["/test".into(), "/use_sim_time".into(), true.into()]);
        let clock = graph.tool().create_node("simulator").unwrap().create_publisher("/clock", 1).unwrap();
        Self { graph, clock }
    }

    /// Publishes a time in milliseconds until a context has received it: the node with the clock subscription may have
    /// ended a moment ago, while the next one is not connected.
    fn set_time(&self, context: &Context, millis: i64) {
        let mut again = clock::monotonic();
        wait_until("the time was received", || {
            if clock::monotonic() >= again {
                self.publish(millis);
                again = clock::monotonic() + Duration::from_millis(100);
            }
            context.now() == time(millis)
        });
    }

    fn publish(&self, millis: i64) {
        self.clock.publish(Clock { clock: time(millis) }).unwrap();
    }

    /// The nodes that subscribe to the clock, by the master, once the clock's publisher has them.
    fn listeners(&self) -> Vec<String> {
        let state = self.graph.ask("getSystemState", &["/test".into()]);
        let rows = state.as_array().unwrap()[1].as_array().unwrap().to_vec();
        let of_clock = rows.iter().filter_map(Value::as_array).find(|row| row[0].as_str() == Some("/clock"));
        let nodes = of_clock.map(|row| row[1].as_array().unwrap().to_vec()).unwrap_or_default();
        if self.clock.subscription_count() != nodes.len() {
            return Vec::new();
        }
        nodes.iter().map(|node| node.as_str().unwrap().to_owned()).collect()
    }

    /// A context with one node that subscribes to the clock.
    fn listener(&self) -> (Context, runnel::Node) {
        let context = self.graph.context();
        let node = context.create_node("listener").unwrap();
        assert!(context.ros_time_is_active());
        wait_until("the clock has a listener", || self.clock.subscription_count() == 1);
        (context, node)
    }
}

fn time(millis: i64) -> Time {
    Time::from_nanos(millis * 1_000_000)
}

fn wall_seconds(context: &Context) -> f64 {
    context.now().as_secs_f64()
}

#[test]
fn simulated_time_is_zero_before_first_clock() {
    let world = World::new();
    let (context, node) = world.listener();
    assert!(node.now().is_zero());
    world.set_time(&context, 5000);
    assert_eq!(node.now(), time(5000));
    world.set_time(&context, 1000);
    assert_eq!(node.now(), time(1000));
}

#[test]
fn local_clock_publisher_sets_time() {
    let world = World::new();
    let (context, node) = world.listener();
    let other = node.create_publisher::<Clock>("/clock", 1).unwrap();
    wait_until("it is joined", || other.subscription_count() == 1);
    other.publish(Clock { clock: time(7) }).unwrap();
    assert_eq!(context.now(), time(7));
}

#[test]
fn use_sim_time_changes_are_followed() {
    let graph = Graph::new();
    let context = graph.context();
    let _node = context.create_node("listener").unwrap();
    assert!(wall_seconds(&context) > 1.7e9);
    let set = |value: Value| graph.ask("setParam", &["/test".into(), "/use_sim_time".into(), value]);
    for (on, off) in [(true.into(), false.into()), (1.into(), 0.into())] {
        set(on);
        wait_until("it is followed", || context.ros_time_is_active());
        assert!(context.now().is_zero());
        set(off);
        wait_until("it is followed", || !context.ros_time_is_active());
    }
    assert!(wall_seconds(&context) > 1.7e9);
}

#[test]
fn only_ros_timers_follow_simulated_time() {
    let world = World::new();
    let (context, node) = world.listener();
    let counter = || Arc::new(AtomicUsize::new(0));
    let (simulated, wall) = (counter(), counter());
    let count = |counter: &Arc<AtomicUsize>| {
        let counter = Arc::clone(counter);
        move || {
            counter.fetch_add(1, Ordering::SeqCst);
        }
    };
    world.set_time(&context, 10_000);
    let _simulated = node.create_timer(Duration::from_millis(100), count(&simulated));
    let _wall = node.create_wall_timer(Duration::from_millis(1), count(&wall));
    let fired = || simulated.load(Ordering::SeqCst);
    let ticks = |context: &Context, more: usize| {
        let until = wall.load(Ordering::SeqCst) + more;
        spin_until(context, "the wall timer fires", || wall.load(Ordering::SeqCst) >= until);
    };
    ticks(&context, 150);
    assert_eq!(fired(), 0, "no simulated time has passed");
    // The last step is a bag that restarts.
    let steps =
        [(10_099, 0), (10_100, 1), (10_199, 1), (10_200, 2), (11_000, 3), (11_100, 4), (500, 4), (600, 5)];
    for (millis, expected) in steps {
        world.set_time(&context, millis);
        spin_until(&context, "it fires as often", || fired() >= expected);
        ticks(&context, 3);
        assert_eq!(fired(), expected, "at {millis} ms");
    }
}

#[test]
fn sleep_and_rate_use_simulated_time() {
    let world = World::new();
    let (context, _node) = world.listener();
    let slept = Arc::new(AtomicUsize::new(0));
    let sleeper = thread::spawn({
        let (context, slept) = (context.clone(), Arc::clone(&slept));
        move || {
            let mut rate = Rate::new(&context, 10.0).unwrap();
            context.sleep(Duration::from_secs(1)).unwrap();
            slept.store(1, Ordering::SeqCst);
            rate.sleep().unwrap();
            slept.store(2, Ordering::SeqCst);
            rate.sleep().unwrap();
            slept.store(3, Ordering::SeqCst);
        }
    });
    let count = || slept.load(Ordering::SeqCst);
    world.set_time(&context, 1000);
    // Each sleep begins at a published time, so it cannot end before these steps.
    let mut millis = 1000;
    for (done, least) in [(1, 2000), (2, 2050), (3, 2100)] {
        while count() < done {
            millis += 10;
            world.set_time(&context, millis);
            thread::yield_now();
        }
        assert!(millis >= least, "{done} sleeps were over at {millis} ms");
    }
    sleeper.join().unwrap();
}

#[test]
fn sleep_ends_on_backward_jump_and_shutdown() {
    let world = World::new();
    let (context, _node) = world.listener();
    world.set_time(&context, 50_000);
    let sleep = || {
        let context = context.clone();
        thread::spawn(move || context.sleep(Duration::from_secs(1000)).unwrap())
    };
    let sleeper = sleep();
    context.sleep_wall(Duration::from_millis(20)).unwrap();
    // The sleep may have begun after the first jump, so each jump goes further back.
    for millis in (0..40_000).rev().step_by(10) {
        if sleeper.is_finished() {
            break;
        }
        world.set_time(&context, millis);
    }
    sleeper.join().unwrap();
    let sleeper = sleep();
    context.shutdown();
    sleeper.join().unwrap();
}

#[test]
fn context_may_ignore_simulated_time() {
    let world = World::new();
    let options = runnel::ContextOptions::default().signals(false).sim_time(false);
    let context =
        Context::with_options(options.arguments([format!("__master:={}", world.graph.uri)])).unwrap();
    let _node = context.create_node("tool").unwrap();
    assert!(!context.ros_time_is_active() && wall_seconds(&context) > 1.7e9);
}

#[test]
fn wait_for_service_times_out_while_time_stands_still() {
    let world = World::new();
    let (_context, node) = world.listener();
    let client = node.create_client::<SetBool>("nobody").unwrap();
    assert!(!client.wait_for_service(Duration::from_millis(50)).unwrap());
    assert!(!client.service_is_ready().unwrap());
}

#[test]
fn clock_subscription_moves_to_another_node() {
    let world = World::new();
    let (context, first) = world.listener();
    let second = context.create_node("second").unwrap();
    world.set_time(&context, 1000);
    assert_eq!(world.clock.subscription_count(), 1, "by two ways the same times would come twice");
    drop(first);
    wait_until("the other listens", || world.listeners() == ["/second"]);
    world.set_time(&context, 2000);
    drop(second);
    wait_until("no node follows simulated time", || !context.ros_time_is_active());
}

#[test]
fn deleted_use_sim_time_keeps_simulated_time() {
    let world = World::new();
    let (context, _node) = world.listener();
    world.set_time(&context, 1000);
    world.graph.ask("deleteParam", &["/test".into(), "/use_sim_time".into()]);
    world.set_time(&context, 2000);
    assert!(context.ros_time_is_active());
    world.graph.ask("setParam", &["/test".into(), "/use_sim_time".into(), false.into()]);
    wait_until("it is followed", || !context.ros_time_is_active());
}

#[test]
fn existing_timer_follows_simulated_time() {
    let graph = Graph::new();
    let (context, simulator) = (graph.context(), graph.tool());
    let node = context.create_node("listener").unwrap();
    let fired = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&fired);
    let _timer = node.create_timer(Duration::from_secs(1000), move || {
        count.fetch_add(1, Ordering::SeqCst);
    });
    graph.ask("setParam", &["/test".into(), "/use_sim_time".into(), true.into()]);
    let clock = simulator.create_node("simulator").unwrap().create_publisher("/clock", 1).unwrap();
    let world = World { graph, clock };
    wait_until("the clock has a listener", || world.clock.subscription_count() == 1);
    world.set_time(&context, 2_000_000);
    spin_until(&context, "a thousand simulated seconds are over", || fired.load(Ordering::SeqCst) == 1);
}
