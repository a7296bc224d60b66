//! Tolerance for quoted text whose continuation lines are indented too little.
//!
//! YAML 1.2 requires their indentation and PyYAML does not: `rostopic echo` prints folded text so.

use super::de::ReadError;
use super::events::Events;
use crate::yaml::MAX_TEXT;
use std::borrow::Cow;

/// The parser's error for such text.
pub(super) const REASON: &str = "invalid indentation in quoted scalar";

/// Limit of the bytes parsed to find all such positions in a text: each is found by parsing from the beginning.
const MAX_PARSED: usize = 16 << 20;

/// The text with lines of quoted text indented where the parser refuses them, which does not change the value. Text with
/// other errors, or with too many such lines, stays unchanged.
pub(crate) fn indented(text: &str) -> Cow<'_, str> {
    let mut indented = Cow::Borrowed(text);
    let (mut parsed, mut first_unchecked) = (0, 0);
    while let Some((quote, column)) = refused_quote(&indented) {
        parsed += indented.len();
        // Where the parser refuses the same text again, moving its lines does not help.
        if quote < first_unchecked || parsed > MAX_PARSED {
            break;
        }
        let Some(next) = with_indented_quote(&indented, quote, column) else { break };
        indented = Cow::Owned(next);
        first_unchecked = quote + 1;
    }
    indented
}

/// Start of the first text that the parser refuses for its indentation: the index of the quote's character, and the quote's
/// column from 0.
fn refused_quote(text: &str) -> Option<(usize, usize)> {
    let mut events = Events::new(text);
    let mut read = || -> Result<(), ReadError> {
        while events.next_document()? {
            events.skip()?;
        }
        Ok(())
    };
    read().err()?.refused_quote
}

fn with_indented_quote(text: &str, quote: usize, column: usize) -> Option<String> {
    let (start, _) = text.char_indices().nth(quote)?;
    let (before, quoted) = text.split_at_checked(start)?;
    let end = quoted_len(quoted)?;
    let (quoted, behind) = quoted.split_at_checked(end)?;
    // A carriage return without a line feed also ends a line, and is not indented.
    if !quoted.contains('\n') {
        return None;
    }
    let len = text.len() + column * quoted.matches('\n').count();
    let moved = || quoted.replace('\n', &format!("\n{:column$}", ""));
    (len <= MAX_TEXT).then(|| format!("{before}{}{behind}", moved()))
}

/// Length of the quoted text at the beginning of a text, with its quotes; `None` if it does not end.
fn quoted_len(text: &str) -> Option<usize> {
    let mut rest = text.char_indices().peekable();
    let (_, quote) = rest.next()?;
    while let Some((at, character)) = rest.next() {
        if character == '\\' && quote == '"' {
            rest.next();
        } else if character == quote && !(quote == '\'' && rest.next_if(|(_, next)| *next == quote).is_some())
        {
            return Some(at + quote.len_utf8());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_quoted_text_are_moved_to_the_right() {
        for (text, expected) in [
            ("a:\n    b: \"x\\\n  \\ y \\\" z\"\n", "a:\n    b: \"x\\\n         \\ y \\\" z\"\n"),
            ("a:\n  b: 'it''s\n\nx'\nc: 1\n", "a:\n  b: 'it''s\n     \n     x'\nc: 1\n"),
        ] {
            assert_eq!(indented(text), expected);
        }
        let twice = "a:\n  b: \"x\n y\"\n  c: \"x\n y\"\n";
        assert!(refused_quote(twice).is_some() && refused_quote(&indented(twice)).is_none());
    }

    #[test]
    fn other_text_stays_as_it_is() {
        for text in ["a: \"b\n  c\"\n", "a: |\n  \"x\n  y\"\n", "a: [", "a:\n  b: \"x\n y", ""] {
            assert_eq!(indented(text), text);
        }
    }

    #[test]
    fn lone_carriage_returns_are_not_repaired() {
        let text = "a:\n  b: \"x\\\r\ry\"\n";
        assert!(refused_quote(text).is_some());
        assert!(matches!(indented(text), Cow::Borrowed(_)));
    }

    #[test]
    fn text_does_not_grow_beyond_bounds() {
        let wide = format!("a:\n{}b: \"{}\"", " ".repeat(2000), "\nx".repeat(1 << 20));
        assert!(matches!(indented(&wide), Cow::Borrowed(_)));
    }
}
