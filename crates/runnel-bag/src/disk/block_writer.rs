//! A stream of bytes on a disk.

use std::io;

use runnel_core::wire::Bytes;

use super::Disk;

/// Writes a stream of bytes to a [`Disk`].
///
/// The bytes go into a buffer of the disk, and from there to the disk when it is full or at [`BlockWriter::flush`].
/// Until then they can be changed: a record's length can be written after its content. A flush in the middle of a
/// block pads the block with zeros on the disk; it is written once more when it is full.
pub struct BlockWriter<D: Disk> {
    disk: D,
    buffer: Option<D::Buffer>,
    /// Position in the file of the buffer's first byte, a multiple of the block.
    start: u64,
    /// Bytes in the buffer.
    filled: usize,
    /// Whether the disk lacks bytes of the buffer.
    is_dirty: bool,
}

impl<D: Disk> BlockWriter<D> {
    /// Writes to the start of an empty file.
    pub fn new(disk: D) -> Self {
        Self { disk, buffer: None, start: 0, filled: 0, is_dirty: false }
    }

    /// The disk.
    pub fn disk(&self) -> &D {
        &self.disk
    }

    /// Number of bytes so far.
    pub fn position(&self) -> u64 {
        self.start + self.filled as u64
    }

    /// The first position that [`BlockWriter::patch`] can change: earlier bytes have been given to the disk.
    pub fn patchable_from(&self) -> u64 {
        self.start
    }

    /// Bytes that can follow before [`BlockWriter::patchable_from`] changes.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn room(&mut self) -> io::Result<usize> {
        let filled = self.filled;
        Ok(self.open_buffer()?.len() - filled)
    }

    /// Appends bytes.
    ///
    /// # Errors
    /// Those of the disk, after which the file cannot be continued.
    pub fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.append_message(bytes.into())
    }

    /// Appends the bytes of a message, from shared memory without another copy.
    ///
    /// # Errors
    /// Those of the disk, after which the file cannot be continued.
    pub fn append_message(&mut self, mut bytes: Bytes<'_>) -> io::Result<()> {
        while !bytes.is_empty() {
            let filled = self.filled;
            let free = &mut self.open_buffer()?[filled..];
            let copied = bytes.copy_to_slice(free);
            self.filled += copied;
            self.is_dirty = true;
            bytes = bytes.split_at(copied).expect("not more is copied than there is").1;
            if self.room()? == 0 {
                self.write_buffer()?;
            }
        }
        Ok(())
    }

    /// Replaces bytes at a position from [`BlockWriter::patchable_from`] on.
    ///
    /// # Panics
    /// When the bytes are not all between there and the end.
    pub fn patch(&mut self, at: u64, bytes: &[u8]) {
        let place = at.checked_sub(self.start).expect("the position is in the buffer") as usize;
        let buffer = self.buffer.as_mut().expect("there are bytes to replace");
        buffer[..self.filled][place..place + bytes.len()].copy_from_slice(bytes);
        self.is_dirty = true;
    }

    /// Gives everything so far to the disk. The next bytes can follow at once.
    ///
    /// # Errors
    /// Those of the disk, after which the file cannot be continued.
    pub fn flush(&mut self) -> io::Result<()> {
        if self.is_dirty { self.write_buffer() } else { Ok(()) }
    }

    /// Gives everything so far to the disk, and waits until it is safe from a power failure.
    ///
    /// # Errors
    /// Those of the disk, after which the file cannot be continued.
    pub fn sync(&mut self) -> io::Result<()> {
        self.flush()?;
        self.disk.sync()
    }

    /// Replaces the start of the file by these bytes, which must fill whole blocks of the disk and have been given to
    /// it before.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn rewrite_start(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.flush()?;
        let mut buffer = self.disk.buffer()?;
        buffer[..bytes.len()].copy_from_slice(bytes);
        self.disk.write(buffer, bytes.len(), 0)
    }

    /// Writes the rest and ends the file after the last byte.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn finish(mut self) -> io::Result<D> {
        self.flush()?;
        self.disk.finish(self.position())?;
        Ok(self.disk)
    }

    fn open_buffer(&mut self) -> io::Result<&mut D::Buffer> {
        if self.buffer.is_none() {
            self.buffer = Some(self.disk.buffer()?);
        }
        Ok(self.buffer.as_mut().expect("it was just set"))
    }

    /// Writes the buffer, padded to whole blocks. Its last block goes on in the next buffer if it is not full.
    fn write_buffer(&mut self) -> io::Result<()> {
        let Some(mut buffer) = self.buffer.take() else { return Ok(()) };
        let block = self.disk.block();
        let full = self.filled / block * block;
        let padded = self.filled.next_multiple_of(block);
        if full < padded {
            let mut next = self.disk.buffer()?;
            next[..self.filled - full].copy_from_slice(&buffer[full..self.filled]);
            buffer[self.filled..padded].fill(0);
            self.buffer = Some(next);
        }
        self.disk.write(buffer, padded, self.start)?;
        self.start += full as u64;
        self.filled -= full;
        self.is_dirty = false;
        Ok(())
    }
}
