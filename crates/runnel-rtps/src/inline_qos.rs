//! What is said about single samples.

use crate::wire::{Guid, ParametersOut, pid};
use alloc::vec::Vec;

/// Disposed of and unregistered. Source: RTPS 2.5, section 9.6.4.9.
const GONE: [u8; 4] = [0, 0, 0, 3];

/// The inline QoS of a sample that says that something is gone.
pub(crate) fn gone(key: Guid) -> Vec<u8> {
    let mut out = Vec::new();
    let mut list = ParametersOut::new(&mut out);
    list.bytes(pid::KEY_HASH, &key.to_bytes());
    list.bytes(pid::STATUS_INFO, &GONE);
    list.end();
    out
}
