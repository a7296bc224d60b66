//! A guest that adds the numbers that it receives, and a native node that talks to it.

use std::cell::Cell;
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use runnel::msgs::std_msgs::msg::Int32;
use runnel::{Context, Graphs, Node, Publisher, Subscription};

use crate::guests::{TIMEOUT, context_in, namespace};

/// Adds each number that it receives to a sum on its call stack, and publishes the sum.
pub const ADDER: &str = r#"(module
    (import "runnel:guest/host@0.1.0" "wait" (func $wait (param i64 i32 i32 i32) (result i32)))
    (import "runnel:guest/host@0.1.0" "create-node" (func $node (param i32 i32) (result i32)))
    (import "runnel:guest/host@0.1.0" "create-publisher"
      (func $publisher (param i32 i32 i32 i32 i32 i32 i32) (result i32)))
    (import "runnel:guest/host@0.1.0" "create-subscription"
      (func $subscription (param i32 i32 i32 i32 i32 i32 i32) (result i32)))
    (import "runnel:guest/host@0.1.0" "publish" (func $publish (param i32 i32 i32) (result i32)))
    (memory (export "memory") 1)
    (data (i32.const 5000) "adder")
    (data (i32.const 5010) "sum")
    (data (i32.const 5020) "number")
    (data (i32.const 5030) "std_msgs/Int32")
    ;; The QoS: keep last 1000, reliable, volatile.
    (data (i32.const 6000) "\00\00\00\00\e8\03\00\00\01\00\00\00")
    ;; Waits for the next number.
    (func $next (result i32)
      (loop $again
        (drop (call $wait (i64.const -1) (i32.const 0) (i32.const 1024) (i32.const 64)))
        (if (i32.eq (i32.load (i32.const 0)) (i32.const 1)) (then (return (i32.load (i32.const 1028)))))
        (br_if $again (i32.ne (i32.load (i32.const 0)) (i32.const 10))))
      (i32.const -1))
    (func $main (export "_start") (local $node i32) (local $out i32) (local $sum i32) (local $number i32)
      (local.set $node (call $node (i32.const 5000) (i32.const 5)))
      (local.set $out (call $publisher (local.get $node) (i32.const 5010) (i32.const 3)
        (i32.const 5030) (i32.const 14) (i32.const 1) (i32.const 6000)))
      (drop (call $subscription (local.get $node) (i32.const 5020) (i32.const 6)
        (i32.const 5030) (i32.const 14) (i32.const 1) (i32.const 6000)))
      (loop $more
        (local.set $number (call $next))
        (if (i32.ge_s (local.get $number) (i32.const 0)) (then
          (local.set $sum (i32.add (local.get $sum) (local.get $number)))
          (i64.store (i32.const 2048) (i64.const 0x100))
          (i32.store (i32.const 2052) (local.get $sum))
          (drop (call $publish (local.get $out) (i32.const 2048) (i32.const 8)))
          (br $more))))))"#;

/// A number by which the native node finds out whether the guest is there.
pub const PROBE: i32 = 1_000_000;

/// A native node that sends numbers, and receives sums.
pub struct Native {
    namespace: String,
    context: Context,
    _node: Node,
    pub numbers: Publisher<Int32>,
    pub received: Receiver<i32>,
    pub last: Cell<i32>,
    sums: Subscription,
    spinning: Option<std::thread::JoinHandle<()>>,
}

impl Native {
    pub fn new() -> Self {
        let namespace = namespace();
        let context = context_in(Graphs::Ros2, &namespace);
        let node = context.create_node("native").unwrap();
        let (send, received) = mpsc::channel();
        let sums = node.create_subscription("sum", 1000, move |sum: &Int32| _ = send.send(sum.data)).unwrap();
        let numbers = node.create_publisher("number", 1000).unwrap();
        let spins = context.clone();
        let spinning = Some(std::thread::spawn(move || spins.spin().expect("it spins")));
        Self { namespace, context, _node: node, numbers, received, last: Cell::new(0), sums, spinning }
    }

    /// A context for a guest that talks to this node.
    pub fn context_of_guest(&self) -> Context {
        context_in(Graphs::Ros2, &self.namespace)
    }

    /// Waits for the guest's topics, in both directions.
    pub fn wait_for_guest(&self) {
        assert!(self.numbers.wait_for_subscribers(1, TIMEOUT).unwrap());
        assert!(self.sums.wait_for_publishers(1, TIMEOUT).unwrap());
        // The guest's publisher finds the subscription in its own time.
        let is_there = (0..600).any(|_| {
            self.send(PROBE);
            self.received.recv_timeout(Duration::from_millis(100)).is_ok()
        });
        assert!(is_there, "nothing comes back");
    }

    pub fn send(&self, number: i32) {
        self.numbers.publish(Int32 { data: number }).unwrap();
    }

    /// The next sum without the probes. Some of these may be on their way still: then it is that of before.
    pub fn next_sum(&self, before: i32) -> i32 {
        loop {
            let sum = self.received.recv_timeout(TIMEOUT).expect("a sum");
            let last = self.last.replace(sum);
            assert!(last < sum, "{sum} after {last}: nothing is doubled, lost or reordered");
            if sum % PROBE != before {
                return sum % PROBE;
            }
        }
    }
}

impl Drop for Native {
    fn drop(&mut self) {
        self.context.shutdown();
        if let Some(Err(_)) = self.spinning.take().map(std::thread::JoinHandle::join) {
            eprintln!("the native node has panicked");
        }
    }
}
