//! The same-host session: a process between an honest peer and an attacker of the same user, who writes any records and words,
//! announces any segments and gives back any slots. The scene is in `crates/runnel/src/ipc/play.rs`.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| runnel::fuzzing::play_session(data));
