//! Modules that say that they are instrumented for checkpoints, and whose functions do something else.

use std::time::Duration;

use runnel_wasm::manifest::Limits;
use runnel_wasm::{GuestError, Manifest};

use crate::guests::{TIMEOUT, program, start};

/// Pauses until it is to be suspended. The functions for that have these bodies.
fn claiming(stop_unwind: &str, start_rewind: &str) -> String {
    format!(
        r#"(module
        (import "runnel:checkpoint" "pause" (func $pause))
        (memory (export "memory") 1)
        (global (export "runnel:stop") (mut i32) (i32.const 0))
        (global $unwinds (mut i32) (i32.const 0))
        (func (export "asyncify_get_state") (result i32) (i32.const 0))
        (func (export "asyncify_start_unwind") (param i32) (global.set $unwinds (i32.const 1)))
        (func (export "asyncify_stop_unwind") {stop_unwind})
        (func (export "asyncify_start_rewind") (param i32) {start_rewind})
        (func (export "asyncify_stop_rewind"))
        (func (export "_start")
          (loop $again (call $pause) (br_if $again (i32.eqz (global.get $unwinds)))))
        (@custom "runnel:instrumented" "\01"))"#
    )
}

#[test]
fn functions_that_unwind_and_rewind_are_limited_too() {
    let endless = "(loop $again (br $again))";
    for text in [claiming(endless, ""), claiming("", endless)] {
        let limits = Limits { callback: Duration::from_millis(200), ..Limits::default() };
        let guest = start(&program(&text), Manifest { limits, ..Manifest::default() });
        // The first one ends before there is a checkpoint.
        drop(guest.control.suspend(TIMEOUT));
        let ended = guest.end();
        assert!(matches!(ended, Err(GuestError::Overrun { .. })), "{ended:?}");
    }
}
