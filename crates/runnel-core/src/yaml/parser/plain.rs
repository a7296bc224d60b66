//! Meaning of unquoted text by the core schema of YAML 1.2.
//!
//! Source: YAML 1.2.2, 10.3.2.

use crate::yaml::parse_yaml_int;

/// Value of an unquoted text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Plain<'t> {
    /// `null`, `~` or no text.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// An integer: decimal, hexadecimal (`0x1F`), octal (`0o17`) or binary (`0b11`).
    Int(i128),
    /// A number with a point or an exponent, or an integer that is too long.
    Float(f64),
    /// Anything else.
    Text(&'t str),
}

/// The value of an unquoted text in YAML 1.2. Spellings of YAML 1.1, such as `yes` and `017`, are text here.
pub fn plain_value(text: &str) -> Plain<'_> {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Plain::Null,
        "true" | "True" | "TRUE" => Plain::Bool(true),
        "false" | "False" | "FALSE" => Plain::Bool(false),
        _ => match (int(text), float(text)) {
            (Some(number), _) => Plain::Int(number),
            (None, Some(number)) => Plain::Float(number),
            (None, None) => Plain::Text(text),
        },
    }
}

/// Text without its sign; `None` if that leaves another sign.
fn unsigned(text: &str) -> Option<&str> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    (!digits.starts_with(['-', '+'])).then_some(digits)
}

fn int(text: &str) -> Option<i128> {
    let digits = unsigned(text)?;
    if is_decimal(digits) {
        // In YAML 1.1 a number that begins with 0 is octal, and in YAML 1.2 decimal: it is left to the reader.
        return if digits.len() > 1 && digits.starts_with('0') { None } else { text.parse().ok() };
    }
    let prefix = digits.get(..2).is_some_and(|prefix| ["0x", "0o", "0b"].contains(&prefix));
    parse_yaml_int(text).filter(|_| prefix && !text.contains('_'))
}

fn float(text: &str) -> Option<f64> {
    let digits = unsigned(text)?;
    let number = match digits {
        ".inf" | ".Inf" | ".INF" if text.starts_with('-') => return Some(f64::NEG_INFINITY),
        ".inf" | ".Inf" | ".INF" => return Some(f64::INFINITY),
        ".nan" | ".NaN" | ".NAN" if digits.len() == text.len() => return Some(f64::NAN),
        // The decimal number that has a leading 0 is no float either.
        _ if is_decimal(digits) && digits.starts_with('0') => return None,
        _ => text.parse::<f64>().ok()?,
    };
    // Rust also parses `inf` and `nan`, and parses too large numbers as infinite.
    number.is_finite().then_some(number)
}

fn is_decimal(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn core_schema_words_have_their_meaning() {
        let table = [
            ("", Plain::Null),
            ("~", Plain::Null),
            ("NULL", Plain::Null),
            ("True", Plain::Bool(true)),
            ("0", Plain::Int(0)),
            ("-12", Plain::Int(-12)),
            ("+3", Plain::Int(3)),
            ("0x1F", Plain::Int(31)),
            ("-0x1", Plain::Int(-1)),
            ("0o17", Plain::Int(15)),
            ("0b11", Plain::Int(3)),
            ("18446744073709551616", Plain::Int(1 << 64)),
            ("1.5", Plain::Float(1.5)),
            ("1e5", Plain::Float(1e5)),
            ("-.inf", Plain::Float(f64::NEG_INFINITY)),
            (".5", Plain::Float(0.5)),
            ("08.5", Plain::Float(8.5)),
        ];
        for (text, expected) in table {
            assert_eq!(plain_value(text), expected, "{text}");
        }
        assert!(matches!(plain_value(".nan"), Plain::Float(number) if number.is_nan()));
        let long = "9".repeat(60);
        assert!(matches!(plain_value(&long), Plain::Float(number) if number > 1e59));
    }

    #[test]
    fn words_of_yaml_1_1_and_python_are_text() {
        for text in
            "yes 017 08 00 1_000 0x1_0 inf nan -.nan 12:30 1e999 -- +-1 0x 0x-1 tRUE . e5 é".split(' ')
        {
            assert_eq!(plain_value(text), Plain::Text(text));
        }
    }
}
