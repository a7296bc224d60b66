//! Numbers and truth values in spellings of YAML 1.1 and Python that are text in YAML 1.2.

/// Parses integers of YAML 1.1 that are text in YAML 1.2: `0` before octal digits, and underscores between digits.
pub fn parse_yaml_int(text: &str) -> Option<i128> {
    let plain = text.replace('_', "");
    let (negative, digits) = match plain.strip_prefix(['-', '+']) {
        Some(digits) => (plain.starts_with('-'), digits),
        None => (false, plain.as_str()),
    };
    let lower = digits.to_ascii_lowercase();
    let (radix, digits) = match (lower.get(..2), digits.strip_prefix('0')) {
        (Some("0x"), _) => (16, digits.get(2..)?),
        (Some("0o"), _) => (8, digits.get(2..)?),
        (Some("0b"), _) => (2, digits.get(2..)?),
        (_, Some(octal)) => (8, octal),
        _ if plain != text => (10, digits),
        _ => return None,
    };
    if digits.starts_with(['-', '+']) {
        return None;
    }
    let number = i128::from_str_radix(digits, radix).ok()?;
    Some(if negative { -number } else { number })
}

/// Parses floats that are text in YAML 1.2: Python's `nan` and `inf`, and underscores between digits.
pub(super) fn parse_python_float(text: &str) -> Option<f64> {
    match text.to_ascii_lowercase().as_str() {
        "nan" => return Some(f64::NAN),
        "inf" | "+inf" => return Some(f64::INFINITY),
        "-inf" => return Some(f64::NEG_INFINITY),
        _ => {}
    }
    let starts = text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.'));
    let number = (starts && text.contains('_')).then(|| text.replace('_', "").parse::<f64>().ok()).flatten();
    number.filter(|number| number.is_finite())
}

/// A truth value in the words of YAML 1.1.
pub fn parse_yaml_bool(text: &str) -> Option<bool> {
    match text {
        "yes" | "Yes" | "YES" | "on" | "On" | "ON" | "true" | "True" | "TRUE" => Some(true),
        "no" | "No" | "NO" | "off" | "Off" | "OFF" | "false" | "False" | "FALSE" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_are_read_in_the_spellings_of_yaml_1_1() {
        let good = [("017", 15), ("1_000", 1000), ("-0x1_0", -16), ("0b1_1", 3), ("+0o17", 15), ("0_7", 7)];
        for (text, expected) in good {
            assert_eq!(parse_yaml_int(text), Some(expected), "{text}");
        }
        for text in ["5", "08", "a", "", "-", "0x", "0x-1", "1.0", "0-1", "é_"] {
            assert_eq!(parse_yaml_int(text), None, "{text}");
        }
    }

    #[test]
    fn floats_are_read_in_the_spellings_of_python() {
        assert!(parse_python_float("nan").is_some_and(f64::is_nan));
        assert_eq!(parse_python_float("-inf"), Some(f64::NEG_INFINITY));
        assert_eq!(parse_python_float("1_0.5"), Some(10.5));
        for text in ["1.5", "a_1", "1e999_", ""] {
            assert_eq!(parse_python_float(text), None, "{text}");
        }
    }
}
