//! A serialized message on its way out, wherever its bytes lie. What a transport puts before it is that transport's.

use std::sync::Arc;

use runnel_core::wire::try_append;
use runnel_io::segment::Slot;

// The bounds of ROS 1 hold for both graphs.
pub(crate) use runnel_ros1::tcpros::{LengthBeyondLimit, MAX_MESSAGE, QueueBound};

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
