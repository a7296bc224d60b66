//! A message on its way out, with its length before it, wherever its bytes lie.

use std::sync::Arc;

use runnel_io::segment::Slot;

/// See the module's documentation. Cloning it copies no bytes.
#[derive(Clone)]
pub(crate) enum Frame {
    /// In this process's own memory.
    Own(Arc<Vec<u8>>),
    /// In memory that can be lent to other processes.
    Slot(Slot),
}

impl Frame {
    /// The same in this process's own memory.
    pub(crate) fn to_own(&self) -> Self {
        match self {
            Self::Own(bytes) => Self::Own(Arc::clone(bytes)),
            Self::Slot(slot) => Self::Own(Arc::new(slot.to_vec())),
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
