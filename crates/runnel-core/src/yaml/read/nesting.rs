//! How deep lists and mappings in flow style lie in one another, found before the parser sees the text: its time grows
//! with more than the square of that.
//!
//! Brackets within quotes and comments do not count, and where those are cannot be known everywhere without all of
//! YAML. So a [`Scan`] reads what it knows for certain, which is all of flow style and block style as messages are
//! written, and gives up elsewhere: from there on every opening bracket counts. The depth found is never less than
//! that which the parser comes to.

/// The most brackets that may stand open at one place of a text: messages lie at most
/// [`MAX_MESSAGE_DEPTH`](crate::schema::MAX_MESSAGE_DEPTH) deep and need two for each level. The reader of values goes no deeper either.
pub const MAX_BRACKETS: usize = 2 * crate::schema::MAX_MESSAGE_DEPTH;

/// The most `%TAG` lines of a text: the parser compares each with all before it, and messages need none.
const MAX_TAG_LINES: usize = 64;

/// True if the parser reads a text in good time.
pub(super) fn is_bounded(text: &str) -> bool {
    let lines = text.split(['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}']);
    let tag_lines = lines.filter(|line| line.trim_start_matches('\u{feff}').starts_with("%TAG"));
    tag_lines.take(MAX_TAG_LINES + 1).count() <= MAX_TAG_LINES && depth(text.as_bytes()) <= MAX_BRACKETS
}

/// A depth that a text does not exceed.
fn depth(text: &[u8]) -> usize {
    let opening = |text: &[u8]| text.iter().filter(|byte| matches!(byte, b'[' | b'{')).count();
    let all = opening(text);
    // However many of them are within quotes: there is no need to know.
    if all <= MAX_BRACKETS {
        return all;
    }
    let mut scan = Scan::new(text);
    while scan.at < text.len() {
        if !scan.step() {
            return scan.deepest.max(scan.depth + opening(text.get(scan.at..).unwrap_or_default()));
        }
    }
    scan.deepest
}

/// A place in a text, outside of quotes and comments.
struct Scan<'a> {
    text: &'a [u8],
    at: usize,
    depth: usize,
    deepest: usize,
    /// Within text that is not quoted, where a quote is a letter like others.
    in_plain: bool,
    /// Where the line begins.
    line: usize,
    /// Nothing but blanks stood on the line yet.
    fresh: bool,
    /// Column of the first thing on the line that is no dash; columns count in block style only.
    key: Option<isize>,
    /// Column of what the line is part of, a list or mapping in block style; -1 if it is of neither.
    indent: isize,
    /// The text that the last line ended in goes on in lines that begin beyond this column.
    goes_on_beyond: Option<isize>,
}

impl<'a> Scan<'a> {
    fn new(text: &'a [u8]) -> Self {
        Self {
            text,
            at: 0,
            depth: 0,
            deepest: 0,
            in_plain: false,
            line: 0,
            fresh: true,
            key: None,
            indent: -1,
            goes_on_beyond: None,
        }
    }

    /// A byte from here on; the text ends with a line break.
    fn byte(&self, ahead: usize) -> u8 {
        self.text.get(self.at + ahead).copied().unwrap_or(b'\n')
    }

    /// Bytes of the line break that is so far ahead, 0 if none is.
    fn line_break(&self, ahead: usize) -> usize {
        match [self.byte(ahead), self.byte(ahead + 1), self.byte(ahead + 2)] {
            [b'\n' | b'\r', ..] => 1,
            [0xc2, 0x85, _] => 2,
            [0xe2, 0x80, 0xa8 | 0xa9] => 3,
            _ => 0,
        }
    }

    fn is_blank(&self, ahead: usize) -> bool {
        matches!(self.byte(ahead), b' ' | b'\t') || self.line_break(ahead) > 0
    }

    fn is_after_blank(&self) -> bool {
        self.at == self.line || matches!(self.text.get(self.at - 1), Some(b' ' | b'\t'))
    }

    fn in_block(&self) -> bool {
        self.depth == 0
    }

    fn column(&self) -> isize {
        (self.at - self.line) as isize
    }

    /// Goes on by one thing; false if it is not certain what that is.
    fn step(&mut self) -> bool {
        match self.byte(0) {
            _ if self.line_break(0) > 0 => self.end_line(),
            b' ' | b'\t' => self.at += 1,
            b'#' if !self.in_plain || self.is_after_blank() => self.skip_comment(),
            _ if self.fresh && self.in_block() => return self.begin_line(),
            _ if self.in_plain => self.step_plain(),
            _ => return self.step_token(),
        }
        true
    }

    fn end_line(&mut self) {
        self.at += self.line_break(0);
        self.line = self.at;
        if self.in_block() {
            if std::mem::take(&mut self.in_plain) {
                self.goes_on_beyond = Some(self.indent);
            }
            (self.fresh, self.key, self.indent) = (true, None, -1);
        }
    }

    /// At the first thing on a line in block style: the text of the last line may go on. False if that is not certain.
    fn begin_line(&mut self) -> bool {
        self.fresh = false;
        let Some(indent) = self.goes_on_beyond.take().filter(|indent| self.column() > *indent) else {
            return true;
        };
        (self.in_plain, self.indent) = (true, indent);
        // A text that is no part of a line with a key or dash may be part of anything.
        indent >= 0
    }

    fn skip_comment(&mut self) {
        (self.in_plain, self.goes_on_beyond) = (false, None);
        while self.line_break(0) == 0 {
            self.at += 1;
        }
    }

    fn step_plain(&mut self) {
        match self.byte(0) {
            b':' if self.is_blank(1) => self.end_key(),
            b',' | b'[' | b']' | b'{' | b'}' if !self.in_block() => self.in_plain = false,
            _ => self.at += 1,
        }
    }

    /// At the colon after a key.
    fn end_key(&mut self) {
        if self.in_block() {
            self.indent = self.key.unwrap_or(-1);
        }
        self.in_plain = false;
        self.at += 1;
    }

    /// Where something begins.
    fn step_token(&mut self) -> bool {
        let byte = self.byte(0);
        let is_dash = byte == b'-' && self.is_blank(1);
        if self.in_block() && self.key.is_none() {
            let column = self.column();
            if is_dash { self.indent = column } else { self.key = Some(column) }
        }
        match byte {
            b'[' | b'{' => self.open(),
            b']' | b'}' => self.close(),
            b'"' | b'\'' => self.skip_quoted(byte),
            b':' if !self.in_block() || self.is_blank(1) => self.end_key(),
            b'?' if !self.in_block() => self.at += 1,
            b'?' if !self.is_blank(1) => self.begin_plain(),
            b',' => self.at += 1,
            _ if is_dash => self.at += 1,
            // Anchors, tags, text in blocks, directives; then the marks between documents, and that of byte order.
            b'&' | b'*' | b'!' | b'|' | b'>' | b'%' | b'@' | b'`' | b'?' => return false,
            b'-' | b'.' if self.column() == 0 && self.byte(1) == byte && self.byte(2) == byte => {
                return false;
            }
            0xef if self.byte(1) == 0xbb && self.byte(2) == 0xbf => return false,
            _ => self.begin_plain(),
        }
        true
    }

    fn begin_plain(&mut self) {
        self.in_plain = true;
        self.at += 1;
    }

    fn open(&mut self) {
        self.depth += 1;
        self.deepest = self.deepest.max(self.depth);
        self.at += 1;
    }

    fn close(&mut self) {
        self.depth = self.depth.saturating_sub(1);
        self.at += 1;
    }

    /// A quote that is doubled ends one text and begins another.
    fn skip_quoted(&mut self, quote: u8) {
        self.at += 1;
        while self.at < self.text.len() && self.byte(0) != quote {
            self.at += if quote == b'"' && self.byte(0) == b'\\' { 2 } else { 1 };
        }
        self.at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The depth of a text that is repeated until its brackets must be looked at one by one.
    fn depth_of_many(text: &str) -> usize {
        depth(text.repeat(MAX_BRACKETS + 1).as_bytes())
    }

    #[test]
    fn brackets_within_quotes_and_comments_do_not_count() {
        assert_eq!(depth_of_many("- {a: [1, \"]\\\"[\", ']'']['], b: {}} # [[[\n"), 2);
        assert_eq!(depth_of_many("[a\"[, b'[, # ]\n\"]\", c:'], {d: \"}\"}]]\n"), 3);
        assert_eq!(depth_of_many("- name: \"[\"\n  list: [1, 2]\n  plain: it's [not\n"), 1);
        assert_eq!(depth_of_many("- a\n- \"[\"\n\n- k: b c\n  l: '['\n- - d\n  - {e: f}\n"), 1);
        assert_eq!(depth_of_many("k: \"a\n  [ b\"\n"), 0);
        assert_eq!(depth_of_many("k: a\n  [ 'b\n\n   c ]\"\n- ?d\n - [\n"), 0);
    }

    #[test]
    fn brackets_that_are_not_closed_count() {
        for opening in ["[\"]\",", "[ #]\n", "{']':[", "[a'],[b', ", "[\u{feff}\"]\", ", "[#]\u{2028}"] {
            assert!(depth_of_many(opening) > MAX_BRACKETS, "{opening}");
        }
    }

    #[test]
    fn what_may_hide_quotes_makes_every_bracket_count() {
        let list = "[".repeat(MAX_BRACKETS + 1);
        for hidden in ["a: |\n  '\nb: ", "b\n'\nc: ", "&a' ", "!a' ", "%TAG '\n--- ", "a: !<]> ", "\u{feff}"]
        {
            assert!(depth(format!("{hidden}{list}").as_bytes()) > MAX_BRACKETS, "{hidden}");
        }
    }

    #[test]
    fn few_brackets_are_not_looked_at() {
        assert_eq!(depth(b"|\n [ ' {"), 2);
        assert!(is_bounded(&"- &a ']'\n".repeat(1000)));
    }

    #[test]
    fn directives_are_few() {
        assert!(is_bounded(&"%TAG ! x\n".repeat(MAX_TAG_LINES)));
        assert!(!is_bounded(&"%TAG ! x\n".repeat(MAX_TAG_LINES + 1)));
        assert!(!is_bounded(&"\u{2028}%TAG ! x".repeat(MAX_TAG_LINES + 1)));
    }
}
