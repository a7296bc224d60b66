//! Bytes that the kernel has not accepted yet.

use std::collections::VecDeque;
use std::io;

use runnel_core::wire::NoMemory;

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

    /// Appends bytes.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
    }

    /// Appends two parts of a message.
    ///
    /// # Errors
    /// If there is no memory for them. Nothing is appended then.
    pub(crate) fn try_push(&mut self, [head, body]: [&[u8]; 2]) -> Result<(), NoMemory> {
        self.try_reserve(head.len() + body.len())?;
        self.bytes.extend(head);
        self.bytes.extend(body);
        Ok(())
    }

    fn try_reserve(&mut self, bytes: usize) -> Result<(), NoMemory> {
        let reserved = self.bytes.try_reserve(bytes).or_else(|_| self.bytes.try_reserve_exact(bytes));
        reserved.map_err(|_| NoMemory { bytes })
    }

    /// All bytes.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes.into()
    }

    /// Prepends bytes.
    ///
    /// # Errors
    /// If there is no memory for them. Nothing is prepended then.
    pub(crate) fn push_first(&mut self, bytes: &[u8]) -> Result<(), NoMemory> {
        self.try_reserve(bytes.len())?;
        bytes.iter().rev().for_each(|byte| self.bytes.push_front(*byte));
        Ok(())
    }

    /// Sends as many bytes as `send` accepts, which returns their number.
    pub(crate) fn flush(&mut self, mut send: impl FnMut(&[u8]) -> io::Result<usize>) -> io::Result<()> {
        while !self.bytes.is_empty() {
            let sent = send(self.bytes.as_slices().0)?;
            if sent == 0 {
                return Ok(());
            }
            self.bytes.drain(..sent);
        }
        self.bytes = VecDeque::new();
        Ok(())
    }
}
