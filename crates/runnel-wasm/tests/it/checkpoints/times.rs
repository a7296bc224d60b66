//! Times that are left at a checkpoint. The clock of these guests stands still between a checkpoint and the restored guest, so
//! that it shows what they have waited, however busy the host is.

use std::time::Duration;

use runnel::Graphs;
use runnel_wasm::GuestError;

use super::moved_to_its_end;
use crate::guests::context;

/// Sleeps for two seconds. It ends with the tenths of a second in which it has slept as its exit status.
const SLEEPER: &str = r#"(module
    (import "runnel:guest/host@0.1.0" "now" (func $now (param i32) (result i64)))
    (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
    (import "wasi_snapshot_preview1" "poll_oneoff" (func $poll (param i32 i32 i32 i32) (result i32)))
    (memory (export "memory") 1)
    (func $main (export "_start") (local $began i64)
      (local.set $began (call $now (i32.const 1)))
      (i32.store (i32.const 16) (i32.const 1))
      (i64.store (i32.const 24) (i64.const 2000000000))
      (if (call $poll (i32.const 0) (i32.const 100) (i32.const 1) (i32.const 200)) (then (unreachable)))
      (if (i32.ne (i32.load (i32.const 200)) (i32.const 1)) (then (unreachable)))
      (call $exit (i32.wrap_i64 (i64.div_s
        (i64.sub (call $now (i32.const 1)) (local.get $began)) (i64.const 100000000))))))"#;

/// Waits for an event: with the timeout, or with a timer that ticks after two seconds. It ends as the sleeper does.
fn waiting(timeout: i64, timer: u64) -> String {
    format!(
        r#"(module
    (import "runnel:guest/host@0.1.0" "now" (func $now (param i32) (result i64)))
    (import "runnel:guest/host@0.1.0" "wait" (func $wait (param i64 i32 i32 i32) (result i32)))
    (import "runnel:guest/host@0.1.0" "create-node" (func $node (param i32 i32) (result i32)))
    (import "runnel:guest/host@0.1.0" "create-timer" (func $timer (param i32 i64 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
    (memory (export "memory") 1)
    (data (i32.const 5000) "waiting")
    (func $main (export "_start") (local $began i64) (local $node i32)
      (local.set $node (call $node (i32.const 5000) (i32.const 7)))
      (if (i32.ne (local.get $node) (i32.const 1)) (then (unreachable)))
      (drop (call $timer (local.get $node) (i64.const {timer}) (i32.const 1) (i32.const 0)))
      (local.set $began (call $now (i32.const 1)))
      (drop (call $wait (i64.const {timeout}) (i32.const 0) (i32.const 1024) (i32.const 64)))
      (if (i32.eq (i32.load (i32.const 0)) (i32.const 10)) (then (unreachable)))
      (call $exit (i32.wrap_i64 (i64.div_s
        (i64.sub (call $now (i32.const 1)) (local.get $began)) (i64.const 100000000))))))"#
    )
}

/// A guest that begins its time anew at each checkpoint never comes to its end, and one that forgets it ends at the first.
fn assert_two_seconds(text: &str, graphs: Graphs) {
    match moved_to_its_end(text, Duration::from_millis(300), || context(graphs)) {
        Err(GuestError::Exit(tenths)) => assert!((18..40).contains(&tenths), "{tenths} tenths of a second"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn sleeping_guest_sleeps_the_rest() {
    assert_two_seconds(SLEEPER, Graphs::Ros1);
}

#[test]
fn timer_ticks_after_the_time_that_was_left() {
    assert_two_seconds(&waiting(-1, 2_000_000_000), Graphs::Ros2);
}

#[test]
fn wait_ends_after_the_time_that_was_left() {
    assert_two_seconds(&waiting(2_000_000_000, 3_600_000_000_000), Graphs::Ros2);
}
