//! What a checkpoint does not hold.

use super::super::instrument;
use super::module;

fn why(text: &str) -> String {
    instrument(&module(text), None).expect_err(text)
}

#[test]
fn instructions_are_refused_with_their_function() {
    let uses = [
        ("table.set", "(table.set 0 (i32.const 0) (table.get 0 (i32.const 1)))", "table.get"),
        ("table.set", "(unreachable) (table.set 0)", "table.set"),
        ("table.grow", "(unreachable) (table.grow 0)", "table.grow"),
        ("table.fill", "(unreachable) (table.fill 0)", "table.fill"),
        ("table.copy", "(table.copy (i32.const 0) (i32.const 1) (i32.const 1))", "table.copy"),
        ("table.init", "(table.init $elements (i32.const 0) (i32.const 0) (i32.const 1))", "table.init"),
        ("elem.drop", "(elem.drop $elements)", "elem.drop"),
        ("data.drop", "(data.drop $bytes)", "data.drop"),
        ("memory.init", "(memory.init $bytes (i32.const 0) (i32.const 0) (i32.const 1))", "memory.init"),
        ("ref.null", "(drop (ref.null func))", "references"),
        ("ref.func", "(drop (ref.func $work))", "references"),
        ("return_call", "(return_call $work)", "tail calls"),
        ("return_call_indirect", "(return_call_indirect (type 0) (i32.const 0))", "tail calls"),
        ("throw", "(throw $thrown)", "exceptions"),
        ("try_table", "(try_table)", "exceptions"),
    ];
    for (name, body, what) in uses {
        let tag = if what == "exceptions" { "(tag $thrown)" } else { "" };
        let text = format!(
            "(module (type (func)) {tag} (memory 1) (table 4 funcref) (elem $elements func $work) (data $bytes \"1\")
               (func) (func $work {body}))"
        );
        let why = why(&text);
        // Exceptions need a section of their own, which comes first.
        let expected =
            if tag.is_empty() { format!("function work uses {what}") } else { format!("uses {what}") };
        assert!(
            why.starts_with(&expected) || why == format!("it {expected}, which a checkpoint does not hold"),
            "{name}: {why}"
        );
    }
}

#[test]
fn function_without_a_name_is_refused_by_its_index() {
    let text =
        "(module (import \"host\" \"one\" (func)) (memory 1) (data \"1\") (func) (func (data.drop 0)))";
    assert_eq!(why(text), "function 2 uses data.drop, which a checkpoint does not hold");
}

#[test]
fn parts_of_modules_are_refused() {
    let parts = [
        ("(memory 1 2 shared)", "its memory is shared"),
        ("(memory i64 1)", "64-bit"),
        ("(memory 1) (memory 1)", "more than one memory"),
        ("(memory 1) (global (mut funcref) (ref.null func))", "its mutable global 0 is a reference"),
        ("(import \"host\" \"one\" (global (mut i32))) (memory 1)", "it imports a mutable global (host one)"),
        ("(import \"host\" \"one\" (memory 1))", "it imports a memory (host one)"),
        ("(import \"host\" \"one\" (table 1 funcref)) (memory 1)", "it imports a table (host one)"),
        ("(import \"host\" \"one\" (tag)) (memory 1)", "it imports an exception (host one)"),
        (
            "(memory 1) (func $refers (local funcref))",
            "function refers has a local variable that is a reference",
        ),
        (
            "(memory 1) (func $refers (param funcref))",
            "function refers has a parameter or a result that is a reference",
        ),
        (
            "(import \"host\" \"one\" (func (result externref))) (memory 1)",
            "it imports a function with references (host one)",
        ),
        ("(memory 1) (func $first) (start $first)", "start function"),
        ("(memory 1) (func (export \"runnel:other\"))", "it exports runnel:other"),
        ("(memory 1) (func (export \"asyncify_get_state\"))", "it exports asyncify_get_state"),
        ("(memory 1) (func (export \"memory\"))", "something else than its memory as \"memory\""),
    ];
    for (part, expected) in parts {
        let why = why(&format!("(module {part})"));
        assert!(why.contains(expected), "{part}: {why}");
    }
}
