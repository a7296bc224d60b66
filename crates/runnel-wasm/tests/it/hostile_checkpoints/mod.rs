//! Checkpoints whose checksum is correct, and whose content is hostile: they are refused, or end the node that is restored
//! from them.

pub mod mutation;

use std::time::Duration;

use mutation::{CheckpointFile, NODE, PLAIN, edit, restore, taken};
use runnel::{Context, ContextOptions, Graphs};
use runnel_wasm::program::Target;
use runnel_wasm::{Checkpoint, Ended, GuestError, Program};

use crate::guests::{TIMEOUT, namespace, program_for};

/// A program that does not end by itself is stopped after this time.
const PATIENCE: Duration = Duration::from_millis(100);

/// How the nodes have ended.
#[derive(Debug, Default)]
struct Ends {
    refused: u32,
    trapped: u32,
    returned: u32,
    /// They did not end by themselves.
    stopped: u32,
}

impl Ends {
    fn count(&mut self, ended: Result<Ended, GuestError>) {
        *match ended {
            Ok(Ended::Returned) => &mut self.returned,
            Ok(Ended::Stopped) | Err(GuestError::Overrun { .. }) => &mut self.stopped,
            Ok(Ended::HandedOver | Ended::NotCome) => panic!("no guest moves here"),
            Err(GuestError::Checkpoint { .. }) => &mut self.refused,
            Err(GuestError::Trap { .. }) => &mut self.trapped,
            Err(other) => panic!("{other}"),
        } += 1;
    }
}

/// Random numbers that are the same in each run: SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }
}

/// A context that is alone.
fn context(namespace: &str) -> Context {
    let options = ContextOptions::default().arguments([format!("__ns:={namespace}")]).graphs(Graphs::Ros2);
    let options = options.signals(false).ipc(false).rosout(false).log_file(false).linger(Duration::ZERO);
    Context::with_options(options).expect("a context")
}

/// A context for a program that is to end when it begins to run.
fn ended_context() -> Context {
    let options =
        ContextOptions::default().arguments([""; 0]).graphs(Graphs::Ros1).signals(false).log_file(false);
    let context = Context::with_options(options).expect("a context");
    context.shutdown();
    context
}

/// Restores a program from checkpoints that are changed at random.
fn ends(program: &Program, original: &CheckpointFile, context: impl Fn() -> Context, count: u64) -> Ends {
    let mut ends = Ends::default();
    for number in 0..count {
        let (mut random, mut changed) = (Random(number << 32), original.clone());
        let edits: Vec<u8> = (0..=random.next() % 3).flat_map(|_| random.next().to_le_bytes()).collect();
        edit(&mut changed, &edits);
        ends.count(restore(program, &changed.write(), &context, PATIENCE));
    }
    ends
}

#[test]
fn changed_checkpoints_are_refused_or_end_their_programs() {
    let program = program_for(Target::interpreter(), PLAIN);
    let original = taken(&program, crate::guests::context(Graphs::Ros1));
    let ended = restore(&program, &original.write(), ended_context, TIMEOUT);
    assert!(matches!(ended, Ok(Ended::Returned)), "{ended:?}");
    let ends = ends(&program, &original, ended_context, 1200);
    let each = [ends.refused, ends.trapped, ends.returned];
    assert!(each.iter().all(|count| *count > 20), "each end is reached: {ends:?}");
}

#[test]
fn arbitrary_bytes_with_a_correct_checksum_are_refused() {
    let program = program_for(Target::interpreter(), PLAIN);
    let original = taken(&program, crate::guests::context(Graphs::Ros1));
    for number in 0..3000 {
        let mut random = Random(number << 32 | 1);
        let length = random.next() % 64;
        let bytes: Vec<u8> = (0..length).flat_map(|_| random.next().to_le_bytes()).collect();
        assert!(Checkpoint::from_bytes(&original.with(&bytes)).is_err(), "{bytes:?}");
    }
}

#[test]
fn changed_checkpoints_are_refused_or_end_their_nodes() {
    let (program, namespace) = (program_for(Target::interpreter(), NODE), namespace());
    let original = taken(&program, context(&namespace));
    let ended = restore(&program, &original.write(), || context(&namespace), TIMEOUT);
    assert!(matches!(ended, Ok(Ended::Returned)), "{ended:?}");
    let ends = ends(&program, &original, || context(&namespace), 250);
    assert!(ends.refused > 10 && ends.returned + ends.stopped > 10, "each end is reached: {ends:?}");
}
