//! A message at a subscription: its bytes, or the value that subscriptions of one process share.

use std::any::Any;
use std::ops::Deref;
use std::sync::Arc;

use crate::frame::{Frame, LENGTH};
use crate::ipc::Lent;

/// A message that subscribers of this process take by reference.
pub(crate) type SharedMessage = Arc<dyn Any + Send + Sync>;

/// A message as its bytes.
pub(crate) enum Received {
    /// In memory of the subscription's, which is used again.
    Own(Vec<u8>),
    /// In memory of another process.
    Lent(Lent),
    /// Where a publisher of this process wrote it, with its length before it.
    Frame(Frame),
}

impl Deref for Received {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        match self {
            Self::Own(bytes) => bytes,
            Self::Lent(lent) => lent,
            Self::Frame(frame) => frame.as_ref().get(LENGTH..).unwrap_or(&[]),
        }
    }
}

impl Default for Received {
    fn default() -> Self {
        Self::Own(Vec::new())
    }
}
