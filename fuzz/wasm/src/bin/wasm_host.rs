//! A node in WebAssembly that calls its host's functions with arbitrary handles, pointers and lengths. It ends by itself, by a
//! trap that names what it did, or when it is stopped, and never has more entities than its manifest allows.
#![no_main]

use std::sync::LazyLock;
use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use runnel_fuzz_wasm::guest_calls::{self, MOST_ENTITIES};
use runnel_fuzz_wasm::{context, mutation, stay_alone};
use runnel_wasm::manifest::Limits;
use runnel_wasm::{Guest, GuestError, GuestOptions, Manifest, Program};

/// Small, so that inputs reach them.
const LIMITS: Limits = Limits {
    memory: 0x2_0000,
    queue: 4096,
    entities: MOST_ENTITIES,
    callback: Duration::from_secs(1),
    cpu: 1.0,
};

/// A node that sleeps is stopped after this time.
const PATIENCE: Duration = Duration::from_millis(200);

static PROGRAM: LazyLock<Program> = LazyLock::new(|| {
    let compiled = include_bytes!(concat!(env!("OUT_DIR"), "/wasm_host.cwasm"));
    Program::from_bytes("wasm_host", compiled).expect("it loads")
});

fn run(data: &[u8]) {
    let options = GuestOptions {
        manifest: Some(Manifest { limits: LIMITS, ..Manifest::allowing_all_names() }),
        arguments: vec![guest_calls::argument(data)],
        ..GuestOptions::default()
    };
    let guest = Guest::new(&PROGRAM, context(), options).expect("the host has all functions");
    match mutation::run(guest, PATIENCE) {
        Err(GuestError::Trap { what, backtrace }) => {
            let limit = |function: &String| function == "too_many_entities";
            assert!(!backtrace.iter().any(limit), "it has more entities than it may have");
            // The host writes where the node says, also over its calls.
            let ends = ["outside of its memory", "function pointer", "is no clock"];
            assert!(ends.iter().any(|end| what.contains(end)), "{what}: {backtrace:?}");
        }
        Err(GuestError::Overrun { .. }) | Ok(_) => {}
        Err(other) => panic!("{other}"),
    }
}

fuzz_target!(init: stay_alone(), |data: &[u8]| run(data));
