//! Parser of the responses that a client receives.

use core::fmt;

use super::chunked::ChunkedBody;
use super::head::{self, ContentLength, HeadScan, HeadState};
use super::{MAX_CHUNK_LINE, MAX_HEAD, MAX_HEADERS};

/// A complete response with status 200.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// Whether the connection stays open for another request.
    pub keep_open: bool,
    /// The bytes of the body.
    pub body: Vec<u8>,
}

/// Reason why a response is unusable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResponseError {
    /// It is not HTTP; holds the parser's error.
    Malformed(httparse::Error),
    /// The head is longer than [`MAX_HEAD`].
    HeadTooLong,
    /// The head has more than [`MAX_HEADERS`] fields.
    TooManyHeaders,
    /// A status other than 200. The body, which is text for people, is not read.
    Status {
        /// The code, such as 404.
        code: u16,
        /// The reason phrase.
        reason: String,
    },
    /// A `Content-Length` that is not a 64-bit number, or two that differ.
    BadLength,
    /// A body longer than the limit.
    BodyTooLong {
        /// Bytes allowed.
        limit: usize,
    },
    /// A `Transfer-Encoding` other than `chunked`.
    TransferEncoding,
    /// A `Content-Encoding`, such as `gzip`, which was not requested.
    ContentEncoding,
    /// Malformed chunks, or chunk-size lines longer than [`MAX_CHUNK_LINE`].
    BadChunk,
    /// The connection ended inside the response.
    Truncated,
}

impl fmt::Display for ResponseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(why) => write!(f, "not an HTTP response: {why}"),
            Self::HeadTooLong => write!(f, "response head longer than {MAX_HEAD} bytes"),
            Self::TooManyHeaders => write!(f, "more than {MAX_HEADERS} header fields"),
            Self::Status { code, reason } => write!(f, "HTTP status {code} {reason:.64}"),
            Self::BadLength => f.write_str("Content-Length is not a 64-bit number"),
            Self::BodyTooLong { limit } => write!(f, "body longer than the limit of {limit} bytes"),
            Self::TransferEncoding => f.write_str("Transfer-Encoding other than chunked is not supported"),
            Self::ContentEncoding => f.write_str("Content-Encoding is not supported"),
            Self::BadChunk => write!(f, "malformed chunk, or chunk line longer than {MAX_CHUNK_LINE} bytes"),
            Self::Truncated => f.write_str("the connection ended inside the response"),
        }
    }
}

impl core::error::Error for ResponseError {}

/// Parses the responses of one connection.
#[derive(Debug)]
pub struct ResponseParser {
    max_body: usize,
    bytes: Vec<u8>,
    state: State,
}

#[derive(Debug)]
enum State {
    ExpectHead(HeadScan),
    ExpectBody { keep_open: bool, framing: Framing },
}

/// How the end of a body is found.
#[derive(Debug)]
enum Framing {
    Length(usize),
    Chunked(ChunkedBody),
    /// At the end of the connection.
    UntilEnd,
}

impl ResponseParser {
    /// A parser that refuses bodies longer than `max_body` bytes.
    pub fn new(max_body: usize) -> Self {
        Self { max_body, bytes: Vec::new(), state: State::ExpectHead(HeadScan::default()) }
    }

    /// Appends received bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Bytes that are buffered.
    pub fn buffered(&self) -> usize {
        let chunks = match &self.state {
            State::ExpectBody { framing: Framing::Chunked(body), .. } => body.len(),
            _ => 0,
        };
        self.bytes.len() + chunks
    }

    /// Whether no byte of a next response has arrived.
    pub fn is_idle(&self) -> bool {
        self.bytes.is_empty() && matches!(self.state, State::ExpectHead(_))
    }

    /// The response, once it is complete. Bytes after it are kept.
    ///
    /// # Errors
    /// On an unusable response: malformed, beyond a bound, or with a status other than 200.
    pub fn step(&mut self) -> Result<Option<Response>, ResponseError> {
        while let State::ExpectHead(_) = self.state {
            if !self.read_head()? {
                return Ok(None);
            }
        }
        if self.body_is_whole()? { Ok(self.take_response()) } else { Ok(None) }
    }

    /// The connection has ended: returns the response that this completes, or `None` if no byte of one had arrived.
    ///
    /// # Errors
    /// If the connection ended inside a response.
    pub fn finish(&mut self) -> Result<Option<Response>, ResponseError> {
        match &self.state {
            State::ExpectBody { framing: Framing::UntilEnd, .. } => Ok(self.take_response()),
            _ if self.is_idle() => Ok(None),
            _ => Err(ResponseError::Truncated),
        }
    }

    /// Takes one head from the buffer; false if it is incomplete.
    fn read_head(&mut self) -> Result<bool, ResponseError> {
        let State::ExpectHead(scan) = &mut self.state else { return Ok(true) };
        match scan.find_end(&self.bytes) {
            HeadState::Partial => Ok(false),
            HeadState::TooLong => Err(ResponseError::HeadTooLong),
            HeadState::Whole(end) => {
                self.state = parse_head(self.bytes.get(..end).unwrap_or_default(), self.max_body)?;
                self.bytes.drain(..end);
                Ok(true)
            }
        }
    }

    fn body_is_whole(&mut self) -> Result<bool, ResponseError> {
        let State::ExpectBody { framing, .. } = &mut self.state else { return Ok(false) };
        match framing {
            Framing::Length(length) => Ok(self.bytes.len() >= *length),
            Framing::Chunked(body) => body.take_from(&mut self.bytes),
            Framing::UntilEnd if self.bytes.len() > self.max_body => {
                Err(ResponseError::BodyTooLong { limit: self.max_body })
            }
            Framing::UntilEnd => Ok(false),
        }
    }

    fn take_response(&mut self) -> Option<Response> {
        let next = State::ExpectHead(HeadScan::default());
        let State::ExpectBody { keep_open, framing } = core::mem::replace(&mut self.state, next) else {
            return None;
        };
        let body = match framing {
            Framing::Length(length) => {
                let rest = self.bytes.split_off(length.min(self.bytes.len()));
                core::mem::replace(&mut self.bytes, rest)
            }
            Framing::Chunked(body) => body.into_body(),
            Framing::UntilEnd => core::mem::take(&mut self.bytes),
        };
        Some(Response { keep_open, body })
    }
}

/// Parses a complete head. After an interim response (status 1xx) another head follows.
fn parse_head(bytes: &[u8], max_body: usize) -> Result<State, ResponseError> {
    let mut headers = head::no_headers();
    let mut response = httparse::Response::new(&mut headers);
    match response.parse(bytes) {
        Ok(httparse::Status::Complete(_)) => {}
        Ok(httparse::Status::Partial) => return Err(ResponseError::Malformed(httparse::Error::NewLine)),
        Err(httparse::Error::TooManyHeaders) => return Err(ResponseError::TooManyHeaders),
        Err(error) => return Err(ResponseError::Malformed(error)),
    }
    match response.code.unwrap_or_default() {
        100..200 => Ok(State::ExpectHead(HeadScan::default())),
        200 => expect_body(&response, max_body),
        code => Err(ResponseError::Status { code, reason: response.reason.unwrap_or_default().to_owned() }),
    }
}

fn expect_body(response: &httparse::Response<'_, '_>, max_body: usize) -> Result<State, ResponseError> {
    let framing = framing(response.headers, max_body)?;
    let modern = response.version == Some(1);
    let keep_open = modern && !head::has_token(response.headers, "Connection", "close");
    Ok(State::ExpectBody { keep_open: keep_open && !matches!(framing, Framing::UntilEnd), framing })
}

fn framing(headers: &[httparse::Header<'_>], limit: usize) -> Result<Framing, ResponseError> {
    if head::is_coded(headers) {
        return Err(ResponseError::ContentEncoding);
    }
    if let Some(coding) = head::values(headers, "Transfer-Encoding").next() {
        let chunked = coding.trim_ascii().eq_ignore_ascii_case(b"chunked");
        let body = || Framing::Chunked(ChunkedBody::new(limit));
        return chunked.then(body).ok_or(ResponseError::TransferEncoding);
    }
    match head::content_length(headers) {
        ContentLength::Absent => Ok(Framing::UntilEnd),
        ContentLength::Bad => Err(ResponseError::BadLength),
        ContentLength::Bytes(length) if length > limit => Err(ResponseError::BodyTooLong { limit }),
        ContentLength::Bytes(length) => Ok(Framing::Length(length)),
    }
}

#[cfg(test)]
mod tests;
