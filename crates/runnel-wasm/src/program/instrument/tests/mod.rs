//! The pass, on modules in text form. `tests/it/instrument` runs what comes out.

mod limits;
mod outline;
mod refusals;
mod rewriting;

use std::path::{Path, PathBuf};

use super::{MARKER, VERSION, instrument, validate};
use crate::program::wasm_opt;

fn module(text: &str) -> Vec<u8> {
    wat::parse_str(text).expect("the text is a module")
}

fn installed_wasm_opt() -> PathBuf {
    wasm_opt::find(None).expect("it can be run").expect("wasm-opt is installed: the package binaryen")
}

/// A module that says that it is instrumented, by a version.
fn marked(text: &str, version: u8) -> Vec<u8> {
    let mut marked = module(text);
    let name_length = u8::try_from(MARKER.len()).expect("a short name");
    marked.extend([0, name_length + 2, name_length]);
    marked.extend(MARKER.as_bytes());
    marked.push(version);
    marked
}

#[test]
fn instrumented_module_is_not_instrumented_again() {
    let once = instrument(
        &module("(module (memory 1) (func (export \"_start\") (loop)))"),
        Some(&installed_wasm_opt()),
    );
    let once = once.expect("it can be checkpointed");
    // Nothing is needed for it.
    assert_eq!(instrument(&once, None), Ok(once));
}

#[test]
fn module_of_another_version_is_refused() {
    let why = instrument(&marked("(module (memory 1))", VERSION + 1), None).unwrap_err();
    assert!(why.contains("instrumented by version 2, and this is 1"), "{why}");
}

#[test]
fn mark_without_its_functions_is_refused() {
    let why = instrument(&marked("(module (memory 1))", VERSION), None).unwrap_err();
    assert!(why.contains("does not export runnel:stop"), "{why}");
}

#[test]
fn programs_other_than_wasm_opt_are_refused() {
    let refused =
        |program: &str| instrument(&module("(module (memory 1))"), Some(Path::new(program))).unwrap_err();
    assert!(refused("/bin/false").contains("/bin/false failed (exit status: 1; "));
    assert!(refused("/bin/false").ends_with("): without a reason"));
    assert!(refused("/bin/true").starts_with("/bin/true: it has written no module"));
    assert!(refused("/nonexistent/wasm-opt").contains("/nonexistent/wasm-opt: "));
}

#[test]
fn wasm_opt_says_why_it_fails() {
    // A block with a parameter, which Binaryen 108 does not know; later versions do.
    let block = "(module (memory 1) (func (export \"_start\") (i32.const 1) (block (param i32) (drop))))";
    if let Err(why) = instrument(&module(block), Some(&installed_wasm_opt())) {
        assert!(why.contains("failed (") && why.contains("input"), "{why}");
    }
}

#[test]
fn missing_wasm_opt_is_named_with_its_package() {
    let why = instrument(&module("(module (memory 1))"), None).unwrap_err();
    assert!(why.contains("wasm-opt") && why.contains("package binaryen"), "{why}");
}

#[test]
fn program_that_is_named_has_to_exist() {
    let why = wasm_opt::find(Some(Path::new("/nonexistent/wasm-opt"))).unwrap_err();
    assert!(why.contains("/nonexistent/wasm-opt") && why.contains("--no-checkpoint"), "{why}");
    assert_eq!(wasm_opt::find(Some(Path::new("sh"))).unwrap().unwrap().file_name(), Some("sh".as_ref()));
}

#[test]
fn module_without_memory_is_refused() {
    assert!(instrument(&module("(module (func))"), None).unwrap_err().contains("no memory"));
}

#[test]
fn module_that_is_not_valid_is_refused() {
    for bytes in [&b""[..], b"\0asm", b"\0asm\x01\0\0\0\x01", b"not a module at all"] {
        assert!(instrument(bytes, None).is_err());
    }
    let mistyped = module("(module (memory 1) (func (result i32) (i64.const 1)))");
    assert!(instrument(&mistyped, None).unwrap_err().contains("type mismatch"));
    assert!(validate(&mistyped).is_err());
}
