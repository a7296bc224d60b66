//! Encoding and decoding of messages.

use std::mem;
use std::sync::{Mutex, PoisonError};

use runnel_core::wire::{self, DecodeError, EncodeError, Encoding, Wire, cdr};

use crate::abi;

/// Memory of the last encoded message, which is used again.
static BUFFER: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// Calls `send` with the encoded value.
pub(crate) fn encoded<T: Wire, R>(
    value: &T,
    encoding: Encoding,
    send: impl FnOnce(&[u8]) -> R,
) -> Result<R, EncodeError> {
    let mut buffer = mem::take(&mut *BUFFER.lock().unwrap_or_else(PoisonError::into_inner));
    buffer.clear();
    let sent = cdr::encode_into(value, encoding, &mut buffer).map(|()| send(&buffer));
    *BUFFER.lock().unwrap_or_else(PoisonError::into_inner) = buffer;
    sent
}

pub(crate) fn decode_into<T: Wire>(
    value: &mut T,
    encoding: Encoding,
    bytes: &[u8],
) -> Result<(), DecodeError> {
    if encoding.is_ros1() { wire::decode_into(value, bytes) } else { cdr::decode_into(value, bytes) }
}

pub(crate) fn decode<T: Wire + Default>(encoding: Encoding, bytes: &[u8]) -> Result<T, DecodeError> {
    let mut value = T::default();
    decode_into(&mut value, encoding, bytes)?;
    Ok(value)
}

/// The number of an encoding at the host.
pub(crate) fn number(encoding: Encoding) -> abi::Encoding {
    if encoding.is_ros1() { abi::Encoding::ROS1 } else { abi::Encoding::CDR }
}
