//! The modules of `guests/hostile`: each says what it does, and how it ends.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use runnel::{Context, ContextOptions, Graphs};
use runnel_wasm::manifest::Limits;
use runnel_wasm::program::{CompileOptions, Instrumentation, compile};
use runnel_wasm::{Ended, Guest, GuestError, GuestOptions, Manifest, Program};

use crate::guests::start_in;

/// How a module ends.
#[derive(Debug, PartialEq, Eq)]
enum Ends {
    /// Everything is refused, and it returns.
    Well,
    /// By a trap whose text has this.
    ByTrap(&'static str),
    /// It is not started.
    NotStarted,
}

const MODULES: [(&str, Ends); 11] = [
    ("indirect_call", Ends::ByTrap("function pointer")),
    ("largest_message", Ends::Well),
    ("malformed_message", Ends::Well),
    ("memory_growth", Ends::Well),
    ("too_many_entities", Ends::Well),
    ("unknown_import", Ends::NotStarted),
    ("wrong_descriptors", Ends::Well),
    ("wrong_handles", Ends::Well),
    ("wrong_length", Ends::ByTrap("memory")),
    ("wrong_record_pointer", Ends::ByTrap("memory")),
    ("wrong_text_pointer", Ends::ByTrap("memory")),
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../guests/hostile")
}

fn manifest() -> Manifest {
    let limits =
        Limits { memory: 64 << 20, entities: 50, callback: Duration::from_secs(30), ..Limits::default() };
    Manifest { limits, ..Manifest::allowing_all_names() }
}

fn context() -> Context {
    let options = ContextOptions::default().arguments([""; 0]).signals(false).graphs(Graphs::Ros2);
    Context::with_options(options).expect("a context")
}

fn program(name: &str) -> Program {
    let text = fs::read_to_string(folder().join(format!("{name}.wat"))).expect("the module is there");
    let module = wat::parse_str(&text).expect("the text is a module");
    // wasm-opt would replace what it knows to trap.
    let options = CompileOptions { checkpoint: Instrumentation::Off, ..CompileOptions::default() };
    let compiled = compile(name, &module, &options).expect("it compiles");
    Program::from_bytes(name, &compiled.file).expect("it loads")
}

/// Runs a module to its end.
fn run(name: &str) -> Result<Ended, GuestError> {
    start_in(&program(name), manifest(), context()).end()
}

fn check(name: &str, ends: &Ends) {
    match ends {
        Ends::Well => match run(name) {
            Ok(Ended::Returned) => {}
            other => panic!("{name}: expected that it returns: {other:?}"),
        },
        Ends::ByTrap(text) => match run(name) {
            Err(GuestError::Trap { what, .. }) => assert!(what.contains(text), "{name}: {what}"),
            other => panic!("{name}: expected a trap: {other:?}"),
        },
        Ends::NotStarted => {
            let options = GuestOptions { manifest: Some(manifest()), ..GuestOptions::default() };
            match Guest::new(&program(name), context(), options).err() {
                Some(GuestError::Program { why, .. }) => {
                    assert!(why.contains("open-socket"), "{name}: {why}")
                }
                other => panic!("{name}: expected that it is not started: {other:?}"),
            }
        }
    }
}

#[test]
fn hostile_modules_end_as_they_say() {
    MODULES.iter().for_each(|(name, ends)| check(name, ends));
}

#[test]
fn every_hostile_module_is_tested() {
    let files = fs::read_dir(folder()).expect("the folder is there");
    let mut names: Vec<String> = files
        .map(|file| {
            file.expect("an entry").path().file_stem().unwrap_or_default().to_string_lossy().into_owned()
        })
        .collect();
    names.sort();
    assert_eq!(names, MODULES.each_ref().map(|(name, _)| *name));
}
