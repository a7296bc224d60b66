//! What guests do wrong ends only themselves, with an error that says what it was.

use std::time::Duration;

use runnel_wasm::manifest::Limits;
use runnel_wasm::{Ended, GuestError, Manifest};

use crate::guests::{main_with, program, run, start, with_main};

fn with_limits(limits: Limits) -> Manifest {
    Manifest { limits, ..Manifest::allowing_all_names() }
}

fn trap(ended: Result<Ended, GuestError>) -> (String, Vec<String>) {
    match ended {
        Err(GuestError::Trap { what, backtrace }) => (what, backtrace),
        other => panic!("expected a trap: {other:?}"),
    }
}

#[test]
fn endless_loop_is_ended_with_its_functions() {
    let program = program(
        r#"(module
            (memory (export "memory") 1)
            (func $spin (loop $again (br $again)))
            (func $main (export "_start") (call $spin)))"#,
    );
    let limits = Limits { callback: Duration::from_millis(200), ..Limits::default() };
    match run(&program, with_limits(limits)) {
        Err(GuestError::Overrun { limit, backtrace }) => {
            assert_eq!(
                (limit, &backtrace[..]),
                (limits.callback, &["spin".to_owned(), "main".to_owned()][..])
            );
        }
        other => panic!("expected an overrun: {other:?}"),
    }
}

#[test]
fn endless_loop_is_stopped_from_outside() {
    let program = with_main("(loop $again (br $again))");
    let guest = start(&program, with_limits(Limits { callback: Duration::ZERO, ..Limits::default() }));
    guest.control.stop();
    assert_eq!(guest.end().unwrap(), Ended::Stopped);
}

#[test]
fn waiting_guest_is_stopped_from_outside() {
    let program = with_main("(drop (call $wait (i64.const -1) (i32.const 0) (i32.const 64) (i32.const 0)))");
    let guest = start(&program, Manifest::default());
    guest.control.stop();
    assert_eq!(guest.end().unwrap(), Ended::Stopped);
}

#[test]
fn one_guest_that_is_stopped_leaves_another_running() {
    let looping = with_main("(loop $again (br $again))");
    let limits = Limits { callback: Duration::ZERO, ..Limits::default() };
    let (first, second) = (start(&looping, with_limits(limits)), start(&looping, with_limits(limits)));
    first.control.stop();
    assert_eq!(first.end().unwrap(), Ended::Stopped);
    assert!(second.runs());
    second.control.stop();
    assert_eq!(second.end().unwrap(), Ended::Stopped);
}

#[test]
fn endless_recursion_is_a_trap() {
    let program = program(
        r#"(module
            (memory (export "memory") 1)
            (func $deeper (param i32) (result i32) (i32.add (i32.const 1) (call $deeper (local.get 0))))
            (func $main (export "_start") (drop (call $deeper (i32.const 1)))))"#,
    );
    let (what, backtrace) = trap(run(&program, Manifest::default()));
    assert!(what.contains("endless recursion"), "{what}");
    assert_eq!(backtrace.first().map(String::as_str), Some("deeper"));
}

#[test]
fn memory_grows_up_to_its_limit() {
    // 16 pages are 1 MiB: a guest that has one page may have 15 more, and not 16.
    let grows = |pages: i32, expected: i32| {
        with_main(&format!(
            "(if (i32.ne (memory.grow (i32.const {pages})) (i32.const {expected})) (then (unreachable)))"
        ))
    };
    let manifest = || with_limits(Limits { memory: 1 << 20, ..Limits::default() });
    assert_eq!(run(&grows(15, 1), manifest()).unwrap(), Ended::Returned);
    assert_eq!(run(&grows(16, -1), manifest()).unwrap(), Ended::Returned);
    assert_eq!(run(&grows(65535, -1), manifest()).unwrap(), Ended::Returned);
    // The host adds 32 pages to a node that can be checkpointed.
    let fills = "(if (i32.ne (memory.grow (i32.const 15)) (i32.const 33)) (then (unreachable)))
        (if (i32.ne (memory.grow (i32.const 1)) (i32.const -1)) (then (unreachable)))";
    assert_eq!(run(&program(&main_with(fills)), manifest()).unwrap(), Ended::Returned);
}

#[test]
fn handle_that_does_not_exist_is_an_error_with_a_text() {
    for handle in [0, 1, -1, i32::MAX] {
        // The text is "handle 4294967295 is of no publisher": it begins with an h.
        let program = with_main(&format!(
            "(if (i32.ne (call $publish (i32.const {handle}) (i32.const 0) (i32.const 4)) (i32.const -1))
               (then (unreachable)))
             (if (i32.lt_s (call $last_error (i32.const 0) (i32.const 100)) (i32.const 20)) (then (unreachable)))
             (if (i32.ne (i32.load8_u (i32.const 0)) (i32.const 104)) (then (unreachable)))
             (if (i32.ne (call $close (i32.const {handle})) (i32.const -1)) (then (unreachable)))"
        ));
        assert_eq!(run(&program, Manifest::default()).unwrap(), Ended::Returned, "{handle}");
    }
}

#[test]
fn address_outside_of_the_memory_is_a_trap() {
    for (address, length) in [(65536, 1), (65535, 2), (-1, 1), (0, 65537), (1, -1)] {
        let body = format!("(drop (call $publish (i32.const 1) (i32.const {address}) (i32.const {length})))");
        let (what, backtrace) = trap(run(&with_main(&body), Manifest::default()));
        assert!(what.contains("outside of its memory of 65536 bytes"), "{what}");
        assert_eq!(backtrace, ["main"]);
    }
    let body = "(drop (call $wait (i64.const 0) (i32.const 65500) (i32.const 0) (i32.const 0)))";
    let (what, _) = trap(run(&with_main(body), Manifest::default()));
    assert!(what.contains("64 bytes at address 65500"), "{what}");
}

#[test]
fn capacity_beyond_the_memory_harms_nobody() {
    let body = "(drop (call $wait (i64.const 0) (i32.const 0) (i32.const 64) (i32.const -1)))";
    assert_eq!(run(&with_main(body), Manifest::default()).unwrap(), Ended::Returned);
}

#[test]
fn exit_status_is_reported() {
    assert_eq!(run(&with_main("(call $exit (i32.const 0))"), Manifest::default()).unwrap(), Ended::Returned);
    let ended = run(&with_main("(call $exit (i32.const 3))"), Manifest::default());
    assert!(matches!(ended, Err(GuestError::Exit(3))), "{ended:?}");
}

#[test]
fn guest_gets_one_event_before_it_is_to_end() {
    // Loops until `wait` gives the event `shutdown` (10); the next one is refused with -10.
    let body = "(loop $again
        (drop (call $wait (i64.const -1) (i32.const 0) (i32.const 64) (i32.const 0)))
        (br_if $again (i32.ne (i32.load (i32.const 0)) (i32.const 10))))
      (if (i32.ne (call $wait (i64.const -1) (i32.const 0) (i32.const 64) (i32.const 0)) (i32.const -10))
        (then (unreachable)))";
    let guest = start(&with_main(body), Manifest::default());
    guest.control.shutdown();
    assert_eq!(guest.end().unwrap(), Ended::Returned);
}

#[test]
fn wait_with_a_timeout_returns_no_event() {
    let body = "(if (call $wait (i64.const 1000000) (i32.const 0) (i32.const 64) (i32.const 0)) (then (unreachable)))
      (if (i32.load (i32.const 0)) (then (unreachable)))";
    assert_eq!(run(&with_main(body), Manifest::default()).unwrap(), Ended::Returned);
}

#[test]
fn functions_that_run_before_main_are_limited_too() {
    let program = program(
        r#"(module
            (memory (export "memory") 1)
            (func $first (loop $again (br $again)))
            (start $first)
            (func (export "_start")))"#,
    );
    let limits = Limits { callback: Duration::from_millis(200), ..Limits::default() };
    let ended = run(&program, with_limits(limits));
    assert!(matches!(ended, Err(GuestError::Overrun { .. })), "{ended:?}");
    let guest = start(&program, with_limits(Limits { callback: Duration::ZERO, ..Limits::default() }));
    guest.control.stop();
    assert_eq!(guest.end().unwrap(), Ended::Stopped);
}

#[test]
fn guest_that_does_not_end_when_it_is_to_is_ended() {
    let body = "(loop $again
        (drop (call $wait (i64.const -1) (i32.const 0) (i32.const 64) (i32.const 0)))
        (br $again))";
    let guest = start(&with_main(body), Manifest::default());
    guest.control.shutdown();
    assert_eq!(guest.end().unwrap(), Ended::Stopped);
}

#[test]
fn nodes_have_the_names_that_the_manifest_allows() {
    // -3 is not-allowed, -2 invalid.
    for (name, manifest, expected) in
        [("other", "nodes = [\"own\"]", -3), ("/robot/own", "nodes = [\"*\"]", -2), ("own", "", -3)]
    {
        let program = program(&format!(
            r#"(module
            (import "runnel:guest/host@0.1.0" "create-node" (func $node (param i32 i32) (result i32)))
            (memory (export "memory") 1)
            (data (i32.const 0) "{name}")
            (func (export "_start")
              (if (i32.ne (call $node (i32.const 0) (i32.const {})) (i32.const {expected})) (then (unreachable)))))"#,
            name.len()
        ));
        let manifest = Manifest::parse(manifest).unwrap();
        assert_eq!(run(&program, manifest).unwrap(), Ended::Returned, "{name}");
    }
}

#[test]
fn tables_are_limited() {
    let program = program(
        r#"(module (table (export "table") 70000 funcref) (memory (export "memory") 1) (func (export "_start")))"#,
    );
    assert!(run(&program, Manifest::default()).is_err());
}
