//! Calls and goals of a guest that have no answer at a checkpoint.

use runnel::Graphs;
use runnel_wasm::{Ended, GuestError};

use super::{checkpoint, for_both_engines, unlimited};
use crate::guests::{context_in, namespace, start_from, start_in};

/// Calls a service that nobody serves, and sends a goal to itself, which it does not answer. It ends with the sum of the
/// statuses of both answers, negated, as its exit status.
const CALLER: &str = r#"(module
    (import "runnel:guest/host@0.1.0" "wait" (func $wait (param i64 i32 i32 i32) (result i32)))
    (import "runnel:guest/host@0.1.0" "create-node" (func $node (param i32 i32) (result i32)))
    (import "runnel:guest/host@0.1.0" "define-type" (func $define_type (param i32 i32 i32 i32) (result i32)))
    (import "runnel:guest/host@0.1.0" "create-client" (func $client (param i32 i32 i32 i32 i32 i32) (result i32)))
    (import "runnel:guest/host@0.1.0" "call" (func $call (param i32 i32 i32 i64 i32) (result i32)))
    (import "runnel:guest/host@0.1.0" "create-action-client"
      (func $action_client (param i32 i32 i32 i32 i32 i32) (result i32)))
    (import "runnel:guest/host@0.1.0" "create-action-server"
      (func $action_server (param i32 i32 i32 i32 i32 i32) (result i32)))
    (import "runnel:guest/host@0.1.0" "send-goal" (func $send_goal (param i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
    (memory (export "memory") 1)
    (data (i32.const 5000) "caller")
    (data (i32.const 5040) "nobody")
    (data (i32.const 5050) "std_srvs/SetBool")
    (data (i32.const 5070) "action")
    (data (i32.const 5080) "my_msgs/action/Own")
    (data (i32.const 5100) "int8 a\n---\nint8 b\n---\nint8 c")
    ;; A request, and a goal.
    (data (i32.const 6000) "\00\01\00\00\01")
    (func $done (param $result i32) (if (i32.lt_s (local.get $result) (i32.const 0)) (then (unreachable))))
    (func $request (local $node i32)
      (call $done (call $define_type (i32.const 5080) (i32.const 18) (i32.const 5100) (i32.const 28)))
      (local.set $node (call $node (i32.const 5000) (i32.const 6)))
      (call $done (call $action_server (local.get $node) (i32.const 5070) (i32.const 6)
        (i32.const 5080) (i32.const 18) (i32.const 1)))
      (call $done (call $call
        (call $client (local.get $node) (i32.const 5040) (i32.const 6) (i32.const 5050) (i32.const 16) (i32.const 1))
        (i32.const 6000) (i32.const 5) (i64.const 0) (i32.const 1024)))
      (call $done (call $send_goal
        (call $action_client (local.get $node) (i32.const 5070) (i32.const 6) (i32.const 5080) (i32.const 18) (i32.const 1))
        (i32.const 6000) (i32.const 5) (i32.const 1024))))
    (func $main (export "_start") (local $answers i32) (local $sum i32)
      (call $request)
      (loop $next
        (drop (call $wait (i64.const -1) (i32.const 0) (i32.const 1024) (i32.const 256)))
        (if (i32.or (i32.eq (i32.load (i32.const 0)) (i32.const 4)) (i32.eq (i32.load (i32.const 0)) (i32.const 8)))
          (then
            (local.set $answers (i32.add (local.get $answers) (i32.const 1)))
            (local.set $sum (i32.sub (local.get $sum) (i32.load (i32.const 56))))))
        (br_if $next (i32.lt_s (local.get $answers) (i32.const 2))))
      (call $exit (local.get $sum))))"#;

/// The number of the error `unavailable` is -7.
const BOTH_UNAVAILABLE: i32 = 14;

#[test]
fn calls_and_goals_without_an_answer_fail() {
    let (namespace, programs) = (namespace(), for_both_engines(CALLER));
    let context = || context_in(Graphs::Ros2, &namespace);
    let guest = start_in(&programs[0], unlimited(), context());
    let taken = checkpoint(&guest, true);
    assert_eq!(guest.end().unwrap(), Ended::Stopped);
    let ended = start_from(&taken, &programs[1], unlimited(), context()).end();
    assert!(matches!(ended, Err(GuestError::Exit(BOTH_UNAVAILABLE))), "{ended:?}");
}
