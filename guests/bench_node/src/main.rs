//! The node that `bench/wasm` measures: `cargo build -p bench_node` makes a program, and with `--target wasm32-wasip1` a
//! module. Times are nanoseconds of the wall clock, which the program that measures has too: a node in WebAssembly reads no
//! other clock of the host.
//!
//! | Topic | Then |
//! |---|---|
//! | `light_sensors`, `cmd_vel` | publishes the time of the callback on `received` |
//! | `primes_up_to`, `first_primes` | finds the primes up to a number, or so many of them, and publishes on `primes`: how long it took, how many there are, and the largest |
//!
//! Its first message is the time before it, on `started`.

#[cfg(target_arch = "wasm32")]
extern crate runnel_guest as runnel;

mod primes;

use std::time::{SystemTime, UNIX_EPOCH};

use runnel::core::Message;
use runnel::msgs::geometry_msgs::msg::Twist;
use runnel::msgs::raspimouse_msgs::msg::LightSensors;
use runnel::msgs::std_msgs::msg::{UInt32, UInt64, UInt64MultiArray};
use runnel::{Context, ContextOptions, Error, Node, QoS, log_error};

const DEPTH: usize = 10;

fn main() -> Result<(), Error> {
    let context = Context::with_options(ContextOptions::from_args()?)?;
    let node = context.create_node("bench_node")?;
    let started = node.create_publisher::<UInt64>("started", QoS::keep_last(1).transient_local())?;
    started.publish(UInt64 { data: wall_clock() })?;
    let received = reporting(&node, "received")?;
    let (of_sensors, of_commands) = (received.clone(), received);
    let _sensors = node.create_subscription("light_sensors", DEPTH, move |_: &LightSensors| {
        of_sensors(UInt64 { data: wall_clock() });
    })?;
    let _commands = node.create_subscription("cmd_vel", DEPTH, move |_: &Twist| {
        of_commands(UInt64 { data: wall_clock() });
    })?;
    let primes = reporting(&node, "primes")?;
    let (of_limit, of_count) = (primes.clone(), primes);
    let _limit = node.create_subscription("primes_up_to", DEPTH, move |limit: &UInt32| {
        of_limit(timed(|| primes::up_to(limit.data)));
    })?;
    let _count = node.create_subscription("first_primes", DEPTH, move |count: &UInt32| {
        of_count(timed(|| primes::first(count.data)));
    })?;
    context.spin()
}

/// Publishes what the program that measures waits for: it fails without it.
fn reporting<M: Message>(node: &Node, topic: &str) -> Result<impl Fn(M) + Clone + use<M>, Error> {
    let (node, publisher) = (node.clone(), node.create_publisher(topic, DEPTH)?);
    Ok(move |message: M| {
        if let Err(error) = publisher.publish(message) {
            log_error!(node, "{}: {error}", publisher.topic());
        }
    })
}

/// Finds primes. Returns how long it took, how many there are, and the largest.
fn timed(find: impl FnOnce() -> Vec<u32>) -> UInt64MultiArray {
    let begun = wall_clock();
    let primes = find();
    let took = wall_clock().saturating_sub(begun);
    let largest = primes.last().copied().unwrap_or_default();
    UInt64MultiArray { data: vec![took, primes.len() as u64, largest.into()], ..UInt64MultiArray::default() }
}

fn wall_clock() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos() as u64)
}
