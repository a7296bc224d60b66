//! The module in text form.

use std::fmt::Write;

use super::functions::{FUNCTIONS, Function, Kind};
use super::memory::{ARGUMENTS, CALL, CALLS, INPUT, MEMORY, MOST_ENTITIES, PARTS, TEXTS};

/// The module, in text form. It ends at `too_many_entities` if it gets more than `MOST_ENTITIES`.
pub fn module() -> String {
    let mut text = String::from("(module\n");
    for (index, function) in FUNCTIONS.iter().enumerate() {
        let Function { module, name, result, .. } = function;
        let types: Vec<&str> = function.parameters.iter().map(|kind| kind.wasm_type()).collect();
        let types = types.join(" ");
        _ = writeln!(
            text,
            r#"(import "{module}" "{name}" (func $f{index} (param {types}) (result {result})))"#
        );
    }
    for (index, function) in FUNCTIONS.iter().enumerate() {
        let load = |(place, kind): (usize, &Kind)| {
            format!("({}.load offset={} (local.get $at))", kind.wasm_type(), 8 * (place + 1))
        };
        let values: String = function.parameters.iter().enumerate().map(load).collect();
        let call = format!("(call $f{index} {values})");
        let call = match function.name.as_str() {
            name if name.starts_with("create-") => format!("(call $created {call})"),
            "close" => format!("(call $closed {call})"),
            _ if function.result == "i64" => format!("(i32.wrap_i64 {call})"),
            _ => call,
        };
        _ = writeln!(text, "(func $c{index} (param $at i32) (result i32) {call})");
    }
    let table: String = (0..FUNCTIONS.len()).map(|index| format!("$c{index} ")).collect();
    let arguments =
        FUNCTIONS.iter().position(|function| function.name == "arguments").expect("it is declared");
    let texts: String = PARTS.0.iter().map(|byte| format!("\\{byte:02x}")).collect();
    let pages = MEMORY / 0x1_0000;
    _ = write!(
        text,
        r#"(memory (export "memory") {pages})
(data (i32.const {TEXTS}) "{texts}")
(table funcref (elem {table}))
(func $too_many_entities unreachable)
(func $nibble (param $at i32) (result i32) (i32.sub (i32.load8_u (local.get $at)) (i32.const 97)))
(func $decode (local $from i32) (local $to i32)
  (drop (call $f{arguments} (i32.const {ARGUMENTS}) (i32.const 0x10000)))
  (local.set $from (i32.const {ARGUMENTS}))
  (local.set $to (i32.const {INPUT}))
  (loop $next
    (if (i32.load8_u (local.get $from))
      (then
        (i32.store8 (local.get $to)
          (i32.or (i32.shl (call $nibble (local.get $from)) (i32.const 4)) (call $nibble (i32.add (local.get $from) (i32.const 1)))))
        (local.set $from (i32.add (local.get $from) (i32.const 2)))
        (local.set $to (i32.add (local.get $to) (i32.const 1)))
        (br $next)))))
(global $open (mut i32) (i32.const 0))
(func $created (param $handle i32) (result i32)
  (if (i32.gt_s (local.get $handle) (i32.const 0))
    (then (global.set $open (i32.add (global.get $open) (i32.const 1)))))
  (if (i32.gt_s (global.get $open) (i32.const {MOST_ENTITIES})) (then (call $too_many_entities)))
  (local.get $handle))
(func $closed (param $status i32) (result i32)
  (if (i32.eqz (local.get $status)) (then (global.set $open (i32.sub (global.get $open) (i32.const 1)))))
  (local.get $status))
(func (export "_start") (local $at i32)
  (call $decode)
  (local.set $at (i32.const {CALLS}))
  (loop $next
    (if (i32.load offset=4 (local.get $at))
      (then
        (drop (call_indirect (param i32) (result i32) (local.get $at) (i32.load (local.get $at))))
        (local.set $at (i32.add (local.get $at) (i32.const {CALL})))
        (br $next))))))"#
    );
    text
}
