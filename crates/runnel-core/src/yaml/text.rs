//! Text in the styles of PyYAML's emitter, lines of 80 columns: what `rostopic echo` prints for strings.

use super::implicit::is_text;

/// A line is broken where it would go past this column.
const WIDTH: usize = 80;

/// Column of continuation lines of an outermost value.
const INDENT: usize = 2;

/// A text that is a field's value: quoted doubly, or `''` if it is empty.
pub(super) fn field_text(text: &str) -> String {
    if text.is_empty() { "''".into() } else { double_quoted(text, Line::at(0, INDENT)) }
}

/// A text that is an element of a block sequence, after its `- `.
pub(super) fn item_text(text: &str) -> String {
    block_text(text, INDENT, INDENT)
}

/// A text in a block that begins at `column` and continues at `indent` after a line break: unquoted if that parses back as the
/// text, otherwise in single quotes if possible, otherwise in double quotes.
pub fn block_text(text: &str, column: usize, indent: usize) -> String {
    let line = Line::at(column, indent);
    if !text.bytes().all(|c| matches!(c, b' '..=b'~' | b'\n')) || text.contains("\n ") || text.contains(" \n")
    {
        double_quoted(text, line)
    } else if can_be_plain(text) && is_text(text) {
        plain(text, line)
    } else {
        single_quoted(text, line)
    }
}

/// Whether printable ASCII text is valid unquoted in a block sequence.
fn can_be_plain(text: &str) -> bool {
    let followed_by_space = |index: usize| text.as_bytes().get(index + 1).is_none_or(|c| *c == b' ');
    let mut before = b' ';
    for (index, c) in text.bytes().enumerate() {
        let structure = match c {
            b'\n' => true,
            b'#' => before == b' ',
            b':' => followed_by_space(index),
            b'?' | b'-' => index == 0 && followed_by_space(index),
            _ => index == 0 && b",[]{}&*!|>'\"%@`".contains(&c),
        };
        if structure {
            return false;
        }
        before = c;
    }
    let marker = text.starts_with("---") || text.starts_with("...");
    !marker && !text.is_empty() && !text.starts_with(' ') && !text.ends_with(' ')
}

/// Output text with its current column.
struct Line {
    out: String,
    column: usize,
    indent: usize,
}

impl Line {
    fn at(column: usize, indent: usize) -> Self {
        Self { out: String::new(), column, indent }
    }

    fn put(&mut self, text: &str) {
        self.out.push_str(text);
        self.column += text.len();
    }

    fn wrap(&mut self) {
        self.out.push('\n');
        self.out.extend(std::iter::repeat_n(' ', self.indent));
        self.column = self.indent;
    }
}

fn plain(text: &str, mut line: Line) -> String {
    let mut runs = Runs { rest: text };
    while let Some(run) = runs.next() {
        if run == " " && line.column > WIDTH { line.wrap() } else { line.put(run) }
    }
    line.out
}

fn single_quoted(text: &str, mut line: Line) -> String {
    line.put("'");
    let mut runs = Runs { rest: text };
    let mut first = true;
    while let Some(run) = runs.next() {
        let last = runs.rest.is_empty();
        if run.starts_with('\n') {
            // One line break more than in the text: a single one is parsed as a space.
            line.out.push_str(run);
            line.wrap();
        } else if run == " " && line.column > WIDTH && !first && !last {
            line.wrap();
        } else {
            line.put(&run.replace('\'', "''"));
        }
        first = false;
    }
    line.put("'");
    line.out
}

/// A text cut into runs of spaces, runs of line breaks, and runs of neither.
struct Runs<'a> {
    rest: &'a str,
}

impl<'a> Runs<'a> {
    fn next(&mut self) -> Option<&'a str> {
        let kind = |c: char| if matches!(c, ' ' | '\n') { c } else { 'x' };
        let first = kind(self.rest.chars().next()?);
        let end = self.rest.find(|c| kind(c) != first).unwrap_or(self.rest.len());
        let (run, rest) = self.rest.split_at(end);
        self.rest = rest;
        Some(run)
    }
}

fn double_quoted(text: &str, mut line: Line) -> String {
    line.put("\"");
    let mut chars = text.chars().peekable();
    // Unescaped characters are collected here, since a line is broken before the word that exceeds its end.
    let mut word = String::new();
    let mut first = true;
    while let Some(c) = chars.next() {
        let escaped = escape(c);
        let after_escape = word.is_empty();
        if let Some(escaped) = &escaped {
            line.put(&word);
            line.put(escaped);
            word.clear();
        }
        // An escape may end one column past the end of the line.
        let end = line.column + word.len();
        let past = if escaped.is_some() { end > WIDTH + 1 } else { end > WIDTH };
        let may_break = escaped.is_some() || c == ' ' || after_escape;
        if past && may_break && !first && chars.peek().is_some() {
            line.put(&word);
            word.clear();
            line.put("\\");
            line.wrap();
            let next = if escaped.is_some() { chars.peek().copied() } else { Some(c) };
            if next == Some(' ') {
                line.put("\\");
            }
        }
        if escaped.is_none() {
            word.push(c);
        }
        first = false;
    }
    line.put(&word);
    line.put("\"");
    line.out
}

/// The escape of a character, if it needs one.
fn escape(c: char) -> Option<String> {
    let short = match c {
        '"' => "\\\"",
        '\\' => "\\\\",
        ' '..='~' => return None,
        '\0' => "\\0",
        '\x07' => "\\a",
        '\x08' => "\\b",
        '\t' => "\\t",
        '\n' => "\\n",
        '\x0b' => "\\v",
        '\x0c' => "\\f",
        '\r' => "\\r",
        '\x1b' => "\\e",
        '\u{85}' => "\\N",
        '\u{a0}' => "\\_",
        '\u{2028}' => "\\L",
        '\u{2029}' => "\\P",
        _ => {
            return Some(match u32::from(c) {
                code @ 0..=0xff => format!("\\x{code:02X}"),
                code @ 0x100..=0xffff => format!("\\u{code:04X}"),
                code => format!("\\U{code:08X}"),
            });
        }
    };
    Some(short.into())
}
