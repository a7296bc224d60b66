//! Files that are written in whole blocks.

mod block_writer;
#[cfg(feature = "files")]
mod file;
mod memory;
mod plain;
#[cfg(test)]
mod tests;

use std::io;
use std::ops::DerefMut;

pub use block_writer::BlockWriter;
#[cfg(feature = "files")]
pub use file::File;
pub use memory::MemoryDisk;
pub use plain::Plain;

/// A file of a disk, which takes whole blocks from buffers of its own.
///
/// A disk that writes past the page cache needs this: position, length and memory of each write are multiples of the
/// block. [`BlockWriter`] makes such writes of a stream of bytes.
pub trait Disk {
    /// A buffer whose memory suits the disk. Its length is a multiple of the block.
    type Buffer: DerefMut<Target = [u8]>;

    /// Length of a block in bytes.
    fn block(&self) -> usize;

    /// A buffer with undefined content. Waits until one is free.
    ///
    /// # Errors
    /// That of an earlier write, or when there is no memory.
    fn buffer(&mut self) -> io::Result<Self::Buffer>;

    /// Writes the first `len` bytes of the buffer at the position `at`, both multiples of the block. May return before
    /// they are written. Writes of the same block reach the disk in their order.
    ///
    /// # Errors
    /// That of this write or of an earlier one.
    fn write(&mut self, buffer: Self::Buffer, len: usize, at: u64) -> io::Result<()>;

    /// Waits until everything has been written and is safe from a power failure.
    ///
    /// # Errors
    /// That of any earlier write.
    fn sync(&mut self) -> io::Result<()>;

    /// Waits until everything has been written, ends the file after `len` bytes, and waits until the file is safe from
    /// a power failure.
    ///
    /// # Errors
    /// That of any earlier write.
    fn finish(&mut self, len: u64) -> io::Result<()>;
}
