//! Interface of what carries out the writes of a file.

use std::io;
use std::path::Path;

use super::buffer::Buffer;

/// Carries out the operations on one file. After the first failure it may skip writes.
///
/// Dropping it waits for the operations in flight: the kernel reads their buffers.
pub(super) trait Engine: Send {
    /// Starts a write. It reaches the disk after every earlier write of the same block.
    fn write(&mut self, write: Write);

    /// Starts to reserve space for `len` bytes from `at` on. This may fail.
    fn allocate(&mut self, at: u64, len: u64);

    /// Waits until nothing is in flight.
    fn settle(&mut self);

    /// Waits until nothing is in flight and all data are safe from a power failure.
    fn sync(&mut self);

    /// Notes which operations have ended.
    fn poll(&mut self);

    /// Waits until an operation in flight has ended.
    fn wait(&mut self);

    /// Number of operations in flight.
    fn in_flight(&self) -> usize;

    /// The failure that is first in the file, of the operations that have ended.
    fn failure(&self) -> Option<&Failure>;
}

/// A write, and how much of it is done.
pub(super) struct Write {
    pub(super) buffer: Buffer,
    pub(super) len: usize,
    pub(super) at: u64,
    done: usize,
}

impl Write {
    /// Writes the first `len` bytes of the buffer at the position `at`.
    pub(super) fn new(buffer: Buffer, len: usize, at: u64) -> Self {
        Self { buffer, len, at, done: 0 }
    }

    /// The bytes that are still to be written, and their position.
    pub(super) fn rest(&self) -> (&[u8], u64) {
        (&self.buffer[self.done..self.len], self.at + self.done as u64)
    }

    /// Notes that this many more bytes are written. A part of a block is written again.
    ///
    /// # Errors
    /// If there is no progress.
    pub(super) fn advance(&mut self, written: usize, block: usize) -> io::Result<()> {
        let end = (self.done + written).min(self.len);
        let done = end / block * block;
        if done == self.done {
            let reason = format!("only {written} bytes were written");
            return Err(io::Error::new(io::ErrorKind::WriteZero, reason));
        }
        self.done = done;
        Ok(())
    }

    /// Whether all is written.
    pub(super) fn is_done(&self) -> bool {
        self.done == self.len
    }

    /// Its failure for this reason.
    pub(super) fn failure(&self, error: io::Error) -> Failure {
        let (rest, at) = self.rest();
        Failure { at, action: format!("write {} bytes at byte {at}", rest.len()), error }
    }
}

/// What failed, and why.
#[derive(Debug)]
pub(super) struct Failure {
    /// Position in the file up to which it may be whole.
    at: u64,
    action: String,
    error: io::Error,
}

impl Failure {
    /// An operation on the whole file that failed, in the words that follow "cannot".
    pub(super) fn new(action: impl Into<String>, error: impl Into<io::Error>) -> Self {
        Self { at: u64::MAX, action: action.into(), error: error.into() }
    }

    /// Keeps the one that is first in the file.
    pub(super) fn add_to(self, first: &mut Option<Self>) {
        if first.as_ref().is_none_or(|first| self.at < first.at) {
            *first = Some(self);
        }
    }

    /// The error that names the file.
    pub(super) fn of_file(&self, path: &Path) -> io::Error {
        let text = format!("{}: cannot {}: {}", path.display(), self.action, self.error);
        io::Error::new(self.error.kind(), text)
    }
}
