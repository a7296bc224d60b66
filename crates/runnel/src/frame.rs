//! A message on its way out, with its length before it, wherever its bytes lie.

use std::sync::Arc;

use runnel_core::wire::try_append;
use runnel_io::segment::Slot;

// What the two graphs have in common is of ROS 1, which was here first: how long a message is stands before it, and what
// may wait has a bound.
pub(crate) use runnel_ros1::tcpros::{LENGTH, LengthBeyondLimit, MAX_MESSAGE, QueueBound};

/// See the module's documentation. Cloning it copies no bytes.
#[derive(Clone)]
pub(crate) enum Frame {
    /// In this process's own memory.
    Own(Arc<Vec<u8>>),
    /// In memory that can be lent to other processes.
    Slot(Slot),
}

impl Frame {
    /// The same in this process's own memory, or where it lies if there is no memory for that.
    pub(crate) fn to_own(&self) -> Self {
        let Self::Slot(slot) = self else { return self.clone() };
        let mut bytes = Vec::new();
        match try_append(&mut bytes, slot) {
            Ok(()) => bytes.into(),
            Err(_) => self.clone(),
        }
    }
}

impl AsRef<[u8]> for Frame {
    fn as_ref(&self) -> &[u8] {
        match self {
            Self::Own(bytes) => bytes,
            Self::Slot(slot) => slot,
        }
    }
}

impl From<Vec<u8>> for Frame {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Own(Arc::new(bytes))
    }
}
