//! A connection with a deadline: a client that reads or writes a byte now and then meets no timeout of a single operation.

use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// Bytes of a single write: the system may begin its timeout anew for each part of a longer one.
const LONGEST_WRITE: usize = 32 << 10;

pub struct TimedStream<'a> {
    stream: &'a UnixStream,
    deadline: Instant,
}

impl<'a> TimedStream<'a> {
    /// Reads and writes that take longer than this in all fail.
    pub fn new(stream: &'a UnixStream, timeout: Duration) -> Self {
        Self { stream, deadline: Instant::now() + timeout }
    }

    fn left(&self) -> io::Result<Option<Duration>> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(ErrorKind::TimedOut.into()) } else { Ok(Some(left)) }
    }
}

impl Read for TimedStream<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(self.left()?)?;
        self.stream.read(buffer).map_err(timed_out)
    }
}

impl Write for TimedStream<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(self.left()?)?;
        self.stream.write(&bytes[..bytes.len().min(LONGEST_WRITE)]).map_err(timed_out)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The system reports a timeout of a socket in the words of one that does not block.
fn timed_out(error: io::Error) -> io::Error {
    if error.kind() == ErrorKind::WouldBlock { ErrorKind::TimedOut.into() } else { error }
}
