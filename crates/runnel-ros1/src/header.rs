//! Connection header: the fields that both ends of a TCPROS connection exchange first.
//!
//! ```text
//!  0       4                       (little-endian)
//! +-------+-------+-----------+-------+-----------+
//! | total | n     | key=value | n     | key=value | ...
//! +-------+-------+-----------+-------+-----------+
//! ```
//! `total` counts everything after itself. Source: the TCPROS connection header of rospy and roscpp.

use std::fmt;

/// Longest header that is accepted, in bytes. Headers carry message definitions.
pub const MAX_HEADER: usize = 1 << 20;

/// Most fields that a header may have.
pub const MAX_FIELDS: usize = 128;

/// Longest value of a field that is stored with a link, in bytes. Names of nodes and types are far shorter.
pub const MAX_VALUE: usize = 1024;

/// The fields of a connection header, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConnectionHeader {
    fields: Vec<(String, String)>,
}

/// Reason why bytes are not a valid connection header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HeaderError {
    /// The header is longer than [`MAX_HEADER`].
    TooLong {
        /// Bytes of the fields.
        bytes: usize,
    },
    /// A field's length exceeds the rest of the header.
    FieldBeyondHeader {
        /// Bytes that the field claims.
        claimed: usize,
        /// Bytes left in the header.
        left: usize,
    },
    /// A field has no `=`.
    FieldWithoutEquals(String),
    /// More fields than [`MAX_FIELDS`].
    TooManyFields,
    /// A required field is missing.
    Missing(&'static str),
    /// The value of a field is longer than [`MAX_VALUE`].
    FieldTooLong(&'static str),
}

impl fmt::Display for HeaderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong { bytes } => {
                write!(f, "connection header: {bytes} bytes exceed the limit of {MAX_HEADER}")
            }
            Self::FieldBeyondHeader { claimed, left } => {
                write!(f, "connection header: a field announces {claimed} bytes, but only {left} are left")
            }
            Self::FieldWithoutEquals(text) => write!(f, "connection header: field {text:?} has no '='"),
            Self::TooManyFields => write!(f, "connection header: more than {MAX_FIELDS} fields"),
            Self::Missing(field) => write!(f, "connection header: the field '{field}' is missing"),
            Self::FieldTooLong(field) => {
                write!(f, "connection header: the field '{field}' is longer than {MAX_VALUE} bytes")
            }
        }
    }
}

impl std::error::Error for HeaderError {}

impl ConnectionHeader {
    /// A header of these fields.
    pub fn new<'a>(fields: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        Self { fields: fields.into_iter().map(|(k, v)| (k.to_owned(), v.to_owned())).collect() }
    }

    /// A header that refuses a connection, with the reason.
    pub fn error(why: &str) -> Self {
        Self::new([("error", why)])
    }

    /// Adds a field.
    pub fn push(&mut self, key: &str, value: &str) {
        self.fields.push((key.to_owned(), value.to_owned()));
    }

    /// The value of a field.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.fields.iter().find(|(k, _)| k == key).map(|(_, v)| v.as_str())
    }

    /// The value of a field that is stored with a link; empty if the field is missing.
    ///
    /// # Errors
    /// [`HeaderError::FieldTooLong`] names the field.
    pub fn bounded(&self, key: &'static str) -> Result<&str, HeaderError> {
        let value = self.get(key).unwrap_or_default();
        if value.len() > MAX_VALUE { Err(HeaderError::FieldTooLong(key)) } else { Ok(value) }
    }

    /// The value of a required field, which must not be empty.
    ///
    /// # Errors
    /// [`HeaderError::Missing`] or [`HeaderError::FieldTooLong`] names the field.
    pub fn require(&self, key: &'static str) -> Result<&str, HeaderError> {
        let value = self.bounded(key)?;
        if value.is_empty() { Err(HeaderError::Missing(key)) } else { Ok(value) }
    }

    /// Parses the fields that follow the total length. Invalid UTF-8 is replaced, since message definitions carry
    /// comments in other encodings.
    ///
    /// # Errors
    /// If the header is too long, a field is malformed, or there are too many fields.
    pub fn parse(mut bytes: &[u8]) -> Result<Self, HeaderError> {
        if bytes.len() > MAX_HEADER {
            return Err(HeaderError::TooLong { bytes: bytes.len() });
        }
        let mut fields = Vec::new();
        while !bytes.is_empty() {
            if fields.len() == MAX_FIELDS {
                return Err(HeaderError::TooManyFields);
            }
            let (field, rest) = split_field(bytes)?;
            fields.push(split_key(field)?);
            bytes = rest;
        }
        Ok(Self { fields })
    }

    /// The bytes of the fields without the total length, as UDPROS sends a header in a call.
    pub fn emit_fields(&self) -> Vec<u8> {
        self.emit().split_off(4)
    }

    /// The bytes of the header, total length first.
    pub fn emit(&self) -> Vec<u8> {
        let mut out = vec![0; 4];
        for (key, value) in &self.fields {
            out.extend_from_slice(&((key.len() + 1 + value.len()) as u32).to_le_bytes());
            out.extend_from_slice(key.as_bytes());
            out.push(b'=');
            out.extend_from_slice(value.as_bytes());
        }
        let total = (out.len() - 4) as u32;
        out[..4].copy_from_slice(&total.to_le_bytes());
        out
    }
}

fn split_field(bytes: &[u8]) -> Result<(&[u8], &[u8]), HeaderError> {
    let Some((length, rest)) = bytes.split_first_chunk() else {
        return Err(HeaderError::FieldBeyondHeader { claimed: 4, left: bytes.len() });
    };
    let claimed = u32::from_le_bytes(*length) as usize;
    rest.split_at_checked(claimed).ok_or(HeaderError::FieldBeyondHeader { claimed, left: rest.len() })
}

fn split_key(field: &[u8]) -> Result<(String, String), HeaderError> {
    let text = String::from_utf8_lossy(field);
    match text.split_once('=') {
        Some((key, value)) => Ok((key.to_owned(), value.to_owned())),
        None => Err(HeaderError::FieldWithoutEquals(text.chars().take(64).collect())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_bytes_match_roscpp() {
        let bytes = ConnectionHeader::new([("topic", "/a"), ("md5sum", "*")]).emit();
        assert_eq!(bytes, b"\x18\0\0\0\x08\0\0\0topic=/a\x08\0\0\0md5sum=*");
    }

    #[test]
    fn emitted_header_parses_back() {
        let header = ConnectionHeader::new([("a", "b=c"), ("empty", ""), ("text", "two\nlines")]);
        let parsed = ConnectionHeader::parse(&header.emit()[4..]).unwrap();
        assert_eq!(parsed, header);
        assert_eq!(parsed.get("a"), Some("b=c"));
        assert_eq!(parsed.require("empty"), Err(HeaderError::Missing("empty")));
    }

    #[test]
    fn malformed_fields_are_refused_and_named() {
        let parse = ConnectionHeader::parse;
        assert_eq!(parse(b"\x05\0\0\0a=b"), Err(HeaderError::FieldBeyondHeader { claimed: 5, left: 3 }));
        assert_eq!(parse(b"\x05\0"), Err(HeaderError::FieldBeyondHeader { claimed: 4, left: 2 }));
        assert_eq!(parse(b"\x03\0\0\0abc"), Err(HeaderError::FieldWithoutEquals("abc".into())));
        assert_eq!(parse(&b"\x02\0\0\0k=".repeat(MAX_FIELDS + 1)), Err(HeaderError::TooManyFields));
    }

    #[test]
    fn header_and_stored_fields_are_bounded() {
        let parse = |length: usize| {
            let fields = ConnectionHeader::new([("definition", "x".repeat(length - 15).as_str())]);
            ConnectionHeader::parse(&fields.emit_fields())
        };
        assert!(parse(MAX_HEADER).is_ok());
        assert_eq!(parse(MAX_HEADER + 1), Err(HeaderError::TooLong { bytes: MAX_HEADER + 1 }));
        let [most, more] = [MAX_VALUE, MAX_VALUE + 1].map(|length| "x".repeat(length));
        let header = ConnectionHeader::new([("most", most.as_str()), ("more", &more)]);
        assert_eq!((header.require("most"), header.bounded("none")), (Ok(most.as_str()), Ok("")));
        assert_eq!(header.require("more"), Err(HeaderError::FieldTooLong("more")));
    }

    #[test]
    fn header_tolerates_other_text_encodings() {
        let parsed = ConnectionHeader::parse(b"\x03\0\0\0k=\xe9").unwrap();
        assert_eq!(parsed.get("k"), Some("\u{fffd}"));
    }
}
