//! Text of peers made safe for logs and errors: one line, no terminal control characters, bounded length.

use std::fmt::{self, Write};

use runnel_core::sanitize::one_line;

use crate::xmlrpc::Value;

/// Longest text that is repeated, in characters.
const MAX_CHARS: usize = 300;

/// Makes text of a peer printable. A text that has passed once passes again unchanged.
pub fn sanitize(text: &str) -> String {
    // Only the part that is kept is sanitized: no character gets shorter.
    let end = text.char_indices().nth(MAX_CHARS).map_or(text.len(), |(end, _)| end);
    let mut out = BoundedText::default();
    // An error means only that the text is full.
    let _ = out.write_str(&one_line(text.get(..end).unwrap_or_default()));
    out.text
}

/// A peer's value, made printable. Nothing is formatted past the limit.
pub(crate) fn sanitize_value(value: &Value) -> String {
    let mut out = BoundedText::default();
    let _ = write!(out, "{value:?}");
    out.text
}

/// Takes text until it is full; later writes fail.
#[derive(Default)]
struct BoundedText {
    text: String,
    count: usize,
}

impl Write for BoundedText {
    fn write_str(&mut self, more: &str) -> fmt::Result {
        for ch in more.chars() {
            if self.count == MAX_CHARS {
                return Err(fmt::Error);
            }
            self.text.push(ch);
            self.count += 1;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peer_text_cannot_control_the_terminal() {
        let text = "it's \"fine\" in C:\\ros, größer";
        assert_eq!(sanitize(text), text);
        let forged = sanitize("a\r\n[INFO]\u{1b}[2J\u{202e}\0");
        assert_eq!(forged, r"a\r\n[INFO]\x1b[2J\u{202e}\x00");
        assert_eq!(sanitize(&forged), forged);
    }

    #[test]
    fn long_text_is_cut() {
        assert_eq!(sanitize(&"ä".repeat(100_000)), "ä".repeat(MAX_CHARS));
        let huge = Value::Array(vec![Value::from("x\n"); 100_000]);
        let value = sanitize_value(&huge);
        assert!(value.starts_with(r#"Array([String("x\n"), "#) && value.len() == MAX_CHARS, "{value}");
    }
}
