//! XML-RPC calls: a decoded call can be encoded, and is decoded back as equal.
#![no_main]

use libfuzzer_sys::fuzz_target;
use runnel_ros1::xmlrpc::{decode_call, encode_call};

fuzz_target!(|data: &[u8]| {
    let Ok(call) = decode_call(data) else { return };
    let Ok(written) = encode_call(&call.method, &call.params) else { return };
    let again = decode_call(&written).expect("written bytes can be read");
    // Compares bytes, since a NaN is not equal to itself.
    assert_eq!(encode_call(&again.method, &again.params), Ok(written));
});
