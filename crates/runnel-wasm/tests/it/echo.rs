//! A guest that publishes what it receives, and native nodes that talk to it.

use std::sync::mpsc;
use std::time::Duration;

use runnel::msgs::std_msgs::msg::String as Text;
use runnel::{Context, ContextOptions, Graphs, MasterOptions};
use runnel_wasm::{Ended, Manifest, Program};

use crate::guests::{TIMEOUT, context, namespace, program, start_in};

const COUNT: usize = 100;

/// Of all histories: no message is dropped, those that are sent first included.
const DEPTH: usize = 1000;

/// Publishes on `out` what it receives on `in`, with messages in one of the encodings.
fn echo(encoding: u32) -> Program {
    program(&format!(
        r#"(module
        (import "runnel:guest/host@0.1.0" "wait" (func $wait (param i64 i32 i32 i32) (result i32)))
        (import "runnel:guest/host@0.1.0" "create-node" (func $node (param i32 i32) (result i32)))
        (import "runnel:guest/host@0.1.0" "create-publisher"
          (func $publisher (param i32 i32 i32 i32 i32 i32 i32) (result i32)))
        (import "runnel:guest/host@0.1.0" "create-subscription"
          (func $subscription (param i32 i32 i32 i32 i32 i32 i32) (result i32)))
        (import "runnel:guest/host@0.1.0" "publish" (func $publish (param i32 i32 i32) (result i32)))
        (memory (export "memory") 1)
        (data (i32.const 5000) "echo")
        (data (i32.const 5010) "out")
        (data (i32.const 5020) "in")
        (data (i32.const 5030) "std_msgs/String")
        ;; The QoS: keep last 1000, reliable, volatile.
        (data (i32.const 6000) "\00\00\00\00\e8\03\00\00\01\00\00\00")
        (func $main (export "_start") (local $node i32) (local $out i32)
          (local.set $node (call $node (i32.const 5000) (i32.const 4)))
          (local.set $out (call $publisher (local.get $node) (i32.const 5010) (i32.const 3)
            (i32.const 5030) (i32.const 15) (i32.const {encoding}) (i32.const 6000)))
          (if (i32.ne (local.get $out) (i32.const 2)) (then (unreachable)))
          (if (i32.ne (i32.const 3) (call $subscription (local.get $node) (i32.const 5020) (i32.const 2)
            (i32.const 5030) (i32.const 15) (i32.const {encoding}) (i32.const 6000))) (then (unreachable)))
          (loop $next
            (drop (call $wait (i64.const -1) (i32.const 0) (i32.const 1024) (i32.const 1024)))
            ;; 1 is a message, 10 the end.
            (if (i32.eq (i32.load (i32.const 0)) (i32.const 1))
              (then (if (call $publish (local.get $out) (i32.const 1024) (i32.load (i32.const 60)))
                (then (unreachable)))))
            (br_if $next (i32.ne (i32.load (i32.const 0)) (i32.const 10))))))"#
    ))
}

/// Sends messages through the guest, in these graphs, and returns what comes back.
fn echoed(encoding: u32, graphs: Graphs) -> Vec<String> {
    let ns = format!("__ns:={}", namespace());
    let options = || ContextOptions::default().arguments([ns.clone()]).signals(false).graphs(graphs);
    let (native, uri) = Context::with_master(options(), MasterOptions::at(([127, 0, 0, 1], 0))).unwrap();
    let of_guest =
        Context::with_options(options().arguments([ns.clone(), format!("__master:={uri}")])).unwrap();
    let guest = start_in(&echo(encoding), Manifest::allowing_all_names(), of_guest);
    let node = native.create_node("native").unwrap();
    let (send, received) = mpsc::channel();
    let _out = node.create_subscription("out", DEPTH, move |text: &Text| {
        _ = send.send(text.data.clone());
    });
    let publisher = node.create_publisher::<Text>("in", DEPTH).unwrap();
    assert!(publisher.wait_for_subscribers(1, TIMEOUT).unwrap());
    let spinning = {
        let native = native.clone();
        std::thread::spawn(move || native.spin())
    };
    // The guest's publisher finds the native subscriber in its own time: until then, messages are sent one by one.
    let text = |number: usize| Text { data: format!("message {number}") };
    let first = (0..600).find(|_| {
        publisher.publish(text(0)).unwrap();
        received.recv_timeout(Duration::from_millis(100)).is_ok()
    });
    assert!(first.is_some(), "nothing comes back");
    for number in 1..=COUNT {
        publisher.publish(text(number)).unwrap();
    }
    let last = format!("message {COUNT}");
    let mut all = Vec::new();
    while all.last() != Some(&last) {
        all.push(received.recv_timeout(TIMEOUT).expect("all messages come back"));
    }
    all.retain(|text| text != "message 0");
    guest.control.shutdown();
    assert_eq!(guest.end().unwrap(), Ended::Returned);
    native.shutdown();
    spinning.join().unwrap().unwrap();
    all
}

fn sent() -> Vec<String> {
    (1..=COUNT).map(|number| format!("message {number}")).collect()
}

#[test]
fn guest_gets_and_sends_messages_of_its_graph() {
    assert_eq!(echoed(0, Graphs::Ros1), sent());
    assert_eq!(echoed(1, Graphs::Ros2), sent());
}

#[test]
fn messages_of_the_other_generation_are_converted() {
    assert_eq!(echoed(1, Graphs::Ros1), sent());
    assert_eq!(echoed(0, Graphs::Ros2), sent());
}

#[test]
fn topic_that_the_manifest_does_not_name_is_refused() {
    let manifest =
        Manifest::parse("nodes = [\"echo\"]\nsubscribe = [\"in\"]\npublish = [\"outside\"]").unwrap();
    // The guest expects handle 2, and gets an error.
    let ended = start_in(&echo(1), manifest, context(Graphs::Ros2)).end();
    assert!(ended.is_err_and(|error| error.to_string().contains("unreachable")));
}
