//! Requests for checkpoints.

use std::time::Duration;

use runnel_wasm::{Ended, GuestError};

use super::adder::{ADDER, Native, PROBE};
use super::unlimited;
use crate::guests::{TIMEOUT, program, start, start_in};

/// Computes for a second of its clock without a loop, then sleeps.
const BUSY: &str = r#"(module
    (import "runnel:guest/host@0.1.0" "now" (func $now (param i32) (result i64)))
    (import "wasi_snapshot_preview1" "poll_oneoff" (func $poll (param i32 i32 i32 i32) (result i32)))
    (memory (export "memory") 1)
    (func $compute (param $depth i32)
      (if (i32.eqz (local.get $depth)) (then (return)))
      (if (i64.gt_s (call $now (i32.const 1)) (i64.const 1000000000)) (then (return)))
      (call $compute (i32.sub (local.get $depth) (i32.const 1)))
      (call $compute (i32.sub (local.get $depth) (i32.const 1))))
    (func (export "_start")
      (call $compute (i32.const 60))
      (i32.store (i32.const 16) (i32.const 1))
      (i64.store (i32.const 24) (i64.const 60000000000))
      (drop (call $poll (i32.const 0) (i32.const 100) (i32.const 1) (i32.const 200)))))"#;

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
fn suspended_guest_learns_later_that_it_is_to_end() {
    for ends in [false, true] {
        let (native, program) = (Native::new(), program(ADDER));
        let guest = start_in(&program, unlimited(), native.context_of_guest());
        native.wait_for_guest();
        let suspended = guest.control.suspend(TIMEOUT).unwrap();
        guest.control.shutdown();
        assert!(guest.runs(), "it is suspended");
        _ = if ends { suspended.end() } else { suspended.go_on() };
        let expected = if ends { Ended::Stopped } else { Ended::Returned };
        assert_eq!(guest.end().unwrap(), expected);
    }
}

#[test]
fn request_that_is_withdrawn_leaves_no_trace() {
    let guest = start(&program(BUSY), unlimited());
    let withdrawn = guest.control.suspend(Duration::from_millis(100));
    match withdrawn.err() {
        Some(GuestError::Checkpoint { why, .. }) => assert!(why.contains("did not wait"), "{why}"),
        other => panic!("expected that it computes: {other:?}"),
    }
    // The next one is answered as soon as it sleeps.
    guest.control.suspend(TIMEOUT).expect("it is suspended").end();
    assert_eq!(guest.end().unwrap(), Ended::Stopped);
}

#[test]
fn guest_that_has_ended_refuses_requests() {
    let guest =
        start(&program(r#"(module (memory (export "memory") 1) (func (export "_start")))"#), unlimited());
    let control = guest.control.clone();
    assert_eq!(guest.end().unwrap(), Ended::Returned);
    let error = control.suspend(TIMEOUT).err().expect("it is refused").to_string();
    assert!(error.contains("it has ended"), "{error}");
}
