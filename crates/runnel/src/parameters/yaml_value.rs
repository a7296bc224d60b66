//! Types of the values in parameter files and `-p` arguments, by the rules of rcl_yaml_param_parser.

use crate::parameters::parameter_value::ParameterValue;
use crate::settings::environment::FileValue;

/// Words for true and false in YAML 1.1.
const TRUE: [&str; 11] = ["Y", "y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"];
const FALSE: [&str; 11] = ["N", "n", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"];

/// The value of a parameter in a file. A list of several types, which rcl refuses, is a [`ParameterValue::List`].
pub(crate) fn file_value(value: &FileValue) -> ParameterValue {
    match value {
        FileValue::Plain(text) => plain(text),
        FileValue::Text(text) => text.as_str().into(),
        FileValue::List(items) => items.iter().map(file_value).collect::<Vec<_>>().into(),
    }
}

fn plain(text: &str) -> ParameterValue {
    if TRUE.contains(&text) {
        return true.into();
    }
    if FALSE.contains(&text) {
        return false.into();
    }
    let number = integer(text).map(ParameterValue::from).or_else(|| double(text).map(ParameterValue::from));
    number.unwrap_or_else(|| text.into())
}

/// An integer as C's `strtoll` reads it: decimal, hexadecimal after `0x`, octal after `0`.
fn integer(text: &str) -> Option<i64> {
    let (is_negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let (radix, digits) = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(digits) => (16, digits),
        None if digits.len() > 1 && digits.starts_with('0') => (8, &digits[1..]),
        None => (10, digits),
    };
    // Rust would accept another sign.
    if !digits.starts_with(|first: char| first.is_digit(radix)) {
        return None;
    }
    let magnitude = i128::from_str_radix(digits, radix).ok()?;
    i64::try_from(if is_negative { -magnitude } else { magnitude }).ok()
}

/// A floating-point number, with the infinities of YAML.
fn double(text: &str) -> Option<f64> {
    match text {
        ".nan" | ".NaN" | ".NAN" => Some(f64::NAN),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => Some(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => Some(f64::NEG_INFINITY),
        _ => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_has_type_that_rcl_gives_it() {
        let integers =
            [("5", 5), ("-5", -5), ("+5", 5), ("0", 0), ("0x1F", 31), ("-0x10", -16), ("017", 15), ("00", 0)];
        for (text, expected) in integers {
            assert_eq!(plain(text), expected.into(), "{text}");
        }
        assert_eq!(plain("-9223372036854775808"), i64::MIN.into());
        for (text, expected) in [
            ("1.0", 1.0),
            ("1e3", 1000.0),
            ("-.5", -0.5),
            ("1.", 1.0),
            (".inf", f64::INFINITY),
            ("-.INF", f64::NEG_INFINITY),
            ("9223372036854775808", 9_223_372_036_854_775_808.0),
            ("089", 89.0),
        ] {
            assert_eq!(plain(text), expected.into(), "{text}");
        }
        assert!(matches!(plain(".nan"), ParameterValue::Double(number) if number.is_nan()));
        for (text, expected) in [("true", true), ("yes", true), ("on", true), ("No", false), ("off", false)] {
            assert_eq!(plain(text), expected.into(), "{text}");
        }
        for text in ["", "tRUE", "1_000", "0x", "--5", "+-5", "0x-5", "5 m", "1.2.3", "~"] {
            assert_eq!(plain(text), text.into(), "{text}");
        }
    }

    #[test]
    fn quoted_text_stays_text() {
        assert_eq!(file_value(&FileValue::Text("5".into())), "5".into());
    }

    #[test]
    fn list_of_one_type_is_array() {
        let list = |texts: &[&str]| {
            file_value(&FileValue::List(texts.iter().map(|text| FileValue::Plain((*text).into())).collect()))
        };
        assert_eq!(list(&["1", "2"]), vec![1, 2].into());
        assert_eq!(list(&["a", "b"]), vec!["a", "b"].into());
        assert_eq!(list(&["1", "2.5"]), ParameterValue::List(vec![1.into(), 2.5.into()]));
    }
}
