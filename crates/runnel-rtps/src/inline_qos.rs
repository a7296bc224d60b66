//! Inline QoS of samples.

use crate::wire::{Guid, ParametersOut, pid};
use alloc::vec::Vec;

/// Status flags: disposed and unregistered. Source: RTPS 2.5, section 9.6.4.9.
const DISPOSED: [u8; 4] = [0, 0, 0, 3];

/// Returns the inline QoS of a sample that disposes of an instance.
pub(crate) fn disposed(key: Guid) -> Vec<u8> {
    let mut out = Vec::new();
    let mut list = ParametersOut::new(&mut out);
    list.bytes(pid::KEY_HASH, &key.to_bytes());
    list.bytes(pid::STATUS_INFO, &DISPOSED);
    list.end();
    out
}
