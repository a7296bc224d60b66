//! HTTP for XML-RPC: POST requests with a length, and their responses.
//!
//! The parsers, [`RequestParser`] and [`ResponseParser`], take bytes in pieces of any size and never panic. The
//! memory that a peer can make them use is bounded: a head by [`MAX_HEAD`] and [`MAX_HEADERS`], a body by the limit
//! passed to `new`. Nothing is allocated for a length before its bytes have arrived. After an error, the parser
//! cannot be used further and the connection must be closed.
//!
//! The writers, [`request()`] and [`response()`], write heads that roscpp accepts: exactly one space after
//! `Content-length:`, and `HTTP/1.1 200 OK` in a response.

mod chunked;
mod head;
mod request;
mod response;
mod write;

#[cfg(test)]
pub(crate) mod vectors;

pub use request::{Request, RequestError, RequestParser, RequestStep};
pub use response::{Response, ResponseError, ResponseParser};
pub use write::{CONTINUE, refusal, request, response};

/// Longest head of a request or a response, in bytes.
pub const MAX_HEAD: usize = 16 * 1024;

/// Most header fields in a head.
pub const MAX_HEADERS: usize = 64;

/// Longest chunk-size line and longest trailer line of a chunked response, in bytes.
pub const MAX_CHUNK_LINE: usize = 1024;

/// Default limit of a body, in bytes: 16 MiB. The largest documents in ROS are robot descriptions and parameter
/// trees, a few MiB on real robots.
pub const DEFAULT_MAX_BODY: usize = 16 * 1024 * 1024;
