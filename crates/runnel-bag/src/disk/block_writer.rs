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
    /// Copy of the file's first blocks, for [`BlockWriter::rewrite_start`].
    first_blocks: Vec<u8>,
}

impl<D: Disk> BlockWriter<D> {
    /// Writes to the start of an empty file.
    pub fn new(disk: D) -> Self {
        Self { disk, buffer: None, start: 0, filled: 0, is_dirty: false, first_blocks: Vec::new() }
    }

    /// Keeps a copy of the blocks with the first `len` bytes, so that these bytes can be replaced at the end.
    #[must_use]
    pub fn with_rewritable_start(mut self, len: usize) -> Self {
        self.first_blocks = vec![0; len.next_multiple_of(self.disk.block())];
        self
    }

    /// The disk.
    pub fn disk(&self) -> &D {
        &self.disk
    }

    /// The disk.
    pub fn into_disk(self) -> D {
        self.disk
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
    pub fn available(&mut self) -> io::Result<usize> {
        let filled = self.filled;
        Ok(self.open_buffer()?.len() - filled)
    }

    /// Length of a buffer in bytes.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn capacity(&mut self) -> io::Result<usize> {
        Ok(self.open_buffer()?.len())
    }

    /// The bytes from this position on, which must be at [`BlockWriter::patchable_from`] or later.
    ///
    /// # Panics
    /// When it is earlier, or later than the end.
    pub fn open_bytes(&self, from: u64) -> &[u8] {
        let place = from.checked_sub(self.start).expect("the position is in the buffer") as usize;
        self.buffer.as_ref().map_or(&[], |buffer| &buffer[place..self.filled])
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
            if self.available()? == 0 {
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

    /// Gives the whole blocks so far to the disk, so that [`BlockWriter::available`] grows. The rest goes on in the
    /// next buffer: unlike after a flush, the next write has no block in common with this one, and both can be in flight.
    ///
    /// # Errors
    /// Those of the disk, after which the file cannot be continued.
    pub fn flush_whole_blocks(&mut self) -> io::Result<()> {
        let block = self.disk.block();
        if self.filled < block { Ok(()) } else { self.write_blocks(self.filled / block * block) }
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

    /// Replaces the start of the file by these bytes. The disk has everything before it gets them.
    ///
    /// # Errors
    /// Those of the disk.
    ///
    /// # Panics
    /// When the bytes are more than [`BlockWriter::with_rewritable_start`] kept.
    pub fn rewrite_start(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.flush()?;
        self.first_blocks[..bytes.len()].copy_from_slice(bytes);
        let mut at = 0;
        while at < self.first_blocks.len() {
            let mut buffer = self.disk.buffer()?;
            let len = buffer.len().min(self.first_blocks.len() - at);
            buffer[..len].copy_from_slice(&self.first_blocks[at..at + len]);
            self.disk.write(buffer, len, at as u64)?;
            at += len;
        }
        Ok(())
    }

    /// Writes the rest and ends the file after the last byte.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn end(&mut self) -> io::Result<()> {
        self.flush()?;
        self.disk.finish(self.position())
    }

    /// Writes the rest, ends the file after the last byte, and returns the disk.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn finish(mut self) -> io::Result<D> {
        self.end()?;
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
        self.write_blocks(self.filled.next_multiple_of(self.disk.block()))
    }

    /// Writes `len` bytes of the buffer: its full blocks, with or without the last one, which goes on in the next
    /// buffer.
    fn write_blocks(&mut self, len: usize) -> io::Result<()> {
        let Some(mut buffer) = self.buffer.take() else { return Ok(()) };
        self.keep_first_blocks(&buffer[..self.filled]);
        let block = self.disk.block();
        let full = self.filled / block * block;
        if full < self.filled {
            let mut next = self.disk.buffer()?;
            next[..self.filled - full].copy_from_slice(&buffer[full..self.filled]);
            self.buffer = Some(next);
        }
        if self.filled < len {
            buffer[self.filled..len].fill(0);
        }
        self.disk.write(buffer, len, self.start)?;
        self.is_dirty &= len < self.filled;
        self.start += full as u64;
        self.filled -= full;
        Ok(())
    }

    /// Copies what belongs to the first blocks from the bytes at `self.start`.
    fn keep_first_blocks(&mut self, bytes: &[u8]) {
        if let Some(kept) = self.first_blocks.get_mut(self.start as usize..) {
            let len = kept.len().min(bytes.len());
            kept[..len].copy_from_slice(&bytes[..len]);
        }
    }
}
