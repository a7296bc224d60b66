//! What the heads of requests and of answers have in common.

use httparse::Header;

use super::{MAX_HEAD, MAX_HEADERS};

/// Room for the fields of one head.
pub(super) fn no_headers<'a>() -> [Header<'a>; MAX_HEADERS] {
    [httparse::EMPTY_HEADER; MAX_HEADERS]
}

/// Bytes of which a head is the beginning, as they come in.
#[derive(Debug, Default)]
pub(super) struct HeadScan {
    /// How many bytes are known to hold no end of a head.
    scanned: usize,
}

/// Whether a head has come in whole.
pub(super) enum HeadState {
    /// Not yet.
    Partial,
    /// Its length, with the empty line that ends it.
    Whole(usize),
    /// It is longer than [`MAX_HEAD`].
    TooLong,
}

impl HeadScan {
    /// Looks for the end of the head in `bytes`, of which the part that an earlier call has seen is the same:
    /// so each byte is looked at about once, in whatever pieces they come.
    pub fn look(&mut self, bytes: &[u8]) -> HeadState {
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

/// Where the empty line ends that ends a head: lines may end in CR LF or LF.
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

/// The values of every field of this name, which is compared without regard to case.
pub(super) fn values<'a>(headers: &'a [Header<'a>], name: &'a str) -> impl Iterator<Item = &'a [u8]> {
    headers.iter().filter(move |header| header.name.eq_ignore_ascii_case(name)).map(|header| header.value)
}

/// Whether a field is a list that holds this word, in any case.
pub(super) fn has_word(headers: &[Header<'_>], name: &str, word: &str) -> bool {
    values(headers, name)
        .flat_map(|value| value.split(|byte| *byte == b','))
        .any(|item| item.trim_ascii().eq_ignore_ascii_case(word.as_bytes()))
}

/// Whether the body is in a coding, such as gzip, and not as it is.
pub(super) fn is_coded(headers: &[Header<'_>]) -> bool {
    values(headers, "Content-Encoding").any(|value| !value.trim_ascii().eq_ignore_ascii_case(b"identity"))
}

/// What `Content-Length` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ContentLength {
    /// There is none.
    Absent,
    /// So many bytes.
    Bytes(usize),
    /// No number, one of more than 64 bits, or two that differ.
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

/// A number of digits alone, which fits 64 bits; one beyond `usize` is held at its end.
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
        ends.map(|end| scan.look(&text.as_bytes()[..end])).find_map(|state| match state {
            HeadState::Whole(end) => Some(end),
            _ => None,
        })
    }

    #[test]
    fn the_end_of_a_head_is_found_in_pieces_of_any_size() {
        for text in ["a\r\nb\r\n\r\nrest", "a\nb\n\nrest", "a\r\nb\n\r\nrest", "a\nb\r\n\nrest"] {
            let end = text.find("rest");
            for size in 1..=text.len() {
                assert_eq!(end_in_pieces(text, size), end, "{text:?} by {size}");
            }
        }
    }

    #[test]
    fn a_head_may_have_the_longest_length_and_not_a_byte_more() {
        let head = |length: usize| "a".repeat(length - 4) + "\r\n\r\n";
        let look = |head: String| HeadScan::default().look(head.as_bytes());
        assert!(matches!(look(head(MAX_HEAD)), HeadState::Whole(MAX_HEAD)));
        assert!(matches!(look(head(MAX_HEAD + 1)), HeadState::TooLong));
        assert!(matches!(look("a".repeat(MAX_HEAD)), HeadState::Partial));
        assert!(matches!(look("a".repeat(MAX_HEAD + 1)), HeadState::TooLong));
    }

    #[test]
    fn lengths_are_digits_alone_and_agree() {
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
    fn words_are_found_in_lists() {
        let headers = [header("connection", "Keep-Alive, Close")];
        assert!(has_word(&headers, "Connection", "close"));
        assert!(!has_word(&headers, "Connection", "clos"));
    }
}
