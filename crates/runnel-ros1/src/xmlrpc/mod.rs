//! XML-RPC as the original ROS 1 programs speak it, bounded.
//!
//! Decoding takes a whole body of any bytes and never panics: it gives a value, or a [`DecodeError`] that names
//! the element and the byte. What a document can cost is bounded before it is paid: the body by whoever read it
//! (see [`crate::http`]), nesting by [`MAX_DEPTH`], the number of values by [`MAX_VALUES`]; document type
//! definitions are refused, so no entity but the five of XML itself exists.
//!
//! Encoding writes what every original reads: `<i4>`, `<string>`, no white space between elements. Line ends in
//! strings are written and read as they are, as roscpp does; a conforming XML parser, such as Python's, reads a
//! carriage return as a line feed.

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

/// How deep arrays and structs may stand in one another, in values: the outermost value has depth 1.
pub const MAX_DEPTH: usize = 64;

/// How many values one call or response may hold, each array, struct and element counted.
pub const MAX_VALUES: usize = 1 << 20;

/// The answer of a peer that would not carry a call out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The peer's number for what went wrong: roscpp says -1, Python 1.
    pub code: i32,
    /// What went wrong, for people.
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
