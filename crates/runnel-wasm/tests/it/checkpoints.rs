//! Guests that go on from a checkpoint: in another context, and in another engine.

use std::cell::Cell;
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use runnel::msgs::std_msgs::msg::Int32;
use runnel::{Context, Graphs, Node, Publisher, Subscription};
use runnel_wasm::manifest::Limits;
use runnel_wasm::program::Target;
use runnel_wasm::{Checkpoint, Ended, Guest, GuestError, GuestOptions, Manifest, Program};

use crate::guests::{
    Running, TIMEOUT, context, context_in, namespace, program, program_for, start, start_from, start_in,
};

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

/// Counts the primes below a number by a loop that calls a function, and no function of the host. It ends with their count,
/// modulo 100, as its exit status.
const PRIMES: &str = r#"(module
    (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
    (memory (export "memory") 1)
    (func $is_prime (param $number i32) (result i32) (local $divisor i32)
      (local.set $divisor (i32.const 2))
      (loop $next
        (if (i32.ge_s (local.get $divisor) (local.get $number)) (then (return (i32.const 1))))
        (if (i32.eqz (i32.rem_s (local.get $number) (local.get $divisor))) (then (return (i32.const 0))))
        (local.set $divisor (i32.add (local.get $divisor) (i32.const 1)))
        (br $next))
      (unreachable))
    (func $main (export "_start") (local $number i32) (local $count i32)
      (local.set $number (i32.const 2))
      (loop $next
        (local.set $count (i32.add (local.get $count) (call $is_prime (local.get $number))))
        (local.set $number (i32.add (local.get $number) (i32.const 1)))
        (br_if $next (i32.lt_s (local.get $number) (i32.const 60000))))
      (call $exit (i32.rem_s (local.get $count) (i32.const 100)))))"#;

/// There are 6057 primes below 60 000.
const PRIMES_BELOW_60000: i32 = 57;

/// Sleeps for half a second, and ends with exit status 7.
const SLEEPER: &str = r#"(module
    (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
    (import "wasi_snapshot_preview1" "poll_oneoff" (func $poll (param i32 i32 i32 i32) (result i32)))
    (memory (export "memory") 1)
    (func $main (export "_start")
      (i32.store (i32.const 16) (i32.const 1))
      (i64.store (i32.const 24) (i64.const 500000000))
      (if (call $poll (i32.const 0) (i32.const 100) (i32.const 1) (i32.const 200)) (then (unreachable)))
      (if (i32.ne (i32.load (i32.const 200)) (i32.const 1)) (then (unreachable)))
      (call $exit (i32.const 7))))"#;

/// Sleeps, fills all memory that there is then, sleeps again, and ends with exit status 5 if the memory is as it was: as
/// with an allocator that takes what it finds.
const FILLER: &str = r#"(module
    (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
    (import "wasi_snapshot_preview1" "poll_oneoff" (func $poll (param i32 i32 i32 i32) (result i32)))
    (memory (export "memory") 1)
    (func $sleep
      (i32.store (i32.const 16) (i32.const 1))
      (i64.store (i32.const 24) (i64.const 1000000000))
      (drop (call $poll (i32.const 0) (i32.const 100) (i32.const 1) (i32.const 200))))
    (func $end (result i32) (i32.mul (memory.size) (i32.const 65536)))
    (func $fill (local $at i32)
      (local.set $at (i32.const 65536))
      (loop $next
        (i32.store (local.get $at) (local.get $at))
        (local.set $at (i32.add (local.get $at) (i32.const 4)))
        (br_if $next (i32.lt_u (local.get $at) (call $end)))))
    (func $is_filled (result i32) (local $at i32)
      (local.set $at (i32.const 65536))
      (loop $next
        (if (i32.ne (i32.load (local.get $at)) (local.get $at)) (then (return (i32.const 0))))
        (local.set $at (i32.add (local.get $at) (i32.const 4)))
        (br_if $next (i32.lt_u (local.get $at) (call $end))))
      (i32.const 1))
    (func $main (export "_start")
      (call $sleep)
      (if (i32.eq (memory.size) (i32.const 1)) (then (call $exit (i32.const 1))))
      (call $fill)
      (call $sleep)
      (if (call $is_filled) (then (call $exit (i32.const 5))))))"#;

/// A number by which the native node finds out whether the guest is there.
const PROBE: i32 = 1_000_000;

pub fn unlimited() -> Manifest {
    let limits = Limits { callback: Duration::ZERO, ..Limits::default() };
    Manifest { limits, ..Manifest::allowing_all_names() }
}

/// The same module for both engines of this host.
fn for_both_engines(text: &str) -> [Program; 2] {
    [Target::host(), Target::interpreter()].map(|target| program_for(target, text))
}

fn checkpoint(guest: &Running, ends: bool) -> Checkpoint {
    let suspended = guest.control.suspend(TIMEOUT).expect("it is suspended");
    let taken = if ends { suspended.end() } else { suspended.go_on() };
    // What others get is the content of the file.
    Checkpoint::from_bytes(&taken.to_bytes().expect("it can be written")).expect("it can be read")
}

/// A native node that sends numbers, and receives sums.
struct Native {
    namespace: String,
    context: Context,
    _node: Node,
    numbers: Publisher<Int32>,
    received: Receiver<i32>,
    last: Cell<i32>,
    sums: Subscription,
    spinning: Option<std::thread::JoinHandle<()>>,
}

impl Native {
    fn new() -> Self {
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
    fn context_of_guest(&self) -> Context {
        context_in(Graphs::Ros2, &self.namespace)
    }

    /// Waits for the guest's topics, in both directions.
    fn wait_for_guest(&self) {
        assert!(self.numbers.wait_for_subscribers(1, TIMEOUT).unwrap());
        assert!(self.sums.wait_for_publishers(1, TIMEOUT).unwrap());
        // The guest's publisher finds the subscription in its own time.
        let is_there = (0..600).any(|_| {
            self.send(PROBE);
            self.received.recv_timeout(Duration::from_millis(100)).is_ok()
        });
        assert!(is_there, "nothing comes back");
    }

    fn send(&self, number: i32) {
        self.numbers.publish(Int32 { data: number }).unwrap();
    }

    /// The next sum without the probes. Some of these may be on their way still: then it is that of before.
    fn next_sum(&self, before: i32) -> i32 {
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

#[test]
fn waiting_guest_goes_on_in_the_other_engine() {
    let (native, programs) = (Native::new(), for_both_engines(ADDER));
    let mut guest = start_in(&programs[0], unlimited(), native.context_of_guest());
    let mut sum = 0;
    for turn in 1..5 {
        native.wait_for_guest();
        for number in 1..10 {
            native.send(number * turn);
            assert_eq!(native.next_sum(sum), sum + number * turn);
            sum += number * turn;
        }
        let taken = checkpoint(&guest, true);
        assert_eq!(guest.end().unwrap(), Ended::Stopped);
        assert!(native.numbers.wait_for_subscribers(0, TIMEOUT).unwrap());
        guest = start_from(&taken, &programs[turn as usize % 2], unlimited(), native.context_of_guest());
    }
    guest.control.shutdown();
    assert_eq!(guest.end().unwrap(), Ended::Returned);
}

#[test]
fn guest_goes_on_after_a_checkpoint_and_is_restored_as_it_was() {
    let (native, programs) = (Native::new(), for_both_engines(ADDER));
    let guest = start_in(&programs[0], unlimited(), native.context_of_guest());
    native.wait_for_guest();
    native.send(5);
    assert_eq!(native.next_sum(0), 5);
    let taken = checkpoint(&guest, false);
    native.send(2);
    assert_eq!(native.next_sum(5), 7, "the guest goes on");
    guest.control.shutdown();
    assert_eq!(guest.end().unwrap(), Ended::Returned);
    for program in &programs {
        let restored = start_from(&taken, program, unlimited(), native.context_of_guest());
        // It begins again where it was.
        native.last.set(0);
        native.wait_for_guest();
        native.send(100);
        assert_eq!(native.next_sum(5), 105, "the checkpoint is as it was");
        restored.control.stop();
        assert_eq!(restored.end().unwrap(), Ended::Stopped);
    }
}

#[test]
fn loop_without_calls_of_the_host_is_checkpointed() {
    let programs = for_both_engines(PRIMES);
    let mut guest = start(&programs[0], unlimited());
    for turn in 1..=20 {
        // Somewhere in the loop, of the interpreter and of machine code in turn.
        std::thread::sleep(Duration::from_millis(turn * 7 % 10));
        let taken = match guest.control.suspend(TIMEOUT) {
            Ok(suspended) => suspended.end(),
            // A fast host has found all primes.
            Err(error) if turn > 3 => {
                assert!(error.to_string().contains("it has ended"), "{error}");
                break;
            }
            Err(error) => panic!("{error}"),
        };
        assert_eq!(guest.end().unwrap(), Ended::Stopped);
        guest = start_from(&taken, &programs[turn as usize % 2], unlimited(), context(Graphs::Ros1));
    }
    let ended = guest.end();
    assert!(matches!(ended, Err(GuestError::Exit(PRIMES_BELOW_60000))), "{ended:?}");
}

#[test]
fn sleeping_guest_sleeps_the_rest() {
    let programs = for_both_engines(SLEEPER);
    let guest = start(&programs[0], unlimited());
    let taken = checkpoint(&guest, true);
    assert_eq!(guest.end().unwrap(), Ended::Stopped);
    let ended = start_from(&taken, &programs[1], unlimited(), context(Graphs::Ros1)).end();
    assert!(matches!(ended, Err(GuestError::Exit(7))), "{ended:?}");
}

#[test]
fn memory_that_the_host_has_added_may_be_used_by_the_guest() {
    let programs = for_both_engines(FILLER);
    let mut guest = start(&programs[0], unlimited());
    for turn in 1..5 {
        // It sleeps, fills the memory, or sleeps again.
        std::thread::sleep(Duration::from_millis(400));
        // On a busy host it may have ended.
        let Ok(suspended) = guest.control.suspend(TIMEOUT) else { break };
        let taken = suspended.end();
        assert_eq!(guest.end().unwrap(), Ended::Stopped);
        guest = start_from(&taken, &programs[turn % 2], unlimited(), context(Graphs::Ros1));
    }
    let ended = guest.end();
    assert!(matches!(ended, Err(GuestError::Exit(5))), "{ended:?}");
}

/// A checkpoint of the adder.
fn taken() -> (Checkpoint, Program) {
    let program = program(ADDER);
    let guest = start_in(&program, unlimited(), context(Graphs::Ros2));
    let taken = checkpoint(&guest, true);
    assert_eq!(guest.end().unwrap(), Ended::Stopped);
    (taken, program)
}

#[test]
fn suspended_guest_waits_for_the_decision() {
    let (native, program) = (Native::new(), program(ADDER));
    let guest = start_in(&program, unlimited(), native.context_of_guest());
    native.wait_for_guest();
    let suspended = guest.control.suspend(TIMEOUT).unwrap();
    let error = guest.control.suspend(TIMEOUT).err().map(|error| error.to_string());
    assert!(error.is_some_and(|error| error.contains("in progress")), "there is one at a time");
    native.send(4);
    std::thread::sleep(Duration::from_millis(200));
    assert!(native.received.try_iter().all(|sum| sum % PROBE == 0), "it does not run");
    drop(suspended);
    assert_eq!(native.next_sum(0), 4, "it goes on, and has missed nothing");
    let suspended = guest.control.suspend(TIMEOUT).unwrap();
    guest.control.stop();
    assert_eq!(guest.end().unwrap(), Ended::Stopped, "it can be stopped meanwhile");
    drop(suspended);
}

#[test]
fn checkpoint_of_another_module_is_refused() {
    let (taken, _) = taken();
    let other = program(PRIMES);
    let restored = Guest::restore(&other, taken, context(Graphs::Ros2), GuestOptions::default());
    let error = restored.err().expect("it is refused").to_string();
    assert!(error.contains("the checkpoint is of a node of module"), "{error}");
}

#[test]
fn manifest_of_the_restoring_host_applies() {
    let (taken, program) = taken();
    let manifest = Manifest::parse("nodes = [\"adder\"]\npublish = [\"sum\"]").unwrap();
    let error = start_from(&taken, &program, manifest, context(Graphs::Ros2)).end().unwrap_err().to_string();
    assert!(error.contains("its entity 3: the manifest does not allow number"), "{error}");
}

#[test]
fn damaged_checkpoint_is_refused() {
    let (taken, _) = taken();
    let bytes = taken.to_bytes().unwrap();
    assert!(bytes.len() < 8192, "zero pages are left out: {} bytes", bytes.len());
    for place in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[place] ^= 1 << (place % 8);
        assert!(Checkpoint::from_bytes(&damaged).is_err(), "byte {place} is not checked");
        assert!(Checkpoint::from_bytes(&bytes[..place]).is_err(), "{place} bytes are accepted");
    }
}
