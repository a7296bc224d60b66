//! XML-RPC responses: a decoded response can be encoded, and is decoded back as equal.
#![no_main]

use libfuzzer_sys::fuzz_target;
use runnel_ros1::xmlrpc::{decode_response, encode_response};

fuzz_target!(|data: &[u8]| {
    let Ok(response) = decode_response(data) else { return };
    let Ok(written) = encode_response(&response) else { return };
    let again = decode_response(&written).expect("written bytes can be read");
    assert_eq!(encode_response(&again), Ok(written));
});
