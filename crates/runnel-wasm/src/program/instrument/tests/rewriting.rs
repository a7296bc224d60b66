//! What the rewriter adds, and what it leaves.

use super::super::rewriter::rewrite;
use super::super::survey::Survey;
use super::super::validate;
use super::module;
use super::outline::Outline;

fn rewritten(text: &str) -> Outline {
    let module = module(text);
    validate(&module).expect("the module is valid");
    let rewritten =
        rewrite(&module, &Survey::of(&module).expect("it can be checkpointed")).expect("it is rewritten");
    validate(&rewritten).expect("the result is valid");
    Outline::of(&rewritten)
}

#[test]
fn outer_loops_pause_at_their_head() {
    let outline = rewritten(
        "(module (memory 1)
           (func (loop (loop)) (block (if (i32.const 1) (then (loop (if (i32.const 1) (then (loop) (loop))))) (else (loop)))))
           (func (block) (call 0)))",
    );
    let pause = "loop get:0 if call:0 end";
    let first = format!(
        "{pause} loop end end block if {pause} if loop end loop end end end else {pause} end end end end"
    );
    assert_eq!(outline.bodies, [first, "block end call:1 end".to_owned()]);
}

#[test]
fn loop_with_parameters_stays_valid() {
    let text = "(module (memory 1) (func (result i32) (i32.const 5) (loop (param i32) (result i32) (br 0))))";
    assert_eq!(rewritten(text).bodies, ["loop get:0 if call:0 end end end"]);
}

#[test]
fn functions_behind_the_imports_have_a_later_index() {
    let outline = rewritten(
        r#"(module
             (import "host" "first" (func $first)) (import "host" "constant" (global i32)) (import "host" "second" (func $second))
             (memory 1) (table 4 funcref)
             (elem (i32.const 0) func $first $second $inner $outer)
             (func $inner (call $first) (call $second))
             (func $outer (export "_start") (call $inner))
             (export "again" (func $first)))"#,
    );
    assert_eq!(
        outline.imports,
        [
            "function host first",
            "other host constant",
            "function host second",
            "function runnel:checkpoint pause"
        ]
    );
    assert_eq!(outline.bodies, ["call:0 call:1 end", "call:3 end"]);
    assert_eq!(outline.elements, [0, 1, 3, 4]);
    let export = |name: &str| outline.exports.iter().find(|export| export.0 == name).map(|export| export.2);
    assert_eq!((export("_start"), export("again")), (Some(4), Some(0)));
    let names = [(0, "first"), (1, "second"), (3, "inner"), (4, "outer")];
    assert_eq!(outline.names, names.map(|(index, name)| (index, name.to_owned())));
}

#[test]
fn mutable_globals_are_exported_in_their_order() {
    let outline = rewritten(
        r#"(module
             (import "host" "constant" (global i64)) (memory (export "memory") 1)
             (global (mut i32) (i32.const 1)) (global i32 (i32.const 2)) (global $shown (mut f64) (f64.const 3))
             (export "shown" (global $shown)))"#,
    );
    let expected = [
        ("memory", "Memory", 0),
        ("shown", "Global", 3),
        ("runnel:stop", "Global", 4),
        ("runnel:global:0", "Global", 1),
        ("runnel:global:1", "Global", 3),
    ];
    assert_eq!(
        outline.exports,
        expected.map(|(name, kind, index)| (name.to_owned(), kind.to_owned(), index))
    );
}

#[test]
fn memory_may_grow_by_the_buffer() {
    let memory = |limits: &str| rewritten(&format!("(module (memory {limits}))")).memory;
    assert_eq!(memory("2"), Some((2, None)));
    assert_eq!(memory("2 3"), Some((2, Some(35))));
    assert_eq!(memory("2 65530"), Some((2, Some(65536))));
}

#[test]
fn missing_sections_are_added_in_their_order() {
    // Without anything but a memory; with some sections before and after the missing ones.
    for text in [
        "(module (memory 1))",
        "(module (memory 1) (func))",
        "(module (memory 1) (table 1 funcref) (data (i32.const 0) \"x\"))",
        "(module (memory 1) (global i32 (i32.const 1)) (func (param i32)))",
        "(module (import \"host\" \"one\" (global i32)) (memory 1))",
    ] {
        let outline = rewritten(text);
        assert_eq!(
            outline.imports.last().map(String::as_str),
            Some("function runnel:checkpoint pause"),
            "{text}"
        );
        let names: Vec<&str> = outline.exports.iter().map(|export| export.0.as_str()).collect();
        assert_eq!(names, ["runnel:stop", "memory"], "{text}");
    }
}

#[test]
fn custom_sections_stay_that_are_still_true() {
    let outline = rewritten(
        r#"(module
             (@custom "before" (before first) "1") (memory 1) (@custom "producers" "\00") (@custom ".debug_info" "2")
             (@custom "target_features" "\00") (@custom "after" (after last) "3") (func $named))"#,
    );
    assert_eq!(outline.custom, ["before", "producers", "after", "name", "runnel:instrumented"]);
}
