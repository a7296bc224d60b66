//! Lines of a parameter file: maps and lists by indentation.

use super::value::{FileValue, scalar, split, unquoted};

/// A value, the keys above it, and its line.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) line: usize,
    pub(super) path: Vec<String>,
    pub(super) value: FileValue,
}

/// Limit of nested maps.
const DEEPEST: usize = 32;

/// A key above the current line.
struct Key {
    indent: usize,
    name: String,
    line: usize,
    /// Whether a value or another key is below it.
    has_content: bool,
    /// Indentation of the keys on the lines below it.
    below: Option<usize>,
}

/// The keys above the current line, and the list below the last of them.
#[derive(Default)]
struct Reader {
    keys: Vec<Key>,
    /// Indentation of the keys at the top.
    top: Option<usize>,
    list: Option<(usize, Vec<FileValue>)>,
    entries: Vec<Entry>,
}

/// All values of a file.
///
/// # Errors
/// The line that cannot be read, and what is wrong.
pub(super) fn values(text: &str) -> Result<Vec<Entry>, (usize, String)> {
    let mut reader = Reader::default();
    let mut lines = text.lines().zip(1..);
    while let Some((line, number)) = lines.next() {
        let mut content = without_comment(line).trim_end().to_owned();
        // A list in brackets may continue on the next lines.
        let mut is_open = begins_list(&content);
        while is_open && let Some((line, _)) = lines.next() {
            let more = without_comment(line).trim();
            is_open = !without_quoted(more).contains(']');
            content.push(' ');
            content.push_str(more);
        }
        if !content.trim().is_empty() && !["---", "..."].contains(&content.as_str()) {
            reader.take(number, &content)?;
        }
    }
    reader.end_list();
    reader.end_keys(0)?;
    Ok(reader.entries)
}

impl Reader {
    fn take(&mut self, number: usize, content: &str) -> Result<(), (usize, String)> {
        let text = content.trim_start_matches(' ');
        let indent = content.len() - text.len();
        if text.starts_with('\t') {
            return Err((number, "a tab where spaces should indent".to_owned()));
        }
        match text.strip_prefix('-').filter(|rest| rest.is_empty() || rest.starts_with(' ')) {
            Some(item) => self.take_item(number, indent, item.trim()).map_err(|why| (number, why)),
            None => {
                self.end_list();
                self.end_keys(indent)?;
                self.check_indent(indent, text).map_err(|why| (number, why))?;
                self.take_key(number, indent, text).map_err(|why| (number, why))
            }
        }
    }

    /// Checks that the key of a line has the same indentation as those of its map.
    fn check_indent(&mut self, indent: usize, text: &str) -> Result<(), String> {
        let others = self.keys.last_mut().map_or(&mut self.top, |key| &mut key.below);
        let others = *others.get_or_insert(indent);
        if others == indent {
            return Ok(());
        }
        let key = key_and_value(text).map_or(text, |(key, _)| key);
        Err(format!("{key} is indented by {indent} spaces, and the keys before it in its map by {others}"))
    }

    /// Handles an item of the list below the last key, which may have the same indentation as the key.
    fn take_item(&mut self, number: usize, indent: usize, item: &str) -> Result<(), String> {
        let Some(key) = self.keys.last_mut().filter(|key| key.indent <= indent) else {
            return Err("an item of a list that has no name".to_owned());
        };
        key.has_content = true;
        let item = scalar(item).map_err(|why| format!("{}: {why}", key.name))?;
        self.list.get_or_insert_with(|| (number, Vec::new())).1.push(item);
        Ok(())
    }

    fn take_key(&mut self, number: usize, indent: usize, text: &str) -> Result<(), String> {
        let (key, value) =
            key_and_value(text).ok_or_else(|| format!("{text} should have the form KEY: VALUE"))?;
        let name = unquoted(key)?.unwrap_or_else(|| key.to_owned());
        if let Some(above) = self.keys.last_mut() {
            above.has_content = true;
        }
        self.keys.push(Key { indent, name, line: number, has_content: false, below: None });
        if self.keys.len() > DEEPEST {
            return Err(format!("more than {DEEPEST} maps within each other"));
        }
        if value.is_empty() {
            return Ok(());
        }
        match value.strip_prefix('{') {
            Some(map) => self.take_map(number, indent, map).map_err(|why| format!("{key}: {why}"))?,
            None => {
                let value = FileValue::read(value).map_err(|why| format!("{key}: {why}"))?;
                self.entries.extend(value.map(|value| self.entry(number, value)));
            }
        }
        self.keys.pop();
        Ok(())
    }

    /// Handles a map in braces on one line, without its opening brace.
    fn take_map(&mut self, number: usize, indent: usize, text: &str) -> Result<(), String> {
        let inner = text.strip_suffix('}').ok_or_else(|| format!("{{{text} does not end with }}"))?;
        for item in split(inner) {
            let before = self.keys.len();
            self.take_key(number, indent, item.trim())?;
            if self.keys.len() > before {
                return Err(format!("{} has no value", item.trim()));
            }
        }
        Ok(())
    }

    /// Ends the keys that are not above a line with this indentation.
    fn end_keys(&mut self, indent: usize) -> Result<(), (usize, String)> {
        while let Some(key) = self.keys.pop_if(|key| key.indent >= indent) {
            if !key.has_content {
                return Err((key.line, format!("{} has no value", key.name)));
            }
        }
        Ok(())
    }

    fn end_list(&mut self) {
        if let Some((number, items)) = self.list.take() {
            let entry = self.entry(number, FileValue::List(items));
            self.entries.push(entry);
            self.keys.pop();
        }
    }

    fn entry(&self, line: usize, value: FileValue) -> Entry {
        Entry { line, path: self.keys.iter().map(|key| key.name.clone()).collect(), value }
    }
}

/// A key, which may be quoted, and the text after its colon.
fn key_and_value(text: &str) -> Option<(&str, &str)> {
    let begin = match text.chars().next() {
        Some(quote @ ('"' | '\'')) => text[1..].find(quote)? + 2,
        _ => 0,
    };
    let colon = text[begin..].match_indices(':').map(|(index, _)| begin + index);
    let colon =
        colon.into_iter().find(|index| matches!(text.as_bytes().get(index + 1), None | Some(b' ')))?;
    let key = text[..colon].trim_end();
    (!key.is_empty()).then(|| (key, text[colon + 1..].trim()))
}

/// Whether the value of a line is a list in brackets that does not end there.
fn begins_list(line: &str) -> bool {
    let value = key_and_value(line.trim_start()).map(|(_, value)| value);
    value.is_some_and(|value| value.starts_with('[') && !without_quoted(value).contains(']'))
}

/// A text without the parts in quotes.
fn without_quoted(text: &str) -> String {
    let mut quote = None;
    let is_outside = |char: &char| match (quote, *char) {
        (Some(open), char) => {
            quote = Some(open).filter(|open| *open != char);
            false
        }
        (None, '"' | '\'') => {
            quote = Some(*char);
            false
        }
        (None, _) => true,
    };
    text.chars().filter(is_outside).collect()
}

/// A line without its comment, which begins outside of quotes after a space.
fn without_comment(line: &str) -> &str {
    let (mut quote, mut before) = (None, ' ');
    for (index, char) in line.char_indices() {
        match (quote, char) {
            (Some(open), char) if open == char => quote = None,
            (None, '"' | '\'') if !before.is_alphanumeric() => quote = Some(char),
            (None, '#') if before == ' ' => return &line[..index],
            _ => {}
        }
        before = char;
    }
    line
}
