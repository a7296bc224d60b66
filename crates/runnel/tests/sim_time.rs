//! Simulated time: `/clock` while the parameter `/use_sim_time` is true.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use common::{Graph, spin_until, wait_until};
use runnel::core::time::Time;
use runnel::msgs::rosgraph_msgs::Clock;
use runnel::ros1::xmlrpc::Value;
use runnel::{Context, Publisher, Rate};

/// A graph with simulated time, and who tells it.
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

    /// Tells a time in milliseconds until a context has heard it.
    fn tell(&self, context: &Context, millis: i64) {
        self.publish(millis);
        wait_until("the time was heard", || context.now() == time(millis));
    }

    fn publish(&self, millis: i64) {
        self.clock.publish(Clock { clock: time(millis) }).unwrap();
    }

    /// A context with one node that hears the clock.
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
fn time_is_zero_until_it_is_told_also_in_a_program_that_never_spins() {
    let world = World::new();
    let (context, node) = world.listener();
    assert!(node.now().is_zero());
    world.tell(&context, 5000);
    assert_eq!(node.now(), time(5000));
    world.tell(&context, 1000);
    assert_eq!(node.now(), time(1000));
}

#[test]
fn a_clock_of_the_same_process_counts() {
    let world = World::new();
    let (context, node) = world.listener();
    let other = node.create_publisher::<Clock>("/clock", 1).unwrap();
    wait_until("it is joined", || other.subscription_count() == 1);
    other.publish(Clock { clock: time(7) }).unwrap();
    assert_eq!(context.now(), time(7));
}

#[test]
fn without_the_parameter_time_is_the_walls_and_a_change_is_followed() {
    let graph = Graph::new();
    let context = graph.context();
    let _node = context.create_node("listener").unwrap();
    assert!(wall_seconds(&context) > 1.7e9);
    let set = |value: Value| graph.ask("setParam", &["/test".into(), "/use_sim_time".into(), value]);
    set(true.into());
    wait_until("it is followed", || context.ros_time_is_active());
    assert!(context.now().is_zero());
    set(false.into());
    wait_until("it is followed", || !context.ros_time_is_active());
    assert!(wall_seconds(&context) > 1.7e9);
}

#[test]
fn timers_follow_simulated_time_and_wall_timers_do_not() {
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
    world.tell(&context, 10_000);
    let _simulated = node.create_timer(Duration::from_millis(100), count(&simulated));
    let _wall = node.create_wall_timer(Duration::from_millis(1), count(&wall));
    let fired = || simulated.load(Ordering::SeqCst);
    let ticks = |context: &Context, more: usize| {
        let until = wall.load(Ordering::SeqCst) + more;
        spin_until(context, "the wall timer fires", || wall.load(Ordering::SeqCst) >= until);
    };
    ticks(&context, 150);
    assert_eq!(fired(), 0, "no simulated time has passed");
    world.tell(&context, 10_099);
    ticks(&context, 3);
    assert_eq!(fired(), 0);
    for (millis, expected) in [(10_100, 1), (10_199, 1), (10_200, 2), (11_000, 3), (11_100, 4)] {
        world.tell(&context, millis);
        ticks(&context, 3);
        assert_eq!(fired(), expected, "at {millis} ms");
    }
    // A bag that begins again.
    world.tell(&context, 500);
    ticks(&context, 3);
    assert_eq!(fired(), 4);
    world.tell(&context, 600);
    ticks(&context, 3);
    assert_eq!(fired(), 5);
}

#[test]
fn sleep_and_rate_pass_simulated_time() {
    let world = World::new();
    let (context, _node) = world.listener();
    let slept = Arc::new(AtomicUsize::new(0));
    let sleeper = thread::spawn({
        let (context, slept) = (context.clone(), Arc::clone(&slept));
        move || {
            let mut rate = Rate::new(&context, 10.0);
            context.sleep(Duration::from_secs(1)).unwrap();
            slept.store(1, Ordering::SeqCst);
            rate.sleep().unwrap();
            slept.store(2, Ordering::SeqCst);
            rate.sleep().unwrap();
            slept.store(3, Ordering::SeqCst);
        }
    });
    world.tell(&context, 1000);
    context.sleep_wall(Duration::from_millis(120)).unwrap();
    world.tell(&context, 1999);
    assert_eq!(slept.load(Ordering::SeqCst), 0);
    for (millis, expected) in [(2000, 1), (2100, 2), (2200, 3)] {
        world.tell(&context, millis);
        wait_until("it slept enough", || slept.load(Ordering::SeqCst) == expected);
    }
    sleeper.join().unwrap();
}

#[test]
fn a_sleep_ends_when_time_jumps_back_and_when_the_context_ends() {
    let world = World::new();
    let (context, _node) = world.listener();
    world.tell(&context, 50_000);
    let sleep = || {
        let context = context.clone();
        thread::spawn(move || context.sleep(Duration::from_secs(1000)).unwrap())
    };
    let sleeper = sleep();
    context.sleep_wall(Duration::from_millis(20)).unwrap();
    // The sleeper may have begun after the first jump: each is further back.
    for millis in (0..40_000).rev().step_by(10) {
        if sleeper.is_finished() {
            break;
        }
        world.tell(&context, millis);
    }
    sleeper.join().unwrap();
    let sleeper = sleep();
    context.shutdown();
    sleeper.join().unwrap();
}

#[test]
fn who_does_not_want_it_has_wall_time() {
    let world = World::new();
    let options = runnel::ContextOptions::default().signals(false).sim_time(false);
    let context =
        Context::with_options(options.arguments([format!("__master:={}", world.graph.uri)])).unwrap();
    let _node = context.create_node("tool").unwrap();
    assert!(!context.ros_time_is_active() && wall_seconds(&context) > 1.7e9);
}
