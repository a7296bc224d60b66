//! What peers say, as logs and errors may repeat it: on one line, with nothing that a terminal obeys, and short.

use std::fmt::{self, Write};

use runnel_core::sanitize;

use crate::xmlrpc::Value;

/// How much of it is repeated, in characters.
const LONGEST: usize = 300;

/// A peer's words. Told once more they stay as they are.
pub fn told(words: &str) -> String {
    // No more is sanitized than is repeated, since no character gets shorter by it.
    let end = words.char_indices().nth(LONGEST).map_or(words.len(), |(end, _)| end);
    let mut told = Short::default();
    // That it is full is no error here.
    let _ = told.write_str(&sanitize::one_line(words.get(..end).unwrap_or_default()));
    told.text
}

/// A peer's value, of which no more is written out than is repeated.
pub(crate) fn brief(value: &Value) -> String {
    let mut told = Short::default();
    let _ = write!(told, "{value:?}");
    told.text
}

/// Takes text until it is full, and fails from then on.
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
    fn words_stay_on_one_line_and_leave_terminals_alone() {
        let words = "it's \"fine\" in C:\\ros, größer";
        assert_eq!(told(words), words);
        let forged = told("a\r\n[INFO]\u{1b}[2J\u{202e}\0");
        assert_eq!(forged, r"a\r\n[INFO]\x1b[2J\u{202e}\x00");
        assert_eq!(told(&forged), forged);
    }

    #[test]
    fn what_is_long_is_cut() {
        assert_eq!(told(&"ä".repeat(100_000)), "ä".repeat(LONGEST));
        let huge = Value::Array(vec![Value::from("x\n"); 100_000]);
        let brief = brief(&huge);
        assert!(brief.starts_with(r#"Array([String("x\n"), "#) && brief.len() == LONGEST, "{brief}");
    }
}
