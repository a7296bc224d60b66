//! A file of the operating system, written past the page cache.

use std::io;

use runnel_io::direct_file::{Buffer, DirectFile};

use super::Disk;

/// A file that is written past the page cache while its user continues, see [`runnel_io::direct_file`].
pub struct File(DirectFile);

impl File {
    /// Writes to an empty file.
    pub fn new(file: DirectFile) -> Self {
        Self(file)
    }

    /// The file: its path, and how it is written.
    pub fn inner(&self) -> &DirectFile {
        &self.0
    }

    /// Number of writes that have not reached the system: a kill of the process loses no others.
    pub fn in_flight(&mut self) -> usize {
        self.0.in_flight()
    }
}

impl Disk for File {
    type Buffer = Buffer;

    fn block(&self) -> usize {
        self.0.block()
    }

    fn buffer(&mut self) -> io::Result<Buffer> {
        self.0.buffer()
    }

    fn write(&mut self, buffer: Buffer, len: usize, at: u64) -> io::Result<()> {
        self.0.write(buffer, len, at)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.0.sync()
    }

    fn finish(&mut self, len: u64) -> io::Result<()> {
        self.0.finish(len)
    }
}
