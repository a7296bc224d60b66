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

    /// The same bytes. If they are less than half of their chunk they are copied, so that they do not keep it in memory.
    #[must_use]
    pub fn detached(self) -> Self {
        let len = self.len();
        if len > self.chunk.len() / 2 {
            return self;
        }
        Self { chunk: Arc::new(self.to_vec()), start: 0, end: len }
    }
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Self {
        let end = bytes.len();
        Self { chunk: Arc::new(bytes), start: 0, end }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_messages_do_not_keep_their_chunk() {
        let chunk = Arc::new(vec![7; 100]);
        let parts = [Bytes::part(&chunk, 10..20).detached(), Bytes::part(&chunk, 10..90).detached()];
        assert_eq!(parts.each_ref().map(|part| part.len()), [10, 80]);
        assert_eq!(Arc::strong_count(&chunk), 2, "only the long one shares it");
    }
}
