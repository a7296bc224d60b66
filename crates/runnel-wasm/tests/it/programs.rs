//! Files of compiled nodes.

use runnel::{Context, ContextOptions};
use runnel_wasm::program::{CompileOptions, Instrumentation, ModuleHash, Target, compile};
use runnel_wasm::{Guest, GuestError, GuestOptions, Manifest, Program};

use crate::guests::{program, with_main};

fn module() -> Vec<u8> {
    wat::parse_str(r#"(module (memory (export "memory") 1) (func (export "_start")))"#).unwrap()
}

fn compiled(options: &CompileOptions) -> Vec<u8> {
    compile("node.wasm", &module(), options).unwrap().file
}

fn context() -> Context {
    Context::with_options(ContextOptions::default().arguments([""; 0]).signals(false)).unwrap()
}

fn why<T>(refused: Result<T, GuestError>) -> String {
    refused.err().expect("it is refused").to_string()
}

#[test]
fn program_knows_its_module_and_its_manifest() {
    let manifest = "publish = [\"chatter\"]";
    let manifest_only = CompileOptions { manifest: Some(manifest.to_owned()), ..CompileOptions::default() };
    let options = CompileOptions { checkpoint: Instrumentation::Off, ..manifest_only };
    let program = Program::from_bytes("node", &compiled(&options)).unwrap();
    assert_eq!(program.hash(), ModuleHash::of(&module()));
    assert_eq!(program.manifest(), Some(&Manifest::parse(manifest).unwrap()));
}

#[test]
fn program_for_the_interpreter_runs() {
    let options = CompileOptions { target: Target::interpreter(), ..CompileOptions::default() };
    let program = Program::from_bytes("node", &compiled(&options)).unwrap();
    let options = GuestOptions { manifest: Some(Manifest::default()), ..GuestOptions::default() };
    Guest::new(&program, context(), options).unwrap().run().unwrap();
}

#[test]
fn module_that_is_compiled_here_runs() {
    let program = Program::compile_here("node.wasm", &module(), Some("publish = [\"chatter\"]")).unwrap();
    let ahead = Program::from_bytes("node.cwasm", &compiled(&CompileOptions::default())).unwrap();
    assert_eq!((program.name(), program.hash()), ("node.wasm", ahead.hash()), "they exchange checkpoints");
    assert!(program.manifest().is_some_and(|manifest| manifest.publish.allows("chatter")));
    Guest::new(&program, context(), GuestOptions::default()).unwrap().run().unwrap();
    let why = why(Program::compile_here("node.wasm", b"\0asm\x01\0\0\0\x01", None));
    assert!(why.starts_with("node.wasm: "), "{why}");
}

#[test]
fn program_for_another_processor_is_refused() {
    let other = if Target::host() == Target::Aarch64 { Target::X86_64 } else { Target::Aarch64 };
    let options = CompileOptions { target: other, ..CompileOptions::default() };
    let why = why(Program::from_bytes("node", &compiled(&options)));
    assert!(why.contains(&format!("compiled for {other}")) && why.contains("runnel wasm compile"), "{why}");
}

#[test]
fn other_files_are_refused() {
    let whole = compiled(&CompileOptions::default());
    let refused = |bytes: &[u8]| why(Program::from_bytes("node.cwasm", bytes));
    assert!(refused(&module()).contains("not a compiled one. Try: runnel wasm compile"));
    assert!(refused(b"").contains("too short"));
    assert!(refused(&whole[..whole.len() - 1]).contains("its end is missing"));
    let mut later = whole.clone();
    let version = later.len() - 12;
    later[version] = 9;
    assert!(refused(&later).contains("version 9 of the format"));
    let mut damaged = whole.clone();
    let text = damaged.len() - 20;
    damaged[text] = 0xff;
    assert!(refused(&damaged).contains("damaged"));
    let mut long = whole;
    let length = long.len() - 16;
    long[length..length + 4].fill(0xff);
    assert!(refused(&long).contains("damaged"));
}

#[test]
fn module_that_is_not_valid_is_refused_with_its_name() {
    let why = why(compile("node.wasm", b"\0asm\x01\0\0\0\x01", &CompileOptions::default()));
    assert!(why.starts_with("node.wasm: "), "{why}");
}

#[test]
fn manifest_that_is_not_valid_is_refused_when_compiling() {
    let options = CompileOptions { manifest: Some("publish = 1".into()), ..CompileOptions::default() };
    let why = why(compile("node.wasm", &module(), &options));
    assert!(why.contains("manifest") && why.contains("publish"), "{why}");
}

#[test]
fn guest_without_a_manifest_is_refused() {
    let why = why(Guest::new(&with_main(""), context(), GuestOptions::default()));
    assert!(why.contains("no manifest") && why.contains("--manifest"), "{why}");
}

#[test]
fn unknown_import_is_named() {
    let program = program(
        r#"(module (import "env" "abort" (func $abort)) (memory (export "memory") 1) (func (export "_start") (call $abort)))"#,
    );
    let options = GuestOptions { manifest: Some(Manifest::default()), ..GuestOptions::default() };
    let why = why(Guest::new(&program, context(), options));
    assert!(why.contains("env::abort"), "{why}");
}

#[test]
fn program_without_a_main_function_is_refused() {
    let program = program(r#"(module (memory (export "memory") 1))"#);
    let options = GuestOptions { manifest: Some(Manifest::default()), ..GuestOptions::default() };
    let why = why(Guest::new(&program, context(), options).unwrap().run());
    assert!(why.contains("no function _start"), "{why}");
}
