//! Durations as rules write them: `500 ms`, `10 s`, `5 min`, `2 h`.

use std::time::Duration;

const UNITS: [(&str, u64); 4] = [("ms", 1), ("min", 60_000), ("s", 1000), ("h", 3_600_000)];

/// Parses a duration.
///
/// # Errors
/// If the text is none. The error has examples.
pub fn parse(text: &str) -> Result<Duration, String> {
    let unit = UNITS.iter().find_map(|(unit, length)| Some((text.strip_suffix(unit)?, length)));
    let milliseconds =
        unit.and_then(|(number, length)| number.trim().parse::<u64>().ok()?.checked_mul(*length));
    milliseconds
        .map(Duration::from_millis)
        .ok_or_else(|| format!("{text:?} is no duration, such as \"500 ms\", \"10 s\", \"5 min\" or \"2 h\""))
}

/// The shortest text of a duration, with at most one decimal.
pub fn shown(duration: Duration) -> String {
    let milliseconds = duration.as_secs_f64() * 1000.0;
    if milliseconds < 1000.0 {
        return format!("{} ms", (milliseconds * 10.0).round() / 10.0);
    }
    let whole = duration.as_secs();
    if whole >= 60 && whole.is_multiple_of(60) {
        return format!("{} min", whole / 60);
    }
    format!("{} s", (milliseconds / 100.0).round() / 10.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_units() {
        for (text, milliseconds) in
            [("500 ms", 500), ("10 s", 10_000), ("10s", 10_000), ("5 min", 300_000), ("2 h", 7_200_000)]
        {
            assert_eq!(parse(text), Ok(Duration::from_millis(milliseconds)));
        }
        for text in ["", "10", "s", "-1 s", "1.5 s", "10 d", "99999999999999999 h"] {
            assert!(parse(text).unwrap_err().contains("such as \"500 ms\""), "{text}");
        }
    }

    #[test]
    fn durations_are_shown_in_the_fitting_unit() {
        for (microseconds, text) in [
            (1250, "1.3 ms"),
            (10_000, "10 ms"),
            (1_500_000, "1.5 s"),
            (60_000_000, "1 min"),
            (61_000_000, "61 s"),
        ] {
            assert_eq!(shown(Duration::from_micros(microseconds)), text);
        }
    }
}
