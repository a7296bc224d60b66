//! Serialized message for sending: its encoding and its bytes, in any memory. It belongs to neither generation: each
//! transport adds its own framing.

use std::sync::Arc;

use runnel_core::wire::{Encoding, try_append};
use runnel_io::segment::Slot;

pub(crate) use runnel_core::bounds::{LengthBeyondLimit, MAX_MESSAGE, QueueBound};

/// See the module's documentation. Cloning it copies no bytes.
#[derive(Clone)]
pub(crate) struct Frame {
    encoding: Encoding,
    payload: Payload,
}

/// The bytes of a message; in ROS 2 with the encapsulation header. Cloning it copies none.
#[derive(Clone)]
pub(crate) enum Payload {
    /// In this process's own memory.
    Own(Arc<Vec<u8>>),
    /// In a slot that can be lent to other processes.
    Slot(Slot),
}

impl Frame {
    pub(crate) fn new(encoding: Encoding, payload: impl Into<Payload>) -> Self {
        Self { encoding, payload: payload.into() }
    }

    pub(crate) fn encoding(&self) -> Encoding {
        self.encoding
    }

    pub(crate) fn payload(&self) -> &Payload {
        &self.payload
    }

    pub(crate) fn into_payload(self) -> Payload {
        self.payload
    }

    /// The same message, whose bytes were copied to `payload`.
    pub(crate) fn copied_to(&self, payload: impl Into<Payload>) -> Self {
        Self::new(self.encoding, payload)
    }

    /// The message in this process's own memory, or unchanged if there is no memory for that.
    pub(crate) fn to_own(&self) -> Self {
        self.copied_to(self.payload.to_own())
    }
}

impl AsRef<[u8]> for Frame {
    fn as_ref(&self) -> &[u8] {
        self.payload.as_ref()
    }
}

impl Payload {
    /// The bytes in this process's own memory, or unchanged if there is no memory for that.
    pub(crate) fn to_own(&self) -> Self {
        let Self::Slot(slot) = self else { return self.clone() };
        let mut bytes = Vec::new();
        match try_append(&mut bytes, slot) {
            Ok(()) => bytes.into(),
            Err(_) => self.clone(),
        }
    }
}

impl AsRef<[u8]> for Payload {
    fn as_ref(&self) -> &[u8] {
        match self {
            Self::Own(bytes) => bytes,
            Self::Slot(slot) => slot,
        }
    }
}

impl From<Arc<Vec<u8>>> for Payload {
    fn from(bytes: Arc<Vec<u8>>) -> Self {
        Self::Own(bytes)
    }
}

impl From<Vec<u8>> for Payload {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Own(Arc::new(bytes))
    }
}

impl From<Slot> for Payload {
    fn from(slot: Slot) -> Self {
        Self::Slot(slot)
    }
}
