//! Formatting of doubles as C's `printf` does it.

/// Significant digits of `%.16g`.
const SHORT: usize = 16;

/// Formats a double as `%.16g` does, or as `%.17g` where 16 digits would read back as another number.
///
/// roscpp reads with `strtod` and Python with `float`; both accept either form, and `nan`, `inf` and `-inf`.
pub(super) fn format(number: f64) -> String {
    if number.is_nan() {
        return "nan".to_owned();
    }
    if number.is_infinite() {
        return if number < 0.0 { "-inf" } else { "inf" }.to_owned();
    }
    let short = general(number, SHORT);
    match short.parse::<f64>() {
        Ok(same) if same == number => short,
        _ => general(number, SHORT + 1),
    }
}

/// Formats a finite number as `%.{precision}g` does.
fn general(number: f64, precision: usize) -> String {
    let scientific = format!("{:.*e}", precision - 1, number.abs());
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let digits = mantissa.replace('.', "");
    let digits = digits.trim_end_matches('0');
    let digits = if digits.is_empty() { "0" } else { digits };
    let sign = if number.is_sign_negative() { "-" } else { "" };
    let body = match usize::try_from(exponent) {
        Ok(whole) if whole < precision => fixed(digits, whole),
        Err(_) if exponent >= -4 => format!("0.{}{digits}", "0".repeat(leading_zeros(exponent))),
        _ => exponential(digits, exponent),
    };
    format!("{sign}{body}")
}

/// The zeros between the decimal point and the first digit of a number below 1.
fn leading_zeros(exponent: i32) -> usize {
    usize::try_from(-exponent - 1).unwrap_or(0)
}

/// Digits with the decimal point after the first `whole` + 1 of them.
fn fixed(digits: &str, whole: usize) -> String {
    match digits.split_at_checked(whole + 1) {
        Some((before, "")) => before.to_owned(),
        Some((before, after)) => format!("{before}.{after}"),
        None => format!("{digits}{}", "0".repeat(whole + 1 - digits.len())),
    }
}

/// Digits with the decimal point after the first, and an exponent of at least two digits.
fn exponential(digits: &str, exponent: i32) -> String {
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", fixed(digits, 0), exponent.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_match_c_printf() {
        // Each text is the output of glibc's printf for "%.16g".
        let cases: [(f64, &str); 20] = [
            (0.0, "0"),
            (-0.0, "-0"),
            (1.0, "1"),
            (-1.5, "-1.5"),
            (0.1, "0.1"),
            (100.0, "100"),
            (123456.789, "123456.789"),
            (0.0001, "0.0001"),
            (0.000_012_34, "1.234e-05"),
            (1e-7, "1e-07"),
            (1e15, "1000000000000000"),
            (1e16, "1e+16"),
            (1e22, "1e+22"),
            (1e300, "1e+300"),
            (1.5e-300, "1.5e-300"),
            (core::f64::consts::PI, "3.141592653589793"),
            (2.0 / 3.0, "0.6666666666666666"),
            (70368744177664.0 + 0.125, "70368744177664.12"),
            (9007199254740992.0, "9007199254740992"),
            (-9999999999999998.0, "-9999999999999998"),
        ];
        for (number, text) in cases {
            assert_eq!(format(number), text);
        }
    }

    #[test]
    fn seventeenth_digit_is_written_where_needed() {
        assert_eq!(format(0.1 + 0.2), "0.30000000000000004");
        assert_eq!(format(f64::MAX), "1.7976931348623157e+308");
        assert_eq!(format(f64::MIN_POSITIVE), "2.2250738585072014e-308");
        assert_eq!(format(123456789012345680.0), "1.2345678901234568e+17");
        assert_eq!(format(5e-324), "4.940656458412465e-324");
    }

    #[test]
    fn nan_and_infinity_use_names_of_c_and_python() {
        assert_eq!(format(f64::NAN), "nan");
        assert_eq!(format(f64::INFINITY), "inf");
        assert_eq!(format(f64::NEG_INFINITY), "-inf");
    }

    proptest::proptest! {
        #[test]
        fn every_double_round_trips(bits: u64) {
            let number = f64::from_bits(bits);
            let back: f64 = format(number).parse().expect("a number");
            proptest::prop_assert!(back == number || number.is_nan() && back.is_nan());
            proptest::prop_assert_eq!(back.is_sign_negative(), number.is_sign_negative() && !number.is_nan());
        }
    }
}
