//! Input of a bag, whose bytes are read where they are.

use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Take};

use crate::Error;

pub(crate) struct Source<R> {
    input: R,
    /// Length in bytes.
    len: u64,
}

impl<R: Read + Seek> Source<R> {
    pub(crate) fn new(mut input: R) -> Result<Self, Error> {
        let len = input.seek(SeekFrom::End(0))?;
        Ok(Self { input, len })
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Whether the file has only zeros from this position on: the padding of a recorder that was killed.
    pub(crate) fn is_zero_from(&mut self, at: u64) -> Result<bool, Error> {
        self.input.seek(SeekFrom::Start(at))?;
        Ok(is_zero(&mut self.input)?)
    }

    /// Up to `len` bytes from a position on.
    pub(crate) fn stream(&mut self, at: u64, len: u64) -> Result<Take<&mut R>, Error> {
        // An input may refuse a position beyond what the system can count.
        self.input.seek(SeekFrom::Start(at.min(self.len)))?;
        Ok((&mut self.input).take(len))
    }

    /// Bytes that belong to the record at `record`. The memory grows with the bytes that there are.
    pub(crate) fn range(&mut self, record: u64, at: u64, len: u64) -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::new();
        self.stream(at, len)?.read_to_end(&mut bytes)?;
        if (bytes.len() as u64) < len { Err(Error::Truncated { at: record }) } else { Ok(bytes) }
    }

    /// Bytes that belong to the record at `record`.
    pub(crate) fn array<const N: usize>(&mut self, record: u64, at: u64) -> Result<[u8; N], Error> {
        let mut bytes = [0; N];
        self.stream(at, N as u64)?.read_exact(&mut bytes).map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => Error::Truncated { at: record },
            _ => Error::Io(error),
        })?;
        Ok(bytes)
    }
}

/// Whether the rest of the input is zeros. Reads up to the first other byte.
fn is_zero(input: &mut impl Read) -> io::Result<bool> {
    // A file may be allocated far beyond its end.
    let mut buffer = vec![0; 64 << 10];
    loop {
        match input.read(&mut buffer)? {
            0 => return Ok(true),
            len if buffer[..len].iter().any(|byte| *byte != 0) => return Ok(false),
            _ => {}
        }
    }
}
