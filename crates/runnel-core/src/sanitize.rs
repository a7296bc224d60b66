//! Sanitization of text from peers for display: names, types, values, errors and any other text that another process chooses.
//!
//! Terminals interpret control characters, and bidirectional marks reorder text. A peer could clear the screen, hide its name
//! or forge a line of a log. Each output channel (log line, command output, errors, JSON, CSV) calls one of these
//! functions where it is written.
//!
//! | Shown as | Characters |
//! |---|---|
//! | `\n`, `\r`, `\t` | line feed, carriage return, tab; line feed and tab stay where the text may have several lines |
//! | `\x1b` | the other C0 characters (U+0000 to U+001F) and DEL (U+007F) |
//! | `\u{9b}` | C1 (U+0080 to U+009F), U+2028, U+2029, U+202A to U+202E, U+2066 to U+2069 |
//!
//! A backslash stays unchanged, so that sanitizing twice has the effect of once. JSON, CSV and YAML keep the exact value.

use alloc::borrow::Cow;
use alloc::string::String;
use core::fmt::Write;

/// Prefix of continuation lines of a log text.
pub const CONTINUATION: &str = "    ";

/// Whether a character could steer a terminal, end a line or reorder text.
pub fn is_unsafe(character: char) -> bool {
    matches!(character, '\0'..='\x1f' | '\x7f'..='\u{9f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The text on one line.
pub fn one_line(text: &str) -> Cow<'_, str> {
    escaped(text, is_unsafe, write_escape)
}

/// The text with its line feeds and tabs.
pub fn block(text: &str) -> Cow<'_, str> {
    escaped(text, |character| is_unsafe(character) && !matches!(character, '\n' | '\t'), write_escape)
}

/// The text of a log line or an error: as [`block`], with later lines indented by [`CONTINUATION`], so that they cannot pass
/// for lines of their own.
pub fn log_text(text: &str) -> Cow<'_, str> {
    let shown = block(text);
    let (body, end) = match shown.strip_suffix('\n') {
        Some(body) => (body, "\n"),
        None => (&*shown, ""),
    };
    let is_marked = |line: &str| line.is_empty() || line.starts_with(CONTINUATION);
    if body.split('\n').skip(1).all(is_marked) {
        return shown;
    }
    let mut marked = String::with_capacity(shown.len() + 64);
    for (index, line) in body.split('\n').enumerate() {
        if index > 0 {
            marked.push('\n');
            marked.push_str(if is_marked(line) { "" } else { CONTINUATION });
        }
        marked.push_str(line);
    }
    marked.push_str(end);
    Cow::Owned(marked)
}

/// A JSON document with these characters in its strings escaped (`\u009b`), which decodes to the same value. JSON writers
/// escape only C0. Outside strings JSON contains none of them except white space, which stays.
pub fn json(document: &str) -> Cow<'_, str> {
    escaped(
        document,
        |character| is_unsafe(character) && character >= '\x7f',
        |character, out| {
            // Writing to a string cannot fail.
            let _ = write!(out, "\\u{:04x}", u32::from(character));
        },
    )
}

fn escaped(
    text: &str,
    is_replaced: impl Fn(char) -> bool,
    write: impl Fn(char, &mut String),
) -> Cow<'_, str> {
    let Some(first) = text.find(&is_replaced) else { return Cow::Borrowed(text) };
    let (clean, rest) = text.split_at(first);
    let mut out = String::with_capacity(text.len() + 16);
    out.push_str(clean);
    for character in rest.chars() {
        if is_replaced(character) { write(character, &mut out) } else { out.push(character) }
    }
    Cow::Owned(out)
}

fn write_escape(character: char, out: &mut String) {
    let written = match character {
        '\n' => out.write_str("\\n"),
        '\r' => out.write_str("\\r"),
        '\t' => out.write_str("\\t"),
        '\0'..='\x7f' => write!(out, "\\x{:02x}", u32::from(character)),
        _ => write!(out, "\\u{{{:x}}}", u32::from(character)),
    };
    // Writing to a string cannot fail.
    let _ = written;
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn every_character() -> impl Iterator<Item = char> {
        '\0'..=char::MAX
    }

    #[test]
    fn control_and_direction_characters_are_unsafe() {
        let found: Vec<char> = every_character().filter(|character| is_unsafe(*character)).collect();
        let expected = ('\0'..='\x1f').chain('\x7f'..='\u{9f}').chain('\u{2028}'..='\u{202e}');
        assert_eq!(found, expected.chain('\u{2066}'..='\u{2069}').collect::<Vec<_>>());
    }

    #[test]
    fn one_line_shows_each_unsafe_character_as_escape() {
        let text = "a\r\n\t[INFO]\x1b[2J\u{9b}\u{202e}\0\x7f ö \\ 'ж'";
        let shown = r"a\r\n\t[INFO]\x1b[2J\u{9b}\u{202e}\x00\x7f ö \ 'ж'";
        assert_eq!(one_line(text), shown);
        assert_eq!(one_line(shown), shown, "once is enough");
        assert!(!every_character().any(|one| one_line(&String::from(one)).contains(is_unsafe)));
    }

    #[test]
    fn block_keeps_lines_and_tabs() {
        assert_eq!(block("a:\n\t- b\x1b\r\n"), "a:\n\t- b\\x1b\\r\n");
        assert!(matches!(block("plain\n"), Cow::Borrowed(_)));
    }

    #[test]
    fn later_lines_of_log_text_are_indented_once() {
        assert_eq!(log_text("a\n[ERROR] b\n\nc\n"), "a\n    [ERROR] b\n\n    c\n");
        assert_eq!(log_text("a\r[ERROR] b\u{2028}c"), "a\\r[ERROR] b\\u{2028}c");
        let once = log_text("a\nb\n  c\nd");
        assert_eq!(log_text(&once), once);
        assert_eq!(log_text("a\n"), "a\n");
    }

    #[test]
    fn json_has_no_raw_unsafe_character() {
        assert_eq!(json("{\"a\": \"\u{9b}\u{202e}\x7f\"}\n"), "{\"a\": \"\\u009b\\u202e\\u007f\"}\n");
    }
}
