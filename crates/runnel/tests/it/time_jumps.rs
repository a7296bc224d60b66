//! Tests of jumps of simulated time, in ROS 2: callbacks, timers and rates.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use runnel::msgs::rosgraph_msgs::msg::Clock;
use runnel::{
    ClockChange, Context, ContextOptions, Graphs, JumpHandler, JumpThreshold, Node, Publisher, QoS, Rate,
    Time,
};

use crate::common::{Graph, spin_until};
use crate::domains::new_domain;

/// A node that follows the clock of another context.
struct World {
    context: Context,
    node: Node,
    clock: Publisher<Clock>,
}

impl World {
    fn new() -> Self {
        let domain = new_domain();
        let options = |arguments: &[&str]| {
            let options = ContextOptions::default().signals(false).arguments(arguments.iter().copied());
            Context::with_options(options.graphs(Graphs::Ros2).domain_id(domain)).unwrap()
        };
        let context = options(&["--ros-args", "-p", "use_sim_time:=true"]);
        let node = context.create_node("follower").unwrap();
        let simulator = options(&[]).create_node("simulator").unwrap();
        let clock = simulator.create_publisher("/clock", QoS::keep_last(1)).unwrap();
        spin_until(&context, "the clock has a reader", || clock.subscription_count() == 1);
        Self { context, node, clock }
    }

    /// Sets the time, and spins until the node has it.
    fn set_time(&self, seconds: i32) {
        let time = Time { sec: seconds, nanosec: 0 };
        spin_until(&self.context, "the time is received", || {
            self.clock.publish(Clock { clock: time }).unwrap();
            self.context.now() == time
        });
    }
}

/// The jumps that a handler got.
type Jumps = Arc<Mutex<Vec<(ClockChange, i64)>>>;

/// The jumps that a callback with this threshold gets.
fn record(node: &Node, threshold: JumpThreshold) -> (JumpHandler, Jumps) {
    let jumps = Arc::new(Mutex::new(Vec::new()));
    let keep = Arc::clone(&jumps);
    let handler = node.create_jump_callback(threshold, move |jump| {
        keep.lock().unwrap().push((jump.clock_change, jump.delta.as_nanos() / 1_000_000_000));
    });
    (handler, jumps)
}

const NO_CHANGE: ClockChange = ClockChange::RosTimeNoChange;

#[test]
fn jump_callbacks_get_jumps_beyond_threshold() {
    let world = World::new();
    let far = JumpThreshold {
        min_forward: Some(Duration::from_secs(50)),
        min_backward: Some(Duration::from_secs(50)),
        ..JumpThreshold::default()
    };
    let (_default, backward) = record(&world.node, JumpThreshold::default());
    let (_far, both) = record(&world.node, far);
    for seconds in [10, 20, 80, 79, 15] {
        world.set_time(seconds);
    }
    let all = |jumps: &Arc<Mutex<Vec<_>>>, count| {
        spin_until(&world.context, "the callbacks have run", || jumps.lock().unwrap().len() >= count);
        jumps.lock().unwrap().clone()
    };
    assert_eq!(all(&backward, 2), [(NO_CHANGE, -1), (NO_CHANGE, -64)]);
    assert_eq!(all(&both, 2), [(NO_CHANGE, 60), (NO_CHANGE, -64)]);
}

#[test]
fn jump_callback_runs_before_due_timer() {
    let world = World::new();
    world.set_time(10);
    let order = Arc::new(Mutex::new(Vec::new()));
    let (first, second) = (Arc::clone(&order), Arc::clone(&order));
    let threshold = JumpThreshold { min_forward: Some(Duration::from_secs(5)), ..JumpThreshold::default() };
    let _timer =
        world.node.create_timer(Duration::from_secs(5), move || second.lock().unwrap().push("timer"));
    let _handler = world.node.create_jump_callback(threshold, move |_| first.lock().unwrap().push("jump"));
    world.set_time(100);
    spin_until(&world.context, "both have run", || order.lock().unwrap().len() >= 2);
    assert_eq!(*order.lock().unwrap(), ["jump", "timer"]);
}

#[test]
fn dropped_handler_gets_no_jump() {
    let world = World::new();
    world.set_time(10);
    let (dropped, jumps) = record(&world.node, JumpThreshold::default());
    let (_kept, all) = record(&world.node, JumpThreshold::default());
    drop(dropped);
    world.set_time(5);
    spin_until(&world.context, "the other callback has run", || all.lock().unwrap().len() == 1);
    assert_eq!(*jumps.lock().unwrap(), []);
    assert_eq!(Arc::strong_count(&jumps), 1, "the callback is dropped with its handler");
}

#[test]
fn source_change_is_reported_as_jump() {
    let graph = Graph::new();
    let context = graph.context();
    let node = context.create_node("follower").unwrap();
    let (_handler, jumps) = record(&node, JumpThreshold::default());
    let unaware = JumpThreshold { on_clock_change: false, ..JumpThreshold::default() };
    let (_unaware, none) = record(&node, unaware);
    let expected = [(ClockChange::RosTimeActivated, 0), (ClockChange::RosTimeDeactivated, 0)];
    for count in [1, 2] {
        graph.ask("setParam", &["/test".into(), "/use_sim_time".into(), (count == 1).into()]);
        spin_until(&context, "the source has changed", || jumps.lock().unwrap().len() == count);
    }
    assert_eq!(*jumps.lock().unwrap(), expected);
    assert_eq!(*none.lock().unwrap(), []);
}

#[test]
fn rate_sleeps_one_period_after_backward_jump() {
    let world = World::new();
    world.set_time(1000);
    let mut rate = Rate::new(&world.context, 1.0).unwrap();
    let context = world.context.clone();
    let cycles = Arc::new(Mutex::new(0));
    let count = Arc::clone(&cycles);
    let sleeper = std::thread::spawn(move || {
        while *count.lock().unwrap() < 3 {
            rate.sleep().unwrap();
            *count.lock().unwrap() += 1;
        }
        context.now().sec
    });
    // After the jump a cycle takes a second of simulated time, not a thousand.
    for seconds in (1001..).take(2).chain(1..900) {
        if sleeper.is_finished() {
            break;
        }
        world.set_time(seconds);
        // On a busy machine, the sleeper does not run between two messages.
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(sleeper.join().unwrap() < 900, "the rate waited for the time before the jump");
}
