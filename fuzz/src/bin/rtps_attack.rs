//! Two participants and an attacker in the virtual network: live links deliver again soon after the attacker stops. The same
//! is tried with seeds by `cargo test -p runnel-rtps attacks::`, which shares this scene and says what an input means.
#![no_main]

#[allow(unused_imports, dead_code, reason = "the tests also make inputs and play other attacks")]
#[path = "../../../crates/runnel-rtps/tests/it/attack/mod.rs"]
mod attack;
#[path = "../../../crates/runnel-rtps/tests/net/mod.rs"]
mod net;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Err(why) = attack::play(data, |attack| attack::SURVIVED.contains(&attack)) {
        panic!("{why}");
    }
});
