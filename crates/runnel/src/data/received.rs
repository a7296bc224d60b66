//! Received message: its bytes, or the value that subscriptions of one process share.

use std::any::Any;
use std::sync::Arc;

use runnel_core::wire::Bytes;

use crate::frame::Frame;
use crate::ipc::BorrowedSlot;

/// A message that subscriptions of this process take by reference.
pub(crate) type SharedMessage = Arc<dyn Any + Send + Sync>;

/// A message as bytes.
pub(crate) enum Received {
    /// In a buffer of the subscription's pool.
    Own(Vec<u8>),
    /// In memory of another process.
    Borrowed(BorrowedSlot),
    /// In the memory where a publisher of this process wrote it.
    Frame(Frame),
}

impl Received {
    pub(crate) fn bytes(&self) -> Bytes<'_> {
        match self {
            Self::Own(bytes) => bytes.into(),
            Self::Borrowed(lent) => lent.bytes(),
            Self::Frame(frame) => frame.as_ref().into(),
        }
    }

    /// Whether a publisher of this process wrote it.
    pub(crate) fn is_intra_process(&self) -> bool {
        matches!(self, Self::Frame(_))
    }
}

impl Default for Received {
    fn default() -> Self {
        Self::Own(Vec::new())
    }
}
