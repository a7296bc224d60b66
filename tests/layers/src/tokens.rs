//! Tokens of Rust source: words and punctuation with their lines. Comments, literals and lifetimes are skipped.

/// Kind of token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind<'t> {
    /// An identifier, a keyword or the digits of a number.
    Word(&'t str),
    /// A punctuation character.
    Mark(char),
}

/// A token and its first line, from 1.
#[derive(Clone, Copy, Debug)]
pub struct Token<'t> {
    /// Its kind.
    pub kind: Kind<'t>,
    /// Its line.
    pub line: usize,
}

/// The tokens of a source file.
pub fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut scanner = Scanner { rest: text, line: 1, tokens: Vec::new() };
    while scanner.step() {}
    scanner.tokens
}

struct Scanner<'t> {
    rest: &'t str,
    line: usize,
    tokens: Vec<Token<'t>>,
}

impl<'t> Scanner<'t> {
    /// Consumes the next token, comment, literal or space; false at the end of the text.
    fn step(&mut self) -> bool {
        let Some(first) = self.rest.chars().next() else { return false };
        if first.is_whitespace() {
            self.skip(first.len_utf8());
        } else if self.rest.starts_with("//") {
            self.skip(self.rest.find('\n').unwrap_or(self.rest.len()));
        } else if self.rest.starts_with("/*") {
            self.skip(block_comment(self.rest));
        } else if let Some(length) = literal(self.rest) {
            self.skip(length);
        } else if is_word(first) {
            let prefix = if self.rest.starts_with("r#") { 2 } else { 0 };
            let word = &self.rest[prefix..];
            let word = &word[..word.find(|one| !is_word(one)).unwrap_or(word.len())];
            self.push(Kind::Word(word), prefix + word.len());
        } else {
            self.push(Kind::Mark(first), first.len_utf8());
        }
        true
    }

    fn push(&mut self, kind: Kind<'t>, length: usize) {
        self.tokens.push(Token { kind, line: self.line });
        self.skip(length);
    }

    fn skip(&mut self, length: usize) {
        let (skipped, rest) = self.rest.split_at(length);
        self.line += skipped.matches('\n').count();
        self.rest = rest;
    }
}

fn is_word(one: char) -> bool {
    one.is_alphanumeric() || one == '_'
}

/// The length of the comment at the start of the text. Comments may be nested.
fn block_comment(text: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < text.len() {
        if text[at..].starts_with("/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if text[at..].starts_with("*/") {
            (depth, at) = (depth - 1, at + 2);
        } else {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
        }
        if depth == 0 {
            return at;
        }
    }
    text.len()
}

/// The length of the string, character or lifetime at the start of the text, if there is one.
fn literal(text: &str) -> Option<usize> {
    let body = text.trim_start_matches(['b', 'c', 'r']);
    let prefix = text.len() - body.len();
    if prefix > 2 {
        return None;
    }
    if text[..prefix].ends_with('r') {
        return raw_string(body).map(|length| prefix + length);
    }
    match body.chars().next()? {
        '"' => Some(prefix + quoted(body, '"')),
        '\'' if prefix == 0 || text.starts_with("b'") => Some(prefix + character(body)),
        _ => None,
    }
}

/// The length of a raw string `#"..."#` with any number of signs.
fn raw_string(text: &str) -> Option<usize> {
    let signs = text.len() - text.trim_start_matches('#').len();
    let inner = text[signs..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(signs));
    Some(inner.find(&end).map_or(text.len(), |at| signs + 1 + at + end.len()))
}

/// The length of a quoted text; a backslash escapes the next character.
fn quoted(text: &str, mark: char) -> usize {
    let mut escaped = false;
    for (at, one) in text.char_indices().skip(1) {
        if one == mark && !escaped {
            return at + 1;
        }
        escaped = one == '\\' && !escaped;
    }
    text.len()
}

/// The length of a character, or of a lifetime.
fn character(text: &str) -> usize {
    let mut inner = text.chars().skip(1);
    match (inner.next(), inner.next()) {
        (Some('\\'), _) | (Some(_), Some('\'')) => quoted(text, '\''),
        _ => text[1..].find(|one| !is_word(one)).map_or(text.len(), |length| 1 + length),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<(&str, usize)> {
        let word = |token: Token<'static>| match token.kind {
            Kind::Word(word) => Some((word, token.line)),
            Kind::Mark(_) => None,
        };
        let text: &'static str = Box::leak(text.to_owned().into_boxed_str());
        tokens(text).into_iter().filter_map(word).collect()
    }

    #[test]
    fn comments_hold_no_tokens() {
        assert_eq!(words("a // b\n/* c /* d */ e */ f\n/// g\nh"), [("a", 1), ("f", 2), ("h", 4)]);
    }

    #[test]
    fn literals_hold_no_tokens() {
        assert_eq!(words(r#"a "b \" c" d"#), [("a", 1), ("d", 1)]);
        assert_eq!(words("a r#\"b \" c\"# d br\"\\\" e"), [("a", 1), ("d", 1), ("e", 1)]);
        assert_eq!(words("a b'x' b\"y\" c\"z\" d"), [("a", 1), ("d", 1)]);
        assert_eq!(words("a \"\n\n\" b"), [("a", 1), ("b", 3)]);
    }

    #[test]
    fn characters_differ_from_lifetimes() {
        assert_eq!(words(r"a '{' '\'' '\u{7f}' b"), [("a", 1), ("b", 1)]);
        assert_eq!(words("fn f<'long, 'a>(x: &'a str)").len(), 4);
        assert_eq!(words("'outer: loop { x }"), [("loop", 1), ("x", 1)]);
    }

    #[test]
    fn raw_identifiers_are_words() {
        assert_eq!(words("r#type crate_ rb"), [("type", 1), ("crate_", 1), ("rb", 1)]);
    }
}
