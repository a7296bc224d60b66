//! Checkpoints that are hostile although their checksum is correct, and the node that is restored from them. The tests and
//! the fuzz targets (`fuzz/wasm`) have them in common.

mod edits;
mod file;
mod stopper;

use std::thread;
use std::time::Duration;

pub use edits::edit;
pub use file::CheckpointFile;
use runnel::Context;
use runnel_wasm::manifest::Limits;
use runnel_wasm::{Checkpoint, Ended, Guest, GuestError, GuestOptions, Manifest, Program};
pub use stopper::run;

/// A node, as text: it has an entity of each kind, and waits for the response to a call in nested functions. A restored one
/// gets an error as the response, and ends.
pub const NODE: &str = include_str!("node.wat");

/// A program, as text: it has no entities, and waits for the end in nested functions with variables of each type.
pub const PLAIN: &str = include_str!("plain.wat");

/// Small, so that checkpoints reach them.
const LIMITS: Limits =
    Limits { memory: 4 << 16, queue: 16 << 10, entities: 16, callback: Duration::from_millis(100), cpu: 1.0 };

/// How long a program may take until it can be suspended.
const TIMEOUT: Duration = Duration::from_secs(60);

fn options() -> GuestOptions {
    let manifest = Some(Manifest { limits: LIMITS, ..Manifest::allowing_all_names() });
    GuestOptions { manifest, arguments: vec!["node".to_owned()], ..GuestOptions::default() }
}

/// A checkpoint of a program that waits.
pub fn taken(program: &Program, context: Context) -> CheckpointFile {
    let guest = Guest::new(program, context, options()).expect("it can be run");
    let control = guest.control();
    let running = thread::spawn(|| guest.run());
    let taken = control.suspend(TIMEOUT).expect("it is suspended").end();
    assert!(matches!(running.join(), Ok(Ok(Ended::Stopped))));
    CheckpointFile::read(&taken.to_bytes().expect("it can be written"))
}

/// Restores a program from a file, and runs it until it ends or is stopped after a time.
pub fn restore(
    program: &Program,
    file: &[u8],
    context: impl FnOnce() -> Context,
    patience: Duration,
) -> Result<Ended, GuestError> {
    let refused = |why| GuestError::Checkpoint { name: "the file".to_owned(), why };
    let checkpoint = Checkpoint::from_bytes(file).map_err(refused)?;
    run(Guest::restore(program, checkpoint, context(), options())?, patience)
}
