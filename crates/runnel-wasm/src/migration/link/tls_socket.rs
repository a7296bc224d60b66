//! A socket with TLS.

use std::fmt;
use std::io::{self, ErrorKind, Read, Write};

use runnel_io::{Interest, Stream};
use rustls::Connection;

/// Bytes that are read at a time. The loop of a link sends between two of these.
const MOST_AT_A_TIME: usize = 256 << 10;

/// Bytes of one TLS record.
const RECORD: usize = 16 << 10;

/// A TCP connection, and the TLS in it.
pub struct TlsSocket {
    stream: Stream,
    tls: Connection,
}

/// Why no more can be sent or received.
#[derive(Debug)]
pub enum Broken {
    /// The peer has ended TLS: all that it had sent was received.
    Closed,
    /// The peer has ended the connection without ending TLS.
    Ended,
    /// The connection has failed.
    Failed(io::Error),
    /// The peer did what TLS does not allow, or refuses this host.
    Tls(rustls::Error),
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => f.write_str("the peer closed it"),
            Self::Ended => f.write_str("the connection ended"),
            Self::Failed(error) => error.fmt(f),
            Self::Tls(error) => write!(f, "TLS: {error}"),
        }
    }
}

impl TlsSocket {
    pub fn new(stream: Stream, tls: Connection) -> Self {
        Self { stream, tls }
    }

    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    pub fn tls(&self) -> &Connection {
        &self.tls
    }

    /// What to wait for.
    pub fn interest(&self, reads: bool) -> Interest {
        match (reads, self.tls.wants_write()) {
            (true, true) => Interest::Both,
            (true, false) => Interest::Read,
            (false, true) => Interest::Write,
            (false, false) => Interest::Nothing,
        }
    }

    /// Passes the bytes that have arrived to `found`, up to a limit. Without any, it returns at once.
    ///
    /// # Errors
    /// If no more can arrive. All bytes before were passed on.
    pub fn receive(&mut self, mut found: impl FnMut(&[u8])) -> Result<(), Broken> {
        let mut received = 0;
        while received < MOST_AT_A_TIME {
            received += match self.tls.read_tls(&mut NonBlocking(&self.stream)) {
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(Broken::Failed(error)),
            };
            let processed = self.tls.process_new_packets();
            let passed = self.pass_plaintext(&mut found);
            if let Err(error) = processed {
                // The peer gets an alert that says why, if that is possible at all.
                _ = self.flush();
                return Err(Broken::Tls(error));
            }
            passed?;
        }
        Ok(())
    }

    fn pass_plaintext(&mut self, found: &mut impl FnMut(&[u8])) -> Result<(), Broken> {
        let mut bytes = [0; RECORD];
        loop {
            match self.tls.reader().read(&mut bytes) {
                Ok(0) => return Err(Broken::Closed),
                Ok(count) => found(&bytes[..count]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Err(Broken::Ended),
                Err(error) => return Err(Broken::Failed(error)),
            }
        }
    }

    /// Encrypts bytes to be sent. Returns how many: TLS keeps only so much.
    pub fn write(&mut self, bytes: &[u8]) -> usize {
        self.tls.writer().write(bytes).unwrap_or(0)
    }

    /// Ends what this side sends.
    pub fn close(&mut self) {
        self.tls.send_close_notify();
    }

    /// Sends what the socket takes.
    ///
    /// # Errors
    /// If the connection has failed.
    pub fn flush(&mut self) -> Result<(), Broken> {
        while self.tls.wants_write() {
            match self.tls.write_tls(&mut NonBlocking(&self.stream)) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(Broken::Failed(error)),
            }
        }
        Ok(())
    }
}

/// A stream as TLS wants it: what would wait is an error.
struct NonBlocking<'s>(&'s Stream);

impl Read for NonBlocking<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.recv(buffer)?.ok_or_else(|| ErrorKind::WouldBlock.into())
    }
}

impl Write for NonBlocking<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.0.send(bytes)? {
            0 if !bytes.is_empty() => Err(ErrorKind::WouldBlock.into()),
            sent => Ok(sent),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
