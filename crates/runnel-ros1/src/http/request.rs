//! Parser of the requests that a server receives.

use core::fmt;

use super::head::{self, ContentLength, HeadScan, HeadState};
use super::{MAX_HEAD, MAX_HEADERS};

/// A complete request, which is always a POST.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The requested path, such as `/RPC2`.
    pub path: String,
    /// Whether the connection stays open after the answer.
    pub keep_open: bool,
    /// The bytes of the body.
    pub body: Vec<u8>,
    /// Bytes of the whole request, head included.
    pub length: usize,
}

/// Progress of the parser.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestStep {
    /// The request is incomplete: more bytes are needed.
    Incomplete,
    /// The client waits for `100 Continue` before it sends the body. Returned once per request.
    Continue,
    /// The request. Bytes after it are kept for the next one.
    Whole(Request),
}

/// Reason why a request is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestError {
    /// It is not HTTP; holds the parser's error.
    Malformed(httparse::Error),
    /// The head is longer than [`MAX_HEAD`].
    HeadTooLong,
    /// The head has more than [`MAX_HEADERS`] fields.
    TooManyHeaders,
    /// A method other than POST.
    Method(String),
    /// No `Content-Length`.
    NoLength,
    /// A `Content-Length` that is not a 64-bit number.
    BadLength,
    /// More than one `Content-Length`: two readers could disagree on the end of the request.
    TwoLengths,
    /// An `Origin` that only web pages send.
    Origin(String),
    /// A body longer than the limit.
    BodyTooLong {
        /// Bytes that the request announces.
        length: usize,
        /// Bytes allowed.
        limit: usize,
    },
    /// A body with a `Transfer-Encoding`, such as `chunked`.
    TransferEncoding,
    /// A body with a `Content-Encoding`, such as `gzip`.
    ContentEncoding,
    /// An `Expect` other than `100-continue`.
    Expectation,
}

/// HTTP methods other than POST, answered with 405; unknown ones are answered with 501.
const OTHER_METHODS: [&str; 8] = ["GET", "HEAD", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"];

impl RequestError {
    /// Code and reason phrase of the response.
    pub fn status(&self) -> (u16, &'static str) {
        match self {
            Self::Malformed(httparse::Error::Version) => (505, "HTTP Version Not Supported"),
            Self::Malformed(_) | Self::BadLength | Self::TwoLengths => (400, "Bad Request"),
            Self::Origin(_) => (403, "Forbidden"),
            Self::HeadTooLong | Self::TooManyHeaders => (431, "Request Header Fields Too Large"),
            Self::Method(method) if OTHER_METHODS.contains(&method.as_str()) => (405, "Method Not Allowed"),
            Self::Method(_) | Self::TransferEncoding => (501, "Not Implemented"),
            Self::NoLength => (411, "Length Required"),
            Self::BodyTooLong { .. } => (413, "Content Too Large"),
            Self::ContentEncoding => (415, "Unsupported Media Type"),
            Self::Expectation => (417, "Expectation Failed"),
        }
    }
}

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(why) => write!(f, "not an HTTP request: {why}"),
            Self::HeadTooLong => write!(f, "request head longer than {MAX_HEAD} bytes"),
            Self::TooManyHeaders => write!(f, "more than {MAX_HEADERS} header fields"),
            Self::Method(method) => write!(f, "method {method:.16} instead of POST"),
            Self::NoLength => f.write_str("no Content-Length"),
            Self::BadLength => f.write_str("Content-Length is not a 64-bit number"),
            Self::TwoLengths => f.write_str("more than one Content-Length"),
            Self::Origin(origin) => write!(f, "requests of web pages are refused (Origin: {origin:.64})"),
            Self::BodyTooLong { length, limit } => {
                write!(f, "body of {length} bytes exceeds the limit of {limit}")
            }
            Self::TransferEncoding => f.write_str("Transfer-Encoding is not supported in requests"),
            Self::ContentEncoding => f.write_str("Content-Encoding is not supported"),
            Self::Expectation => f.write_str("Expect is only supported with 100-continue"),
        }
    }
}

impl core::error::Error for RequestError {}

/// Parses the requests of one connection.
#[derive(Debug)]
pub struct RequestParser {
    max_body: usize,
    bytes: Vec<u8>,
    state: State,
}

#[derive(Debug)]
enum State {
    ExpectHead(HeadScan),
    ExpectBody(Head),
}

#[derive(Debug)]
struct Head {
    path: String,
    keep_open: bool,
    /// Bytes of the head itself.
    head_length: usize,
    /// Bytes of the body.
    length: usize,
    /// The client waits for `100 Continue`, which has not been sent.
    waits: bool,
}

impl RequestParser {
    /// A parser that refuses bodies longer than `max_body` bytes.
    pub fn new(max_body: usize) -> Self {
        Self { max_body, bytes: Vec::new(), state: State::ExpectHead(HeadScan::default()) }
    }

    /// Appends received bytes. Bytes after a complete request stay until [`Self::step`] has returned it; the caller
    /// bounds them by [`Self::buffered`].
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Bytes that are buffered.
    pub fn buffered(&self) -> usize {
        self.bytes.len()
    }

    /// Whether no byte of a next request has arrived.
    pub fn is_idle(&self) -> bool {
        self.bytes.is_empty() && matches!(self.state, State::ExpectHead(_))
    }

    /// Parses further. Call it until it returns [`RequestStep::Incomplete`].
    ///
    /// # Errors
    /// On a request that must be refused.
    pub fn step(&mut self) -> Result<RequestStep, RequestError> {
        if let State::ExpectHead(_) = self.state {
            self.read_head()?;
        }
        match &mut self.state {
            State::ExpectHead(_) => Ok(RequestStep::Incomplete),
            State::ExpectBody(head) if self.bytes.len() >= head.length => Ok(self.take_request()),
            State::ExpectBody(head) if head.waits => {
                head.waits = false;
                Ok(RequestStep::Continue)
            }
            State::ExpectBody(_) => Ok(RequestStep::Incomplete),
        }
    }

    /// Switches to the body once the head is complete.
    fn read_head(&mut self) -> Result<(), RequestError> {
        self.skip_empty_lines();
        let State::ExpectHead(scan) = &mut self.state else { return Ok(()) };
        match scan.find_end(&self.bytes) {
            HeadState::Partial => Ok(()),
            HeadState::TooLong => Err(RequestError::HeadTooLong),
            HeadState::Whole(end) => {
                let head = parse_head(self.bytes.get(..end).unwrap_or_default(), self.max_body)?;
                self.bytes.drain(..end);
                self.state = State::ExpectBody(head);
                Ok(())
            }
        }
    }

    /// Skips line ends after a body, which some clients send without counting them (RFC 9112, section 2.2).
    fn skip_empty_lines(&mut self) {
        let empty = self.bytes.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
        if empty > 0 {
            self.bytes.drain(..empty);
        }
    }

    fn take_request(&mut self) -> RequestStep {
        let next = State::ExpectHead(HeadScan::default());
        match core::mem::replace(&mut self.state, next) {
            State::ExpectBody(head) => {
                let rest = self.bytes.split_off(head.length);
                let body = core::mem::replace(&mut self.bytes, rest);
                let length = head.head_length + head.length;
                RequestStep::Whole(Request { path: head.path, keep_open: head.keep_open, body, length })
            }
            State::ExpectHead(_) => RequestStep::Incomplete,
        }
    }
}

/// Parses a complete head and refuses unsupported requests.
fn parse_head(bytes: &[u8], max_body: usize) -> Result<Head, RequestError> {
    let mut headers = head::no_headers();
    let mut request = httparse::Request::new(&mut headers);
    match request.parse(bytes) {
        Ok(httparse::Status::Complete(_)) => {}
        Ok(httparse::Status::Partial) => return Err(RequestError::Malformed(httparse::Error::NewLine)),
        Err(httparse::Error::TooManyHeaders) => return Err(RequestError::TooManyHeaders),
        Err(error) => return Err(RequestError::Malformed(error)),
    }
    let method = request.method.unwrap_or_default();
    if method != "POST" {
        return Err(RequestError::Method(method.to_owned()));
    }
    if let Some(origin) = web_origin(request.headers) {
        return Err(RequestError::Origin(origin));
    }
    let modern = request.version == Some(1);
    Ok(Head {
        path: request.path.unwrap_or_default().to_owned(),
        keep_open: modern && !head::has_token(request.headers, "Connection", "close"),
        head_length: bytes.len(),
        length: body_length(request.headers, max_body)?,
        waits: expects_continue(request.headers)? && modern,
    })
}

fn body_length(headers: &[httparse::Header<'_>], limit: usize) -> Result<usize, RequestError> {
    if head::values(headers, "Transfer-Encoding").next().is_some() {
        return Err(RequestError::TransferEncoding);
    }
    if head::is_coded(headers) {
        return Err(RequestError::ContentEncoding);
    }
    if head::values(headers, "Content-Length").nth(1).is_some() {
        return Err(RequestError::TwoLengths);
    }
    match head::content_length(headers) {
        ContentLength::Absent => Err(RequestError::NoLength),
        ContentLength::Bad => Err(RequestError::BadLength),
        ContentLength::Bytes(length) if length > limit => Err(RequestError::BodyTooLong { length, limit }),
        ContentLength::Bytes(length) => Ok(length),
    }
}

/// The origin of the web page that sent the request, if a web page did.
///
/// A browser lets any page of any site send POSTs to hosts that its user can reach, and adds an `Origin` that the
/// page cannot omit or change (Fetch Standard, section 3.2). Without this check, a page could set parameters or shut
/// a master down. A page that reaches this host under a name of its own (DNS rebinding) has an origin with that name,
/// so `Host` need not be checked. Clients other than web pages send no `Origin`, or one with another scheme, such as
/// `file://` in desktop programs.
fn web_origin(headers: &[httparse::Header<'_>]) -> Option<String> {
    let is_web = |origin: &&[u8]| {
        let has_scheme = |scheme: &[u8]| {
            origin.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
        };
        origin.is_empty()
            || origin.eq_ignore_ascii_case(b"null")
            || has_scheme(b"http:")
            || has_scheme(b"https:")
    };
    let mut origins = head::values(headers, "Origin")
        .flat_map(|value| value.split(|byte| matches!(byte, b',' | b' ' | b'\t')))
        .map(<[u8]>::trim_ascii);
    origins.find(is_web).map(|origin| String::from_utf8_lossy(origin).into_owned())
}

fn expects_continue(headers: &[httparse::Header<'_>]) -> Result<bool, RequestError> {
    match head::values(headers, "Expect").next() {
        None => Ok(false),
        Some(what) if what.trim_ascii().eq_ignore_ascii_case(b"100-continue") => Ok(true),
        Some(_) => Err(RequestError::Expectation),
    }
}

#[cfg(test)]
mod tests;
