//! Numbers and truth values as Python and PyYAML write them.

/// The shortest decimal that reads back as `value`, in the form of Python's `repr`: with an exponent below 1e-4 and
/// from 1e16 on, and with a point or an exponent always.
pub fn python_float(value: f64) -> String {
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

/// The shortest digits that parse to `value`, with an exponent. If two of the same length are equally near, Python chooses
/// the even one and Rust the upper one; rounding to a given length chooses the even one in both.
fn shortest(value: f64) -> String {
    let shortest = format!("{value:e}");
    let digits = shortest.bytes().take_while(|c| *c != b'e').filter(u8::is_ascii_digit).count();
    let even = format!("{value:.*e}", digits.saturating_sub(1));
    if even.parse() == Ok(value) { even } else { shortest }
}

/// A float as PyYAML writes it, which reads back as one.
pub fn yaml_float(value: f64) -> String {
    match python_float(value) {
        word if !value.is_finite() => word.replace("nan", ".nan").replace("inf", ".inf"),
        number if number.contains('.') => number,
        number => number.replacen('e', ".0e", 1),
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
            assert_eq!(python_float(value), expected);
        }
    }
}
