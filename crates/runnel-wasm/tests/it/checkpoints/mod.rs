//! Guests that go on from a checkpoint: in another context, and in another engine.

pub mod adder;
mod calls;
mod history;
mod loops;
mod parameters;
mod refusals;
mod requests;
mod times;
mod waiting;

use std::time::Duration;

use runnel::Context;
use runnel_wasm::manifest::Limits;
use runnel_wasm::program::Target;
use runnel_wasm::{Checkpoint, Ended, GuestError, Manifest, Program};

use crate::guests::{Running, TIMEOUT, program_for, start_from, start_in};

pub fn unlimited() -> Manifest {
    let limits = Limits { callback: Duration::ZERO, ..Limits::default() };
    Manifest { limits, ..Manifest::allowing_all_names() }
}

/// The same module for both engines of this host.
fn for_both_engines(text: &str) -> [Program; 2] {
    [Target::host(), Target::interpreter()].map(|target| program_for(target, text))
}

fn checkpoint(guest: &Running, ends: bool) -> Checkpoint {
    let suspended = guest.control.suspend(TIMEOUT).expect("it is suspended");
    let taken = if ends { suspended.end() } else { suspended.go_on() };
    // What others get is the content of the file.
    Checkpoint::from_bytes(&taken.to_bytes().expect("it can be written")).expect("it can be read")
}

/// Moves a guest from engine to engine every now and then until it ends.
fn moved_to_its_end(text: &str, pause: Duration, context: impl Fn() -> Context) -> Result<Ended, GuestError> {
    let programs = for_both_engines(text);
    let mut guest = start_in(&programs[0], unlimited(), context());
    for program in programs.iter().cycle().skip(1).take(100) {
        std::thread::sleep(pause);
        let Ok(suspended) = guest.control.suspend(TIMEOUT) else { return guest.end() };
        let taken = suspended.end();
        assert_eq!(guest.end()?, Ended::Stopped);
        guest = start_from(&taken, program, unlimited(), context());
    }
    panic!("it does not come to its end");
}
