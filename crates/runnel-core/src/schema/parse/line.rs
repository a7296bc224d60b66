//! Parser of one line of a definition.

use super::super::types::{Arity, Constant, Element, Field, Primitive, TypeName, is_identifier};
use super::literal;
use super::{MAX_BOUND, ParseError};
use std::borrow::Cow;

/// Declaration on a line.
pub(super) enum Declaration {
    Constant(Constant),
    Field(Field),
}

/// Error of a line, without file and line number.
pub(super) struct Fault {
    /// Bytes before the place.
    at: usize,
    expected: Cow<'static, str>,
    found: String,
}

impl Fault {
    /// The longest text that an error repeats, in characters.
    const MAX_FOUND: usize = 60;

    /// Error at byte `at` of `line`, with the word found there.
    pub(super) fn new(line: &str, at: usize, expected: Cow<'static, str>) -> Self {
        let rest = line.get(at..).unwrap_or_default();
        let found = rest.split_whitespace().next().unwrap_or_default();
        Self { at, expected, found: found.chars().take(Self::MAX_FOUND).collect() }
    }

    pub(super) fn at(self, file: &str, line_number: usize, line: &str) -> ParseError {
        let column = line.get(..self.at).map_or(0, |before| before.chars().count()) + 1;
        ParseError {
            file: file.to_owned(),
            line: line_number,
            column,
            expected: self.expected,
            found: self.found,
        }
    }
}

/// Parses one line. `None` if it contains only white space, ROS 2 annotations such as `@key`, or a comment; otherwise the
/// declaration and the offset of its name.
pub(super) fn parse_line(line: &str, package: &str) -> Result<Option<(Declaration, usize)>, Fault> {
    let mut cursor = Cursor { line, at: 0 };
    let mut words = std::iter::from_fn(|| cursor.word(|_| false));
    let Some((type_at, spelling)) = words.find(|(_, word)| !is_annotation(word)) else { return Ok(None) };
    let (element, arity) = parse_type(line, type_at, spelling, package)?;
    let (name_at, name) = cursor.word(|c| c == '=').ok_or_else(|| cursor.fault("a field name"))?;
    let spelling = spelling.to_owned();
    if cursor.take('=') {
        let constant = parse_constant(&cursor, (name_at, name), element, arity, spelling)?;
        return Ok(Some((Declaration::Constant(constant), name_at)));
    }
    check_name(line, name_at, name, "a field name")?;
    let default = match cursor.peek() {
        None => None,
        Some(_) => Some(literal::parse_default(&cursor, &element, arity, &spelling)?),
    };
    let field = Field { name: name.to_owned(), element, arity, default, spelling };
    Ok(Some((Declaration::Field(field), name_at)))
}

/// Whether a word begins an annotation, which is ignored.
pub(super) fn is_annotation(word: &str) -> bool {
    word.starts_with('@')
}

fn parse_constant(
    cursor: &Cursor<'_>,
    (name_at, name): (usize, &str),
    element: Element,
    arity: Arity,
    spelling: String,
) -> Result<Constant, Fault> {
    check_name(cursor.line, name_at, name.strip_prefix('_').unwrap_or(name), "a constant name")?;
    let primitive = match (element, arity) {
        (Element::Primitive(Primitive::Time | Primitive::Duration) | Element::Message(_), _) => None,
        (Element::Primitive(primitive), Arity::One) => Some(primitive),
        _ => None,
    };
    let Some(primitive) = primitive else {
        let type_at = cursor.line.len() - cursor.line.trim_start().len();
        return Err(Fault::new(cursor.line, type_at, "a number type, bool or string for a constant".into()));
    };
    let (value, text) = literal::parse_constant(cursor, primitive, &spelling)?;
    Ok(Constant { name: name.to_owned(), primitive, value, spelling, text: text.to_owned() })
}

fn check_name(line: &str, at: usize, name: &str, expected: &'static str) -> Result<(), Fault> {
    if is_identifier(name) { Ok(()) } else { Err(Fault::new(line, at, expected.into())) }
}

/// Parses a type such as `uint8`, `string<=10[<=3]`, `Point[4]` or `std_msgs/Header`.
fn parse_type(line: &str, at: usize, text: &str, package: &str) -> Result<(Element, Arity), Fault> {
    let base_end = text.find(['<', '[']).unwrap_or(text.len());
    let (base, mut rest) = text.split_at(base_end);
    let mut element = parse_element(base, package).ok_or_else(|| Fault::new(line, at, "a type".into()))?;
    let place = |rest: &str| at + text.len() - rest.len();
    if let Some(bound) = rest.strip_prefix("<=") {
        let (value, after) =
            parse_bound(bound).map_err(|expected| Fault::new(line, place(bound), expected))?;
        element = with_bound(element, value)
            .ok_or_else(|| Fault::new(line, place(rest), "no bound (only strings have one)".into()))?;
        rest = after;
    }
    let (arity, rest) = parse_arity(rest).map_err(|(at, expected)| Fault::new(line, place(at), expected))?;
    if rest.is_empty() { Ok((element, arity)) } else { Err(Fault::new(line, place(rest), "a space".into())) }
}

fn parse_element(base: &str, package: &str) -> Option<Element> {
    if let Some(primitive) = primitive(base) {
        return Some(Element::Primitive(primitive));
    }
    let name = match base {
        "Header" => return Some(Element::Message(TypeName::new("std_msgs", "Header"))),
        _ if base.contains('/') => TypeName::parse(base)?,
        _ if is_identifier(base) => TypeName::new(package, base),
        _ => return None,
    };
    // In ROS 2 these two are messages, in ROS 1 primitive types.
    Some(match (name.package.as_str(), name.name.as_str()) {
        ("builtin_interfaces", "Time") => Element::Primitive(Primitive::Time),
        ("builtin_interfaces", "Duration") => Element::Primitive(Primitive::Duration),
        _ => Element::Message(name),
    })
}

fn primitive(base: &str) -> Option<Primitive> {
    Some(match base {
        "bool" => Primitive::Bool,
        "int8" | "byte" => Primitive::I8,
        "uint8" | "char" => Primitive::U8,
        "int16" => Primitive::I16,
        "uint16" => Primitive::U16,
        "int32" => Primitive::I32,
        "uint32" => Primitive::U32,
        "int64" => Primitive::I64,
        "uint64" => Primitive::U64,
        "float32" => Primitive::F32,
        "float64" => Primitive::F64,
        "time" => Primitive::Time,
        "duration" => Primitive::Duration,
        "string" => Primitive::String(None),
        "wstring" => Primitive::WString(None),
        _ => return None,
    })
}

fn with_bound(element: Element, bound: usize) -> Option<Element> {
    match element {
        Element::Primitive(Primitive::String(_)) => Some(Element::Primitive(Primitive::String(Some(bound)))),
        Element::Primitive(Primitive::WString(_)) => {
            Some(Element::Primitive(Primitive::WString(Some(bound))))
        }
        _ => None,
    }
}

/// Parses `[]`, `[n]`, `[<=n]` or nothing; returns the rest. An error contains the text at its position.
fn parse_arity(text: &str) -> Result<(Arity, &str), (&str, Cow<'static, str>)> {
    let Some(inner) = text.strip_prefix('[') else { return Ok((Arity::One, text)) };
    let (arity, rest) = if let Some(bound) = inner.strip_prefix("<=") {
        let (bound, rest) = parse_bound(bound).map_err(|expected| (bound, expected))?;
        (Arity::Bounded(bound), rest)
    } else if inner.starts_with(']') {
        (Arity::Unbounded, inner)
    } else {
        let (size, rest) = parse_bound(inner).map_err(|expected| (inner, expected))?;
        (Arity::Fixed(size), rest)
    };
    rest.strip_prefix(']').map(|rest| (arity, rest)).ok_or((rest, "\"]\"".into()))
}

/// Parses a number of elements; returns the rest.
fn parse_bound(text: &str) -> Result<(usize, &str), Cow<'static, str>> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    let bound = digits.parse().ok().filter(|bound| *bound <= MAX_BOUND);
    bound.map(|bound| (bound, rest)).ok_or_else(|| format!("a size of at most {MAX_BOUND}").into())
}

/// A place in a line.
pub(super) struct Cursor<'a> {
    pub(super) line: &'a str,
    /// Bytes before the place, at a character's start.
    pub(super) at: usize,
}

impl<'a> Cursor<'a> {
    /// The rest of the line.
    pub(super) fn rest(&self) -> &'a str {
        self.line.get(self.at..).unwrap_or_default()
    }

    /// The next character that is not space; `None` at the end and at a comment.
    pub(super) fn peek(&self) -> Option<char> {
        self.rest().trim_start().chars().next().filter(|c| *c != '#')
    }

    /// An error at the next character that is not space.
    pub(super) fn fault(&self, expected: impl Into<Cow<'static, str>>) -> Fault {
        let mut fault = Fault::new(self.line, self.after_space(), expected.into());
        if self.peek().is_none() {
            fault.found.clear();
        }
        fault
    }

    pub(super) fn after_space(&self) -> usize {
        self.line.len() - self.rest().trim_start().len()
    }

    /// Consumes the next word, which ends at white space, a comment, or a character for which `ends` is true; returns its
    /// offset.
    fn word(&mut self, ends: fn(char) -> bool) -> Option<(usize, &'a str)> {
        self.peek()?;
        self.at = self.after_space();
        let rest = self.rest();
        let end = rest.find(|c: char| c.is_whitespace() || c == '#' || ends(c)).unwrap_or(rest.len());
        let start = self.at;
        self.at += end;
        Some((start, rest.get(..end)?))
    }

    /// Consumes `wanted` if it is the next character that is not white space.
    pub(super) fn take(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        if found {
            self.at = self.after_space() + wanted.len_utf8();
        }
        found
    }
}
