//! IPC connections: a process between an honest peer and an attacker of the same user, who writes arbitrary records and ring
//! cells, announces arbitrary segments and returns arbitrary slots. The scenario is in `crates/runnel/src/ipc/play.rs`.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| runnel::fuzzing::play_ipc_connection(data));
