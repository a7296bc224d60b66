//! HTTP as XML-RPC needs it: requests that are POSTs with a length, and the answers to them.
//!
//! The two parsers, [`RequestParser`] and [`ResponseParser`], take bytes in any pieces and never panic. What a
//! peer can make them hold is bounded: a head by [`MAX_HEAD`] and [`MAX_HEADERS`], a body by the limit that they
//! are made with, and nothing is allocated for a length before its bytes are there. After an error a parser is
//! of no more use: the connection has to be closed.
//!
//! The two writers, [`request`] and [`response`], write heads that roscpp accepts, which wants exactly one space
//! after `Content-length:` and `HTTP/1.1 200 OK` in an answer.

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

/// The longest head of a request or an answer, in bytes: what stands before the body.
pub const MAX_HEAD: usize = 16 * 1024;

/// How many header fields a head may have.
pub const MAX_HEADERS: usize = 64;

/// The longest line that announces a chunk of a chunked answer, and the longest of the lines after the last, in
/// bytes.
pub const MAX_CHUNK_LINE: usize = 1024;

/// The body limit that a peer has by default, in bytes: 16 MiB. The largest document in ROS is a robot's
/// description or a tree of parameters, a few MiB in robots of the field.
pub const DEFAULT_MAX_BODY: usize = 16 * 1024 * 1024;
