//! Checkpoints that are refused.

use runnel::Graphs;
use runnel_wasm::{Checkpoint, Ended, Guest, GuestOptions, Manifest, Program};

use super::adder::ADDER;
use super::loops::PRIMES;
use super::{checkpoint, unlimited};
use crate::guests::{context, program, start_from, start_in};

/// A checkpoint of the adder.
fn taken() -> (Checkpoint, Program) {
    let program = program(ADDER);
    let guest = start_in(&program, unlimited(), context(Graphs::Ros2));
    let taken = checkpoint(&guest, true);
    assert_eq!(guest.end().unwrap(), Ended::Stopped);
    (taken, program)
}

#[test]
fn checkpoint_of_another_module_is_refused() {
    let (taken, _) = taken();
    let other = program(PRIMES);
    let restored = Guest::restore(&other, taken, context(Graphs::Ros2), GuestOptions::default());
    let error = restored.err().expect("it is refused").to_string();
    assert!(error.contains("the checkpoint is of a node of module"), "{error}");
}

#[test]
fn manifest_of_the_restoring_host_applies() {
    let (taken, program) = taken();
    let manifest = Manifest::parse("nodes = [\"adder\"]\npublish = [\"sum\"]").unwrap();
    let error = start_from(&taken, &program, manifest, context(Graphs::Ros2)).end().unwrap_err().to_string();
    assert!(error.contains("its entity 3: the manifest does not allow number"), "{error}");
}

#[test]
fn damaged_checkpoint_is_refused() {
    let (taken, _) = taken();
    let bytes = taken.to_bytes().unwrap();
    assert!(bytes.len() < 8192, "zero pages are left out: {} bytes", bytes.len());
    for place in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[place] ^= 1 << (place % 8);
        assert!(Checkpoint::from_bytes(&damaged).is_err(), "byte {place} is not checked");
        assert!(Checkpoint::from_bytes(&bytes[..place]).is_err(), "{place} bytes are accepted");
    }
}
