//! Bytes that the kernel has not taken yet.

use std::collections::VecDeque;
use std::io;

use runnel_io::Stream;

/// See the module's documentation.
#[derive(Debug, Default)]
pub(crate) struct Unsent {
    bytes: VecDeque<u8>,
}

impl Unsent {
    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
    }

    /// All of them.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes.into()
    }

    /// Sends what the socket takes.
    pub(crate) fn flush(&mut self, stream: &Stream) -> io::Result<()> {
        while !self.bytes.is_empty() {
            let sent = stream.send(self.bytes.as_slices().0)?;
            if sent == 0 {
                return Ok(());
            }
            self.bytes.drain(..sent);
        }
        self.bytes = VecDeque::new();
        Ok(())
    }
}
