//! Parser of `.msg`, `.srv` and `.action` files of both generations.
//!
//! A line contains one declaration: a type, a name, and then `=` and a constant's value, or (ROS 2) a default. The syntax of
//! both generations is accepted. Differences in meaning (quotes around a string constant) are noted in the code.
//!
//! Files also come from peers, in connection headers: the parser does not panic, and every size has a limit.

mod line;
mod literal;

use super::types::{ActionDef, MessageDef, ServiceDef, TypeName};
use line::{Declaration, Fault};
use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

/// The largest file that is read, in bytes.
pub const MAX_FILE_LEN: usize = 1 << 20;
/// The most fields and constants that one message may have.
pub const MAX_DECLARATIONS: usize = 10_000;
/// The most elements that a fixed array, and the largest bound that a sequence or string may have.
pub const MAX_BOUND: usize = 1 << 24;

/// Prefix of a separator between the parts of a service or an action.
const SEPARATOR: &str = "---";

/// Syntax error in a definition: location, expected and found text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// The file, as its reader named it.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// The expected text.
    pub expected: Cow<'static, str>,
    /// The text found, shortened if it is long; empty at the end of the line or file.
    pub found: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, column, expected, found } = self;
        write!(f, "{file}:{line}:{column}: expected {expected}, found ")?;
        if found.is_empty() { f.write_str("the end of the line") } else { write!(f, "{found:?}") }
    }
}

impl std::error::Error for ParseError {}

/// Parses a `.msg` file. Errors name `file`.
///
/// # Errors
/// At the first line that is not a declaration, or if a limit of this module is exceeded.
pub fn parse_message(name: &TypeName, text: &str, file: &str) -> Result<MessageDef, ParseError> {
    let text = normal_text(text, file)?;
    let part = Part { first_line: 1, text: text.into_owned() };
    part.parse(name.clone(), format!("{}/msg/{}", name.package, name.name), file)
}

/// Parses a `.srv` file: request, `---`, response.
///
/// # Errors
/// As [`parse_message`], and if there is not exactly one separator.
pub fn parse_service(name: &TypeName, text: &str, file: &str) -> Result<ServiceDef, ParseError> {
    let [request, response] = split_parts(text, file)?;
    let parse = |part: Part, suffix: &str| {
        let ros2_name = format!("{}/srv/{}_{suffix}", name.package, name.name);
        part.parse(name.with_suffix(suffix), ros2_name, file)
    };
    Ok(ServiceDef {
        name: name.clone(),
        request: parse(request, "Request")?,
        response: parse(response, "Response")?,
    })
}

/// Parses an `.action` file: goal, `---`, result, `---`, feedback.
///
/// # Errors
/// As [`parse_message`], and if there are not exactly two separators.
pub fn parse_action(name: &TypeName, text: &str, file: &str) -> Result<ActionDef, ParseError> {
    let [goal, result, feedback] = split_parts(text, file)?;
    let parse = |part: Part, suffix: &str| {
        let ros2_name = format!("{}/action/{}_{suffix}", name.package, name.name);
        part.parse(name.with_suffix(suffix), ros2_name, file)
    };
    Ok(ActionDef {
        name: name.clone(),
        goal: parse(goal, "Goal")?,
        result: parse(result, "Result")?,
        feedback: parse(feedback, "Feedback")?,
    })
}

/// The text without byte order mark and with `\n` line ends.
fn normal_text<'a>(text: &'a str, file: &str) -> Result<Cow<'a, str>, ParseError> {
    if text.len() > MAX_FILE_LEN {
        let found = format!("{} bytes", text.len());
        let expected = format!("at most {MAX_FILE_LEN} bytes").into();
        return Err(ParseError { file: file.to_owned(), line: 1, column: 1, expected, found });
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    Ok(if text.contains('\r') { text.replace("\r\n", "\n").into() } else { text.into() })
}

/// True of a line that begins with an annotation, which ROS 1 does not know.
pub(super) fn is_annotated(line: &str) -> bool {
    line::is_annotation(line.trim_start())
}

/// A message within a file.
struct Part {
    first_line: usize,
    text: String,
}

/// Splits a file at its separators. As in ROS 1, every line of a part has a line end, including the file's last one: peers
/// compare the text.
fn split_parts<const N: usize>(text: &str, file: &str) -> Result<[Part; N], ParseError> {
    let text = normal_text(text, file)?;
    let mut parts: [Part; N] = std::array::from_fn(|_| Part { first_line: 1, text: String::new() });
    let mut current = 0;
    for (index, line) in text.split('\n').enumerate() {
        if line.starts_with(SEPARATOR) {
            current += 1;
        }
        let Some(part) = parts.get_mut(current) else {
            let expected = format!("at most {} separators", N - 1).into();
            return Err(Fault::new(line, 0, expected).at(file, index + 1, line));
        };
        if line.starts_with(SEPARATOR) {
            part.first_line = index + 2;
        } else {
            part.text.push_str(line);
            part.text.push('\n');
        }
    }
    if current + 1 < N {
        let expected = Cow::Borrowed("a separator \"---\"");
        return Err(Fault::new("", 0, expected).at(file, text.split('\n').count(), ""));
    }
    Ok(parts)
}

impl Part {
    fn parse(self, name: TypeName, ros2_name: String, file: &str) -> Result<MessageDef, ParseError> {
        let mut def =
            MessageDef { name, ros2_name, constants: Vec::new(), fields: Vec::new(), text: String::new() };
        let mut names = Names::default();
        for (index, line) in self.text.split('\n').enumerate() {
            let at = |fault: Fault| fault.at(file, self.first_line + index, line);
            let Some((declaration, column)) = line::parse_line(line, &def.name.package).map_err(at)? else {
                continue;
            };
            names.add(&declaration).map_err(|expected| at(Fault::new(line, column, expected)))?;
            match declaration {
                Declaration::Constant(constant) => def.constants.push(constant),
                Declaration::Field(field) => def.fields.push(field),
            }
        }
        def.text = self.text;
        Ok(def)
    }
}

/// Names in use in one message.
#[derive(Default)]
struct Names {
    fields: HashSet<String>,
    constants: HashSet<String>,
}

impl Names {
    fn add(&mut self, declaration: &Declaration) -> Result<(), Cow<'static, str>> {
        if self.fields.len() + self.constants.len() >= MAX_DECLARATIONS {
            return Err(format!("at most {MAX_DECLARATIONS} fields and constants").into());
        }
        let (is_new, expected) = match declaration {
            Declaration::Field(field) => (self.fields.insert(field.name.clone()), "a new field name"),
            Declaration::Constant(constant) => {
                (self.constants.insert(constant.name.clone()), "a new constant name")
            }
        };
        if is_new { Ok(()) } else { Err(expected.into()) }
    }
}

#[cfg(test)]
mod tests;
