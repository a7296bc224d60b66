//! Output of a plan.

use runnel_core::schema::Generation;
use runnel_core::wire::{Bytes, NoMemory, try_append};

const ZEROS: [u8; 8] = [0; 8];

/// Appends to a buffer, aligned as the target generation has it.
#[derive(Debug)]
pub(super) struct Output<'a> {
    bytes: &'a mut Vec<u8>,
    /// Where the message begins, from which alignment is counted.
    start: usize,
    is_aligned: bool,
    /// The bytes are not wanted: the source is only read.
    is_discarding: bool,
}

impl<'a> Output<'a> {
    pub(super) fn new(bytes: &'a mut Vec<u8>, generation: Generation) -> Self {
        let start = bytes.len();
        Self { bytes, start, is_aligned: generation == Generation::Ros2, is_discarding: false }
    }

    pub(super) fn is_ros1(&self) -> bool {
        !self.is_aligned
    }

    /// Sets whether bytes are dropped. Returns the former setting.
    pub(super) fn set_discarding(&mut self, is_discarding: bool) -> bool {
        std::mem::replace(&mut self.is_discarding, is_discarding)
    }

    /// Appends the padding before a value.
    pub(super) fn align(&mut self, to: usize) -> Result<(), NoMemory> {
        if !self.is_aligned {
            return Ok(());
        }
        let padding = self.bytes.len().wrapping_sub(self.start).wrapping_neg() & (to - 1);
        self.put(ZEROS.get(..padding).unwrap_or_default())
    }

    pub(super) fn put(&mut self, bytes: &[u8]) -> Result<(), NoMemory> {
        if self.is_discarding { Ok(()) } else { try_append(self.bytes, bytes) }
    }

    /// Appends bytes of the source. Returns the copy, which no other process can change.
    pub(super) fn put_source(&mut self, bytes: Bytes<'_>) -> Result<&[u8], NoMemory> {
        if self.is_discarding {
            return Ok(&[]);
        }
        let from = self.bytes.len();
        bytes.append_to(self.bytes)?;
        Ok(self.bytes.get(from..).unwrap_or_default())
    }

    /// Appends a number of bytes or elements.
    pub(super) fn put_count(&mut self, count: usize) -> Result<(), NoMemory> {
        self.align(4)?;
        self.put(&(count as u32).to_le_bytes())
    }
}
