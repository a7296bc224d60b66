//! XML-RPC as the ROS 1 programs use it, with bounds.
//!
//! Decoding accepts a whole body of any bytes and never panics. It returns a value, or a [`DecodeError`] that names
//! the element and the byte offset. Resource use is bounded in advance: the body by the HTTP parser (see
//! [`crate::http`]), nesting by [`MAX_DEPTH`], the number of values by [`MAX_VALUES`]. Document type definitions are
//! refused, so that only the five entities of XML itself exist.
//!
//! Encoding writes what every ROS 1 implementation reads: `<i4>`, `<string>`, no white space between elements. Line
//! ends in strings are kept unchanged, as in roscpp; a conforming XML parser, such as Python's, reads a carriage
//! return as a line feed.

mod base64;
mod decode;
mod double;
mod encode;
mod error;
mod lexer;
mod tag;
mod value;

pub use decode::{Call, decode_call, decode_response};
pub use encode::{encode_call, encode_response};
pub use error::{DecodeError, DecodeProblem, EncodeError, EncodeProblem};
pub use value::Value;

use core::fmt;

/// Deepest nesting of arrays and structs, in values. The outermost value has depth 1.
pub const MAX_DEPTH: usize = 64;

/// Most values in one call or response. Each array, struct and element counts.
pub const MAX_VALUES: usize = 1 << 20;

/// A fault: the server's report that it did not carry out a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The server's error code: roscpp uses -1, Python 1.
    pub code: i32,
    /// The error, as text for people.
    pub message: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "fault {}: {}", self.code, self.message)
    }
}

impl core::error::Error for Fault {}

/// Whether XML 1.0 can hold a character (Extensible Markup Language 1.0, section 2.2, `Char`).
fn is_xml_char(ch: char) -> bool {
    match ch {
        '\t' | '\n' | '\r' => true,
        '\u{FFFE}' | '\u{FFFF}' => false,
        _ => ch >= ' ',
    }
}

/// The first character of a text that XML cannot hold, and its byte offset.
fn first_forbidden(text: &str) -> Option<(usize, char)> {
    text.char_indices().find(|(_, ch)| !is_xml_char(*ch))
}
