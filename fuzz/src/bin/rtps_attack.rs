//! Two participants and an attacker in the virtual network: live links deliver again soon after the attacker stops. The test
//! `cargo test -p runnel-rtps attacks::` runs the same scenario with seeds, and documents the input.
#![no_main]

#[allow(unused_imports, dead_code, reason = "the tests also generate inputs and run other attacks")]
#[path = "../../../crates/runnel-rtps/tests/it/attack/mod.rs"]
mod attack;
#[path = "../../../crates/runnel-rtps/tests/net/mod.rs"]
mod net;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Err(reason) = attack::play(data, |attack| attack::SURVIVED.contains(&attack)) {
        panic!("{reason}");
    }
});
