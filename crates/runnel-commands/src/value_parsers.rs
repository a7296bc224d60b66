//! Parsers of numeric arguments, with their limits.

use std::time::Duration;

/// A duration that is not negative.
///
/// # Errors
/// When the text is anything else; the error says what is expected. The same holds for all parsers.
pub fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    seconds.ok_or_else(|| "must be a number of seconds".to_owned())
}

/// A rate greater than 0.
pub fn rate(text: &str) -> Result<f64, String> {
    let rate = text.parse().ok().filter(|rate: &f64| rate.is_finite() && *rate > 0.0);
    rate.ok_or_else(|| "must be a number greater than 0".to_owned())
}

/// A number of things, at least 1.
#[cfg(feature = "bag")]
pub fn count(text: &str) -> Result<usize, String> {
    let count = text.parse().ok().filter(|count: &usize| *count > 0);
    count.ok_or_else(|| "must be a whole number greater than 0".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rate_must_be_greater_than_0() {
        assert_eq!(rate("0.5"), Ok(0.5));
        for text in ["0", "-1", "x", "nan", "inf", ""] {
            assert!(rate(text).is_err(), "{text}");
        }
    }

    #[test]
    fn seconds_must_not_be_negative() {
        assert_eq!(seconds("0"), Ok(Duration::ZERO));
        assert_eq!(seconds("0.5"), Ok(Duration::from_millis(500)));
        for text in ["-1", "x", "nan", "inf", "1e300", ""] {
            assert!(seconds(text).is_err(), "{text}");
        }
    }
}
