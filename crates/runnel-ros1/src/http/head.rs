//! Parsing that request heads and response heads share.

use httparse::Header;

use super::{MAX_HEAD, MAX_HEADERS};

/// Empty storage for the fields of one head.
pub(super) fn no_headers<'a>() -> [Header<'a>; MAX_HEADERS] {
    [httparse::EMPTY_HEADER; MAX_HEADERS]
}

/// Incremental search for the end of a head.
#[derive(Debug, Default)]
pub(super) struct HeadScan {
    /// Bytes already searched without an end of the head.
    scanned: usize,
}

/// Result of a search for the end of a head.
pub(super) enum HeadState {
    /// Not found yet.
    Partial,
    /// Found: the length of the head, with the empty line that ends it.
    Whole(usize),
    /// The head is longer than [`MAX_HEAD`].
    TooLong,
}

impl HeadScan {
    /// Searches for the end of the head in `bytes`, which must begin with the bytes of the earlier calls. Each byte
    /// is searched about once, whatever the pieces.
    pub fn find_end(&mut self, bytes: &[u8]) -> HeadState {
        match end_of_head(bytes, self.scanned) {
            Some(end) if end <= MAX_HEAD => HeadState::Whole(end),
            None if bytes.len() <= MAX_HEAD => {
                self.scanned = bytes.len().saturating_sub(2);
                HeadState::Partial
            }
            _ => HeadState::TooLong,
        }
    }
}

/// End of the empty line after a head. Lines may end in CR LF or LF.
fn end_of_head(bytes: &[u8], from: usize) -> Option<usize> {
    let tail = bytes.get(from..)?;
    let line_ends = tail.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1);
    let mut ends = line_ends.filter_map(|at| {
        let rest = tail.get(at..)?;
        let empty = if rest.starts_with(b"\n") { 1 } else { 2 * usize::from(rest.starts_with(b"\r\n")) };
        (empty > 0).then_some(from + at + empty)
    });
    ends.next()
}

/// The values of all fields with this name, compared case-insensitively.
pub(super) fn values<'a>(headers: &'a [Header<'a>], name: &'a str) -> impl Iterator<Item = &'a [u8]> {
    headers.iter().filter(move |header| header.name.eq_ignore_ascii_case(name)).map(|header| header.value)
}

/// Whether a field is a list that contains this token, case-insensitively.
pub(super) fn has_token(headers: &[Header<'_>], name: &str, token: &str) -> bool {
    values(headers, name)
        .flat_map(|value| value.split(|byte| *byte == b','))
        .any(|item| item.trim_ascii().eq_ignore_ascii_case(token.as_bytes()))
}

/// Whether the body has a content coding, such as gzip.
pub(super) fn is_coded(headers: &[Header<'_>]) -> bool {
    values(headers, "Content-Encoding").any(|value| !value.trim_ascii().eq_ignore_ascii_case(b"identity"))
}

/// Value of `Content-Length`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ContentLength {
    /// The field is missing.
    Absent,
    /// A number of bytes.
    Bytes(usize),
    /// Not a number, a number of more than 64 bits, or two that differ.
    Bad,
}

/// The length that a head announces for its body.
pub(super) fn content_length(headers: &[Header<'_>]) -> ContentLength {
    let lengths = values(headers, "Content-Length").map(|value| match decimal(value.trim_ascii()) {
        Some(bytes) => ContentLength::Bytes(bytes),
        None => ContentLength::Bad,
    });
    lengths.fold(ContentLength::Absent, |known, found| match known {
        ContentLength::Absent => found,
        same if same == found => same,
        _ => ContentLength::Bad,
    })
}

/// A 64-bit number written in digits only; one beyond `usize` becomes its maximum.
fn decimal(digits: &[u8]) -> Option<usize> {
    let add = |sum: u64, digit: &u8| {
        let value = digit.is_ascii_digit().then(|| u64::from(digit - b'0'))?;
        sum.checked_mul(10)?.checked_add(value)
    };
    let number = digits.iter().try_fold(0, add).filter(|_| !digits.is_empty())?;
    Some(usize::try_from(number).unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header<'a>(name: &'a str, value: &'a str) -> Header<'a> {
        Header { name, value: value.as_bytes() }
    }

    fn end_in_pieces(text: &str, size: usize) -> Option<usize> {
        let mut scan = HeadScan::default();
        let ends = (1..=text.len().div_ceil(size)).map(|piece| (piece * size).min(text.len()));
        ends.map(|end| scan.find_end(&text.as_bytes()[..end])).find_map(|state| match state {
            HeadState::Whole(end) => Some(end),
            _ => None,
        })
    }

    #[test]
    fn end_of_head_is_found_in_any_pieces() {
        for text in ["a\r\nb\r\n\r\nrest", "a\nb\n\nrest", "a\r\nb\n\r\nrest", "a\nb\r\n\nrest"] {
            let end = text.find("rest");
            for size in 1..=text.len() {
                assert_eq!(end_in_pieces(text, size), end, "{text:?} by {size}");
            }
        }
    }

    #[test]
    fn head_is_limited_to_maximum_length() {
        let head = |length: usize| "a".repeat(length - 4) + "\r\n\r\n";
        let find_end = |head: String| HeadScan::default().find_end(head.as_bytes());
        assert!(matches!(find_end(head(MAX_HEAD)), HeadState::Whole(MAX_HEAD)));
        assert!(matches!(find_end(head(MAX_HEAD + 1)), HeadState::TooLong));
        assert!(matches!(find_end("a".repeat(MAX_HEAD)), HeadState::Partial));
        assert!(matches!(find_end("a".repeat(MAX_HEAD + 1)), HeadState::TooLong));
    }

    #[test]
    fn content_length_must_be_digits_and_agree() {
        let length = |values: &[&str]| {
            let headers: Vec<_> = values.iter().map(|value| header("content-LENGTH", value)).collect();
            content_length(&headers)
        };
        assert_eq!(length(&[]), ContentLength::Absent);
        assert_eq!(length(&[" 12 "]), ContentLength::Bytes(12));
        assert_eq!(length(&["12", "12"]), ContentLength::Bytes(12));
        assert_eq!(length(&["18446744073709551615"]), ContentLength::Bytes(usize::MAX));
        assert_eq!(length(&["18446744073709551616"]), ContentLength::Bad);
        for bad in [&["12", "13"][..], &["+1"], &["-1"], &["1 2"], &["0x1"], &[""], &["1,1"]] {
            assert_eq!(length(bad), ContentLength::Bad, "{bad:?}");
        }
    }

    #[test]
    fn tokens_are_found_in_lists() {
        let headers = [header("connection", "Keep-Alive, Close")];
        assert!(has_token(&headers, "Connection", "close"));
        assert!(!has_token(&headers, "Connection", "clos"));
    }
}
