//! Checkpoints with a correct checksum and arbitrary content: they are refused, or end the node that is restored from them.
//! The first byte of an input selects what is arbitrary: changes of a real checkpoint, its state, or the whole file after the
//! hash of the module; and whether the node has entities, or only functions that run.
#![no_main]

use std::sync::LazyLock;
use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use runnel_fuzz_wasm::mutation::{CheckpointFile, edit, restore, taken};
use runnel_fuzz_wasm::{context, ended_context, stay_alone};
use runnel_wasm::Program;

/// A node that waits is stopped after this time.
const PATIENCE: Duration = Duration::from_millis(20);

/// A program, and a checkpoint of it.
struct Original {
    program: Program,
    file: CheckpointFile,
}

impl Original {
    fn new(name: &str, compiled: &[u8]) -> Self {
        let program = Program::from_bytes(name, compiled).expect("it loads");
        let file = taken(&program, context());
        Self { program, file }
    }
}

static NODE: LazyLock<Original> =
    LazyLock::new(|| Original::new("node", include_bytes!(concat!(env!("OUT_DIR"), "/node.cwasm"))));
static PLAIN: LazyLock<Original> =
    LazyLock::new(|| Original::new("plain", include_bytes!(concat!(env!("OUT_DIR"), "/plain.cwasm"))));

fn content(original: &CheckpointFile, choice: u8, data: &[u8]) -> Vec<u8> {
    let mut file = original.clone();
    match choice % 4 {
        0 | 1 => edit(&mut file, data),
        2 => file.state = data.to_vec(),
        _ => return file.with(data),
    }
    file.write()
}

fuzz_target!(init: stay_alone(), |data: &[u8]| {
    let Some((choice, data)) = data.split_first() else { return };
    // How it ends does not matter.
    if choice & 4 == 0 {
        drop(restore(&NODE.program, &content(&NODE.file, *choice, data), context, PATIENCE));
    } else {
        drop(restore(&PLAIN.program, &content(&PLAIN.file, *choice, data), ended_context, PATIENCE));
    }
});
