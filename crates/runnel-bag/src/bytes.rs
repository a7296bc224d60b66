//! Bytes of one message, which share the memory of their chunk.

use std::fmt;
use std::ops::{Deref, Range};
use std::sync::Arc;

/// Serialized bytes of a message. A clone shares them; the whole chunk stays in memory while one of its messages does.
#[derive(Clone)]
pub struct Bytes {
    chunk: Arc<Vec<u8>>,
    start: usize,
    end: usize,
}

impl Bytes {
    /// The given part of the chunk; the caller ensures that it lies within.
    pub(crate) fn part(chunk: &Arc<Vec<u8>>, Range { start, end }: Range<usize>) -> Self {
        Self { chunk: Arc::clone(chunk), start, end }
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.chunk[self.start..self.end]
    }
}

impl PartialEq for Bytes {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Bytes {}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.len())
    }
}
