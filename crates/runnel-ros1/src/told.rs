//! Text of peers made safe for logs and errors: one line, no terminal control characters, bounded length.

use std::fmt::{self, Write};

use runnel_core::sanitize;

use crate::xmlrpc::Value;

/// Longest text that is repeated, in characters.
const LONGEST: usize = 300;

/// Makes text of a peer printable. A text that has passed once passes again unchanged.
pub fn told(words: &str) -> String {
    // Only the part that is kept is sanitized: no character gets shorter.
    let end = words.char_indices().nth(LONGEST).map_or(words.len(), |(end, _)| end);
    let mut told = Short::default();
    // An error means only that the text is full.
    let _ = told.write_str(&sanitize::one_line(words.get(..end).unwrap_or_default()));
    told.text
}

/// A peer's value, made printable. Nothing is formatted past the limit.
pub(crate) fn brief(value: &Value) -> String {
    let mut told = Short::default();
    let _ = write!(told, "{value:?}");
    told.text
}

/// Takes text until it is full; later writes fail.
#[derive(Default)]
struct Short {
    text: String,
    letters: usize,
}

impl Write for Short {
    fn write_str(&mut self, more: &str) -> fmt::Result {
        for letter in more.chars() {
            if self.letters == LONGEST {
                return Err(fmt::Error);
            }
            self.text.push(letter);
            self.letters += 1;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peer_text_cannot_control_the_terminal() {
        let words = "it's \"fine\" in C:\\ros, größer";
        assert_eq!(told(words), words);
        let forged = told("a\r\n[INFO]\u{1b}[2J\u{202e}\0");
        assert_eq!(forged, r"a\r\n[INFO]\x1b[2J\u{202e}\x00");
        assert_eq!(told(&forged), forged);
    }

    #[test]
    fn long_text_is_cut() {
        assert_eq!(told(&"ä".repeat(100_000)), "ä".repeat(LONGEST));
        let huge = Value::Array(vec![Value::from("x\n"); 100_000]);
        let brief = brief(&huge);
        assert!(brief.starts_with(r#"Array([String("x\n"), "#) && brief.len() == LONGEST, "{brief}");
    }
}
