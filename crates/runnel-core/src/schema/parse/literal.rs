//! Parser of literals: values of constants and defaults.

use super::super::types::{Arity, Element, Literal, Primitive};
use super::line::{Cursor, Fault};
use std::borrow::Cow;

/// Parses the text after a constant's `=`: its value, and the text for the MD5.
pub(super) fn parse_constant<'a>(
    cursor: &Cursor<'a>,
    primitive: Primitive,
    spelling: &str,
) -> Result<(Literal, &'a str), Fault> {
    if primitive.is_text() {
        // In ROS 1 the rest of the line is the text, including quotes and `#`, and is hashed. A text that is completely in
        // quotes has its value in ROS 2.
        let text = cursor.rest().trim();
        let value = quoted_to_end(text).unwrap_or_else(|| text.to_owned());
        check_bound(primitive, &value).map_err(|expected| cursor.fault(expected))?;
        return Ok((Literal::Text(value), text));
    }
    let text = before_comment(cursor.rest());
    let value = parse_scalar(primitive, spelling, text).map_err(|expected| cursor.fault(expected))?;
    Ok((value, text))
}

/// Parses the text after a field's name.
pub(super) fn parse_default(
    cursor: &Cursor<'_>,
    element: &Element,
    arity: Arity,
    spelling: &str,
) -> Result<Literal, Fault> {
    let Element::Primitive(primitive) = *element else {
        return Err(cursor.fault("the end of the line (a message has no default)"));
    };
    let mut values = Values { cursor: Cursor { line: cursor.line, at: cursor.at }, primitive, spelling };
    let value = if arity == Arity::One { values.scalar(&['#'])? } else { values.list(arity)? };
    match values.cursor.peek() {
        None => Ok(value),
        Some(_) => Err(values.cursor.fault("the end of the line")),
    }
}

/// Reads the values of a default.
struct Values<'a> {
    cursor: Cursor<'a>,
    primitive: Primitive,
    spelling: &'a str,
}

impl Values<'_> {
    /// `[a, b, c]`.
    fn list(&mut self, arity: Arity) -> Result<Literal, Fault> {
        if !self.cursor.take('[') {
            return Err(self.cursor.fault("\"[\" and a list of values"));
        }
        let mut values = Vec::new();
        while !self.cursor.take(']') {
            if !values.is_empty() && !self.cursor.take(',') {
                return Err(self.cursor.fault("\",\" or \"]\""));
            }
            values.push(self.scalar(&[',', ']', '#'])?);
        }
        if arity.allows(values.len()) {
            Ok(Literal::List(values))
        } else {
            Err(self.cursor.fault("as many values as the array has"))
        }
    }

    /// One value, which ends before one of `ends` unless it is quoted.
    fn scalar(&mut self, ends: &[char]) -> Result<Literal, Fault> {
        let start = self.cursor.after_space();
        let rest = self.cursor.rest().trim_start();
        let is_text = self.primitive.is_text();
        let parsed = match quoted(rest).filter(|_| is_text) {
            Some((value, len)) => {
                self.cursor.at = start + len;
                check_bound(self.primitive, &value).map(|()| Literal::Text(value))
            }
            None => {
                let (text, _) = rest.split_at(rest.find(ends).unwrap_or(rest.len()));
                self.cursor.at = start + text.len();
                parse_scalar(self.primitive, self.spelling, text.trim_end())
            }
        };
        parsed.map_err(|expected| Fault::new(self.cursor.line, start, expected))
    }
}

/// The text before a comment, without the space around it.
fn before_comment(text: &str) -> &str {
    text.split('#').next().unwrap_or_default().trim()
}

/// A quoted text: its content, and the length including quotes. A backslash escapes a quote.
fn quoted(text: &str) -> Option<(String, usize)> {
    let quote = text.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let mut value = String::new();
    let mut characters = text.char_indices().skip(1).peekable();
    while let Some((at, character)) = characters.next() {
        let escapes = character == '\\' && characters.next_if(|(_, next)| *next == quote).is_some();
        match character {
            _ if escapes => value.push(quote),
            _ if character == quote => return Some((value, at + 1)),
            _ => value.push(character),
        }
    }
    None
}

/// As [`quoted`], if nothing but a comment follows.
fn quoted_to_end(text: &str) -> Option<String> {
    let (value, len) = quoted(text)?;
    before_comment(text.get(len..)?).is_empty().then_some(value)
}

fn check_bound(primitive: Primitive, value: &str) -> Result<(), Cow<'static, str>> {
    match primitive {
        Primitive::String(Some(most)) if value.len() > most => Err(format!("at most {most} bytes").into()),
        Primitive::WString(Some(most)) if value.encode_utf16().count() > most => {
            Err(format!("at most {most} UTF-16 units").into())
        }
        _ => Ok(()),
    }
}

/// Parses one value of a primitive type; the error is the expected text.
fn parse_scalar(primitive: Primitive, spelling: &str, text: &str) -> Result<Literal, Cow<'static, str>> {
    match primitive {
        Primitive::Bool => parse_bool(text).map(Literal::Bool).ok_or("true, false, 1 or 0".into()),
        Primitive::F32 | Primitive::F64 => parse_float(primitive, text).map(Literal::Float),
        Primitive::String(_) | Primitive::WString(_) => {
            check_bound(primitive, text).map(|()| Literal::Text(text.to_owned()))
        }
        Primitive::Time | Primitive::Duration => Err("the end of the line (a time has no default)".into()),
        _ => parse_integer(primitive, spelling, text).map(Literal::Int),
    }
}

fn parse_bool(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "1" => Some(true),
        "false" | "0" => Some(false),
        _ => None,
    }
}

fn parse_float(primitive: Primitive, text: &str) -> Result<f64, Cow<'static, str>> {
    let value: f64 = text.parse().map_err(|_| "a number")?;
    if primitive == Primitive::F32 && value.is_finite() && (value as f32).is_infinite() {
        return Err("a number within the range of float32".into());
    }
    Ok(value)
}

fn parse_integer(primitive: Primitive, spelling: &str, text: &str) -> Result<i128, Cow<'static, str>> {
    let (least, most) = range(primitive, spelling);
    let value = whole_number(text).filter(|value| (least..=most).contains(value));
    let value = value.ok_or_else(|| format!("an integer from {least} to {most}"))?;
    // What ROS 2 counts as a byte above 127 is the same byte as a negative one in ROS 1.
    Ok(if primitive == Primitive::I8 && value > 127 { value - 256 } else { value })
}

/// The range of a type. `byte` is signed in ROS 1 and unsigned in ROS 2.
fn range(primitive: Primitive, spelling: &str) -> (i128, i128) {
    match primitive {
        Primitive::I8 if spelling.starts_with("byte") => (-128, 255),
        Primitive::I8 => (-128, 127),
        Primitive::I16 => (i16::MIN.into(), i16::MAX.into()),
        Primitive::I32 => (i32::MIN.into(), i32::MAX.into()),
        Primitive::I64 => (i64::MIN.into(), i64::MAX.into()),
        Primitive::U16 => (0, u16::MAX.into()),
        Primitive::U32 => (0, u32::MAX.into()),
        Primitive::U64 => (0, u64::MAX.into()),
        _ => (0, 255),
    }
}

/// A decimal, `0x`, `0o` or `0b` number with or without a sign.
fn whole_number(text: &str) -> Option<i128> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (radix, digits) = match digits.get(..2) {
        Some("0x" | "0X") => (16, digits.get(2..)?),
        Some("0o" | "0O") => (8, digits.get(2..)?),
        Some("0b" | "0B") => (2, digits.get(2..)?),
        _ => (10, digits),
    };
    if digits.starts_with(['+', '-']) {
        return None;
    }
    let value = i128::from_str_radix(digits, radix).ok()?;
    Some(if negative { -value } else { value })
}
