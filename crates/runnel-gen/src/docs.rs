//! Documentation from comments of definitions.

use std::collections::HashMap;

/// The comments of a definition.
#[derive(Default)]
pub(crate) struct Comments {
    /// Comment on the whole definition: the first one, if an empty line follows it.
    pub(crate) summary: Option<String>,
    /// Comments on fields and constants, by name: the comment on the same line, or else the one directly above.
    by_name: HashMap<String, String>,
}

impl Comments {
    /// Reads the comments of a valid definition.
    pub(crate) fn read(text: &str) -> Self {
        let mut comments = Self::default();
        let mut above: Vec<&str> = Vec::new();
        for line in text.lines().map(str::trim) {
            if line.is_empty() {
                comments.set_off(&above);
                above.clear();
            } else if let Some(comment) = line.strip_prefix('#') {
                above.push(comment);
            } else {
                comments.declaration(line, &above);
                above.clear();
            }
        }
        comments
    }

    /// These comments, completed by others.
    pub(crate) fn or(mut self, others: Self) -> Self {
        self.summary = self.summary.or(others.summary);
        for (name, said) in others.by_name {
            let place = self.by_name.entry(name).or_default();
            if place.is_empty() {
                *place = said;
            }
        }
        self
    }

    pub(crate) fn of(&self, name: &str) -> Option<&str> {
        self.by_name.get(name).map(String::as_str)
    }

    fn set_off(&mut self, above: &[&str]) {
        if self.summary.is_none() && self.by_name.is_empty() {
            self.summary = prose(above);
        }
    }

    fn declaration(&mut self, line: &str, above: &[&str]) {
        let Some((type_name, rest)) = line.split_once(char::is_whitespace) else { return };
        let rest = rest.trim_start();
        let name_end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        let (name, after) = rest.split_at(name_end);
        let is_text = type_name.starts_with("string") || type_name.starts_with("wstring");
        let is_text_constant = is_text && after.trim_start().starts_with('=');
        let trailing = after.split_once('#').filter(|_| !is_text_constant).map(|(_, comment)| comment);
        let doc = trailing.and_then(|comment| prose(&[comment])).or_else(|| prose(above));
        self.by_name.insert(name.to_owned(), doc.unwrap_or_default());
    }
}

/// Comment lines as one line of Markdown that shows them unchanged. `None` if they are empty.
fn prose(lines: &[&str]) -> Option<String> {
    let is_said = |word: &&str| word.contains(char::is_alphanumeric);
    let words: Vec<&str> = lines.iter().flat_map(|line| line.split_whitespace()).collect();
    let first = words.iter().position(is_said)?;
    let words: Vec<String> = words.get(first..)?.iter().map(|word| escape(word)).collect();
    let text = words.join(" ");
    // A number followed by a dot would begin a list.
    Some(if text.starts_with(|c: char| c.is_ascii_digit()) { format!("Value: {text}") } else { text })
}

fn escape(word: &str) -> String {
    if word.starts_with("http://") || word.starts_with("https://") {
        return format!("<{}>", word.replace(['<', '>'], ""));
    }
    let mut escaped = String::new();
    for character in word.chars().filter(|c| !c.is_control() && !is_direction_mark(*c)) {
        if matches!(character, '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '#' | '|' | '~' | '&' | '$') {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}

/// Marks that change the text direction, which the compiler refuses in comments.
fn is_direction_mark(character: char) -> bool {
    matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separate_first_comment_is_summary() {
        let comments = Comments::read("# All of\n# it.\n\n# one\nuint8 a\n\n# unused\n\nuint8 b\n");
        assert_eq!(comments.summary.as_deref(), Some("All of it."));
        assert_eq!((comments.of("a"), comments.of("b")), (Some("one"), Some("")));
    }

    #[test]
    fn comment_on_same_line_wins() {
        let comments = Comments::read("# above\nfloat64 x  # metres\nstring S=a # b\nuint8 C=1#one\n");
        assert_eq!(comments.of("x"), Some("metres"));
        assert_eq!((comments.of("S"), comments.of("C")), (Some(""), Some("one")));
    }

    #[test]
    fn markdown_is_escaped() {
        assert_eq!(prose(&[" - a[0] <b> "]).as_deref(), Some(r"a\[0\] \<b\>"));
        assert_eq!(prose(&["1. see http://a.b/c_d"]).as_deref(), Some("Value: 1. see <http://a.b/c_d>"));
        assert_eq!(prose(&["====", "----"]), None);
    }
}
