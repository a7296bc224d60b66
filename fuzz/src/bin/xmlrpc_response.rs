//! Answers as peers send them: what is read can be written, and reads the same again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use runnel_ros1::xmlrpc::{decode_response, encode_response};

fuzz_target!(|data: &[u8]| {
    let Ok(answer) = decode_response(data) else { return };
    let Ok(written) = encode_response(&answer) else { return };
    let again = decode_response(&written).expect("what was written can be read");
    assert_eq!(encode_response(&again), Ok(written));
});
