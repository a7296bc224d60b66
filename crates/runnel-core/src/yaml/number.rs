//! Numbers as Python spells them.

use crate::time::{Duration, Time};

/// The shortest decimal that reads back as `value`, in the form of Python's `repr`: with an exponent below 1e-4 and
/// from 1e16 on, and with a point or an exponent always.
pub fn float(value: f64) -> String {
    if value.is_nan() {
        return "nan".into();
    }
    if value.is_infinite() {
        return if value > 0.0 { "inf" } else { "-inf" }.into();
    }
    let scientific = shortest(value);
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent = exponent.parse::<i32>().unwrap_or(0);
    let decimals = digits.split_once('.').map_or(0, |(_, decimals)| decimals.len() as i32);
    match exponent {
        -4..=15 => format!("{value:.*}", (decimals - exponent).max(1) as usize),
        _ => format!("{digits}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.unsigned_abs()),
    }
}

/// The shortest digits that read back as `value`, with an exponent. Where two of one length are equally near, Python
/// takes the even one and Rust the upper; rounding to a given length takes the even one in both.
fn shortest(value: f64) -> String {
    let shortest = format!("{value:e}");
    let digits = shortest.bytes().take_while(|c| *c != b'e').filter(u8::is_ascii_digit).count();
    let even = format!("{value:.*e}", digits.saturating_sub(1));
    if even.parse() == Ok(value) { even } else { shortest }
}

/// A float as PyYAML writes it, which reads back as one.
pub fn float_of_yaml(value: f64) -> String {
    match float(value) {
        word if !value.is_finite() => word.replace("nan", ".nan").replace("inf", ".inf"),
        number if number.contains('.') => number,
        number => number.replacen('e', ".0e", 1),
    }
}

/// Truth values.
pub(super) fn truth(value: bool) -> &'static str {
    if value { "True" } else { "False" }
}

/// Seconds and nanoseconds of a ROS 1 time as the wire has them: both without sign.
pub(super) fn time(value: Time) -> (i64, i64) {
    (i64::from(value.sec as u32), i64::from(value.nanosec))
}

/// The same of what lies between a time and an earlier one, if there is one: seconds rounded down.
pub(super) fn time_since(value: Time, earlier: Option<Time>) -> (i64, i64) {
    let Some(earlier) = earlier else { return time(value) };
    let nanoseconds = |(sec, nanosec): (i64, i64)| sec * 1_000_000_000 + nanosec;
    let between = nanoseconds(time(value)) - nanoseconds(time(earlier));
    (between.div_euclid(1_000_000_000), between.rem_euclid(1_000_000_000))
}

/// Seconds and nanoseconds of a ROS 1 duration as the wire has them: both with a sign.
pub(super) fn duration(value: Duration) -> (i64, i64) {
    (i64::from(value.sec), i64::from(value.nanosec as i32))
}

/// A whole number in the spellings of YAML 1.1 that YAML 1.2 takes for text: `0` before octal digits, and underscores
/// between digits.
pub fn whole_of_yaml_1_1(text: &str) -> Option<i128> {
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

/// A float in spellings that YAML 1.2 takes for text: Python's `nan` and `inf`, and underscores between digits.
pub(super) fn float_of_python(text: &str) -> Option<f64> {
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
pub fn truth_of_yaml_1_1(text: &str) -> Option<bool> {
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
    fn floats_are_spelled_as_python_spells_them() {
        let table = [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (0.1, "0.1"),
            (1e16, "1e+16"),
            (1e15, "1000000000000000.0"),
            (123_456_789_012_345_680.0, "1.2345678901234568e+17"),
            (1e22, "1e+22"),
            (1e-4, "0.0001"),
            (1e-5, "1e-05"),
            (1.5e-7, "1.5e-07"),
            (1e300, "1e+300"),
            (f64::NAN, "nan"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
            (5e-324, "5e-324"),
            (2f64.powi(-44), "5.684341886080802e-14"),
            (16.055_862_426_757_813, "16.055862426757812"),
            (9_007_199_254_740_993.0, "9007199254740992.0"),
            (-1.5, "-1.5"),
            (9_999_999_999_999_998.0, "9999999999999998.0"),
            (1e17, "1e+17"),
            (100_000.0, "100000.0"),
            (f64::from(0.1f32), "0.10000000149011612"),
            (f64::from(3.4e38f32), "3.3999999521443642e+38"),
            (f64::from(1e-45f32), "1.401298464324817e-45"),
        ];
        for (value, expected) in table {
            assert_eq!(float(value), expected);
        }
    }

    #[test]
    fn times_have_no_sign_and_durations_two() {
        assert_eq!(time(Time { sec: -1, nanosec: u32::MAX }), (4_294_967_295, 4_294_967_295));
        assert_eq!(duration(Duration { sec: -1, nanosec: -5i32 as u32 }), (-1, -5));
    }

    #[test]
    fn whole_numbers_are_read_in_the_spellings_of_yaml_1_1() {
        let good = [("017", 15), ("1_000", 1000), ("-0x1_0", -16), ("0b1_1", 3), ("+0o17", 15), ("0_7", 7)];
        for (text, expected) in good {
            assert_eq!(whole_of_yaml_1_1(text), Some(expected), "{text}");
        }
        for text in ["5", "08", "a", "", "-", "0x", "0x-1", "1.0", "0-1", "é_"] {
            assert_eq!(whole_of_yaml_1_1(text), None, "{text}");
        }
    }

    #[test]
    fn floats_are_read_in_the_spellings_of_python() {
        assert!(float_of_python("nan").is_some_and(f64::is_nan));
        assert_eq!(float_of_python("-inf"), Some(f64::NEG_INFINITY));
        assert_eq!(float_of_python("1_0.5"), Some(10.5));
        for text in ["1.5", "a_1", "1e999_", ""] {
            assert_eq!(float_of_python(text), None, "{text}");
        }
    }
}
