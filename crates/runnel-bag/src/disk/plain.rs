//! Any output as a disk.

use std::io::{self, Seek, SeekFrom, Write};

use super::Disk;

/// Bytes of a buffer.
const BUFFER: usize = 1 << 20;

/// Writes to any output that can seek: memory, or a file through the page cache.
pub struct Plain<W> {
    output: W,
    /// Position of the output.
    position: u64,
    /// A buffer that was written.
    spare: Option<Vec<u8>>,
}

impl<W: Write + Seek> Plain<W> {
    /// Writes to an empty output.
    pub fn new(output: W) -> Self {
        Self { output, position: 0, spare: None }
    }

    /// The output.
    pub fn into_inner(self) -> W {
        self.output
    }
}

impl<W: Write + Seek> Disk for Plain<W> {
    type Buffer = Vec<u8>;

    fn block(&self) -> usize {
        1
    }

    fn buffer(&mut self) -> io::Result<Vec<u8>> {
        Ok(self.spare.take().unwrap_or_else(|| vec![0; BUFFER]))
    }

    fn write(&mut self, buffer: Vec<u8>, len: usize, at: u64) -> io::Result<()> {
        if at != self.position {
            self.output.seek(SeekFrom::Start(at))?;
            self.position = at;
        }
        self.output.write_all(&buffer[..len])?;
        self.position += len as u64;
        self.spare = Some(buffer);
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        self.output.flush()
    }

    /// The output ends where the last byte was written: its length cannot be set.
    fn finish(&mut self, _len: u64) -> io::Result<()> {
        self.output.flush()
    }
}
