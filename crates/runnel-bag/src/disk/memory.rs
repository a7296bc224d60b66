//! A disk in memory.

use std::io;

use super::Disk;

/// A file in memory, written in blocks of any length.
pub struct MemoryDisk {
    block: usize,
    buffer: usize,
    bytes: Vec<u8>,
}

impl MemoryDisk {
    /// An empty file with blocks of this length, and buffers of this length, a multiple of it.
    pub fn new(block: usize, buffer: usize) -> Self {
        assert_eq!(buffer % block, 0, "buffers have whole blocks");
        Self { block, buffer, bytes: Vec::new() }
    }

    /// The bytes so far.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

impl Disk for MemoryDisk {
    type Buffer = Vec<u8>;

    fn block(&self) -> usize {
        self.block
    }

    fn buffer(&mut self) -> io::Result<Vec<u8>> {
        Ok(vec![0xAA; self.buffer])
    }

    fn write(&mut self, buffer: Vec<u8>, len: usize, at: u64) -> io::Result<()> {
        assert_eq!([len % self.block, at as usize % self.block], [0, 0], "only whole blocks are written");
        let end = at as usize + len;
        self.bytes.resize(self.bytes.len().max(end), 0);
        self.bytes[at as usize..end].copy_from_slice(&buffer[..len]);
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn finish(&mut self, len: u64) -> io::Result<()> {
        self.bytes.truncate(len as usize);
        Ok(())
    }
}
