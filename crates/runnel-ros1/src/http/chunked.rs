//! Chunked bodies (RFC 9112, section 7.1).

use super::{MAX_CHUNK_LINE, ResponseError};

/// Assembles a body from its chunks.
#[derive(Debug)]
pub(super) struct ChunkedBody {
    max_body: usize,
    body: Vec<u8>,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    ExpectSize,
    /// Bytes of the chunk that have not arrived.
    ExpectData(usize),
    ExpectLineEnd,
    ExpectTrailer,
    Complete,
}

impl ChunkedBody {
    /// A body that may grow to `max_body` bytes.
    pub fn new(max_body: usize) -> Self {
        Self { max_body, body: Vec::new(), state: State::ExpectSize }
    }

    /// Bytes of the body that are buffered.
    pub fn len(&self) -> usize {
        self.body.len()
    }

    /// Consumes the front of `bytes`; true when the body is complete.
    pub fn take_from(&mut self, bytes: &mut Vec<u8>) -> Result<bool, ResponseError> {
        let mut used = 0;
        while self.state != State::Complete {
            match self.advance(bytes.get(used..).unwrap_or_default())? {
                0 => break,
                count => used += count,
            }
        }
        bytes.drain(..used);
        Ok(self.state == State::Complete)
    }

    /// The bytes of all chunks.
    pub fn into_body(self) -> Vec<u8> {
        self.body
    }

    /// Parses one step. Returns how many bytes it used, 0 if it needs more.
    fn advance(&mut self, bytes: &[u8]) -> Result<usize, ResponseError> {
        match self.state {
            State::ExpectSize => self.size(bytes),
            State::ExpectData(missing) => Ok(self.data(bytes, missing)),
            State::ExpectLineEnd => self.line_end(bytes),
            State::ExpectTrailer => self.trailer(bytes),
            State::Complete => Ok(0),
        }
    }

    fn size(&mut self, bytes: &[u8]) -> Result<usize, ResponseError> {
        let Some(line) = line(bytes)? else { return Ok(0) };
        // The parser below would read a line without digits as 0.
        if !line.first().is_some_and(u8::is_ascii_hexdigit) {
            return Err(ResponseError::BadChunk);
        }
        let Ok(httparse::Status::Complete((_, size))) = httparse::parse_chunk_size(line) else {
            return Err(ResponseError::BadChunk);
        };
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        if size > self.max_body - self.body.len() {
            return Err(ResponseError::BodyTooLong { limit: self.max_body });
        }
        self.state = if size == 0 { State::ExpectTrailer } else { State::ExpectData(size) };
        Ok(line.len())
    }

    fn data(&mut self, bytes: &[u8], missing: usize) -> usize {
        let count = missing.min(bytes.len());
        self.body.extend_from_slice(bytes.get(..count).unwrap_or_default());
        self.state = if count == missing { State::ExpectLineEnd } else { State::ExpectData(missing - count) };
        count
    }

    fn line_end(&mut self, bytes: &[u8]) -> Result<usize, ResponseError> {
        match bytes {
            [] | [b'\r'] => Ok(0),
            [b'\r', b'\n', ..] => {
                self.state = State::ExpectSize;
                Ok(2)
            }
            _ => Err(ResponseError::BadChunk),
        }
    }

    /// Skips header fields after the last chunk, up to an empty line.
    fn trailer(&mut self, bytes: &[u8]) -> Result<usize, ResponseError> {
        let Some(line) = line(bytes)? else { return Ok(0) };
        if line == b"\r\n" {
            self.state = State::Complete;
        }
        Ok(line.len())
    }
}

/// The first line with its end, if it is complete.
fn line(bytes: &[u8]) -> Result<Option<&[u8]>, ResponseError> {
    let end = bytes.iter().take(MAX_CHUNK_LINE).position(|byte| *byte == b'\n');
    match end {
        Some(at) => Ok(bytes.get(..=at)),
        None if bytes.len() >= MAX_CHUNK_LINE => Err(ResponseError::BadChunk),
        None => Ok(None),
    }
}
