//! Guests that compute, and that use all memory.

use std::time::Duration;

use runnel::Graphs;
use runnel_wasm::{Ended, GuestError};

use super::{for_both_engines, unlimited};
use crate::guests::{TIMEOUT, context, start, start_from};

/// Counts the primes below a number by a loop that calls a function, and no function of the host. It ends with their count,
/// modulo 100, as its exit status.
pub const PRIMES: &str = r#"(module
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
