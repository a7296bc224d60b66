//! Lines of a parameter file: maps and lists by indentation.

use super::value::{FileValue, scalar, unquoted};

/// A value, the keys above it, and its line.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) line: usize,
    pub(super) path: Vec<String>,
    pub(super) value: FileValue,
}

/// Limit of nested maps.
const DEEPEST: usize = 32;

/// The keys above the current line, each with its indentation, and the list below the last of them.
#[derive(Default)]
struct Reader {
    keys: Vec<(usize, String)>,
    list: Option<(usize, Vec<FileValue>)>,
    entries: Vec<Entry>,
}

/// All values of a file.
///
/// # Errors
/// The line that cannot be read, and what is wrong.
pub(super) fn values(text: &str) -> Result<Vec<Entry>, (usize, String)> {
    let mut reader = Reader::default();
    for (line, number) in text.lines().zip(1..) {
        let content = without_comment(line).trim_end();
        if !content.trim().is_empty() && !["---", "..."].contains(&content) {
            reader.take(number, content).map_err(|why| (number, why))?;
        }
    }
    reader.end_list();
    Ok(reader.entries)
}

impl Reader {
    fn take(&mut self, number: usize, content: &str) -> Result<(), String> {
        let text = content.trim_start_matches(' ');
        let indent = content.len() - text.len();
        if text.starts_with('\t') {
            return Err("a tab where spaces should indent".to_owned());
        }
        match text.strip_prefix('-').filter(|rest| rest.is_empty() || rest.starts_with(' ')) {
            Some(item) => self.take_item(number, indent, item.trim()),
            None => self.take_key(number, indent, text),
        }
    }

    /// Handles an item of the list below the last key, which may have the same indentation as the key.
    fn take_item(&mut self, number: usize, indent: usize, item: &str) -> Result<(), String> {
        if self.keys.last().is_none_or(|(of_key, _)| *of_key > indent) {
            return Err("an item of a list that has no name".to_owned());
        }
        let item = scalar(item)?;
        self.list.get_or_insert_with(|| (number, Vec::new())).1.push(item);
        Ok(())
    }

    fn take_key(&mut self, number: usize, indent: usize, text: &str) -> Result<(), String> {
        self.end_list();
        while self.keys.last().is_some_and(|(above, _)| *above >= indent) {
            self.keys.pop();
        }
        let (key, value) =
            key_and_value(text).ok_or_else(|| format!("{text} should have the form KEY: VALUE"))?;
        let key = unquoted(key)?.unwrap_or_else(|| key.to_owned());
        self.keys.push((indent, key));
        if self.keys.len() > DEEPEST {
            return Err(format!("more than {DEEPEST} maps within each other"));
        }
        if value.is_empty() {
            return Ok(());
        }
        let value = FileValue::read(value)?;
        self.entries.extend(value.map(|value| self.entry(number, value)));
        self.keys.pop();
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
        Entry { line, path: self.keys.iter().map(|(_, key)| key.clone()).collect(), value }
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
