//! Values in parameter files: scalars, and lists of them.

/// A value as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FileValue {
    /// Unquoted: a number, a truth value or a text.
    Plain(String),
    /// Quoted: a text.
    Text(String),
    /// A list of scalars.
    List(Vec<FileValue>),
}

/// The value of an argument, which is YAML as in a file.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn argument_value(text: &str) -> Result<FileValue, String> {
    let text = text.trim();
    if text.is_empty() {
        return Err("the value is empty. Try: '\"\"' for an empty text".to_owned());
    }
    FileValue::read(text)?.ok_or_else(|| "a map is no value".to_owned())
}

/// First characters of YAML that is not a plain value.
const NOT_READ: [char; 7] = ['|', '>', '&', '*', '!', '{', '%'];

impl FileValue {
    /// Parses a value on one line; `None` for an empty map.
    ///
    /// # Errors
    /// If it cannot be parsed.
    pub(super) fn read(text: &str) -> Result<Option<Self>, String> {
        if text
            .strip_prefix('{')
            .and_then(|rest| rest.strip_suffix('}'))
            .is_some_and(|inner| inner.trim().is_empty())
        {
            return Ok(None);
        }
        let Some(inner) = text.strip_prefix('[') else { return scalar(text).map(Some) };
        let inner = inner.strip_suffix(']').ok_or_else(|| format!("{text} does not end with ]"))?;
        let items = split(inner).into_iter().map(|item| scalar(item.trim())).collect::<Result<_, _>>()?;
        Ok(Some(Self::List(items)))
    }
}

/// Parses a scalar.
///
/// # Errors
/// If it cannot be parsed.
pub(super) fn scalar(text: &str) -> Result<FileValue, String> {
    if let Some(text) = unquoted(text)? {
        return Ok(FileValue::Text(text));
    }
    if text.starts_with(NOT_READ) || text.starts_with('[') {
        let sign = text.chars().next().unwrap_or_default();
        return Err(format!("{sign} is not supported. Try: plain values, lists and maps by indentation"));
    }
    Ok(FileValue::Plain(text.to_owned()))
}

/// A text without its quotes, if it has any.
///
/// # Errors
/// If the closing quote is missing.
pub(super) fn unquoted(text: &str) -> Result<Option<String>, String> {
    let Some(quote) = text.chars().next().filter(|first| ['"', '\''].contains(first)) else {
        return Ok(None);
    };
    let inner = text.get(1..).and_then(|rest| rest.strip_suffix(quote));
    let inner = inner.ok_or_else(|| format!("{text} does not end with {quote}"))?;
    Ok(Some(match quote {
        '\'' => inner.replace("''", "'"),
        _ => unescaped(inner),
    }))
}

/// Replaces the escapes of double quotes that are usual in configuration files.
fn unescaped(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        match (char, char == '\\') {
            (_, true) => match chars.next() {
                Some('n') => out.push('\n'),
                Some('t') => out.push('\t'),
                Some(other) => out.push(other),
                None => out.push('\\'),
            },
            (char, false) => out.push(char),
        }
    }
    out
}

/// Splits at commas outside of quotes and brackets. An empty last item is omitted.
pub(super) fn split(text: &str) -> Vec<&str> {
    let mut items = Vec::new();
    let (mut quote, mut begin, mut depth) = (None, 0, 0_usize);
    for (index, char) in text.char_indices() {
        match (quote, char) {
            (Some(open), char) if open == char => quote = None,
            (None, '"' | '\'') => quote = Some(char),
            (None, '[' | '{') => depth += 1,
            (None, ']' | '}') => depth = depth.saturating_sub(1),
            (None, ',') if depth == 0 => {
                items.push(&text[begin..index]);
                begin = index + 1;
            }
            _ => {}
        }
    }
    items.push(&text[begin..]);
    // A list may be empty, and may end with a comma.
    if items.last().is_some_and(|last| last.trim().is_empty()) {
        items.pop();
    }
    items
}
