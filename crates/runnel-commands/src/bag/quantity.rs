//! Parsers of times and sizes as the recorders of both generations take them, and their text.

use std::time::Duration;

/// A time: seconds, or a number with `s`, `m` or `h`, as `rosbag record --duration` takes it.
///
/// # Errors
/// When the text is anything else; the error says what is expected. The same holds for all parsers.
pub fn duration(text: &str) -> Result<Duration, String> {
    let (number, unit) = match text.char_indices().last() {
        Some((at, 's')) => (&text[..at], 1.0),
        Some((at, 'm')) => (&text[..at], 60.0),
        Some((at, 'h')) => (&text[..at], 3600.0),
        _ => (text, 1.0),
    };
    let seconds = number.parse::<f64>().ok().map(|number| number * unit);
    let duration = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    duration.ok_or_else(|| "expected a time, such as 30, 5m or 2h".to_owned())
}

/// A time that is longer than 0.
pub fn positive_duration(text: &str) -> Result<Duration, String> {
    duration(text)?.checked_sub(Duration::from_nanos(1)).ok_or("must be longer than 0")?;
    duration(text)
}

/// A number of seconds with up to nine decimals. Returns nanoseconds.
pub fn nanoseconds(text: &str) -> Result<u64, String> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    let is_number = |digits: &str| digits.bytes().all(|digit| digit.is_ascii_digit());
    let seconds = whole.parse::<u64>().ok().filter(|_| is_number(whole) && is_number(decimals));
    let nanos = format!("{decimals:0<9}").get(..9).and_then(|digits| digits.parse::<u64>().ok());
    let sum = |(seconds, nanos): (u64, u64)| seconds.checked_mul(1_000_000_000)?.checked_add(nanos);
    seconds.zip(nanos).and_then(sum).ok_or_else(|| "must be a number of seconds".to_owned())
}

/// A size in MiB. Returns bytes.
pub fn mebibytes(text: &str) -> Result<u64, String> {
    let bytes = text.parse::<u64>().ok().and_then(|number| number.checked_mul(1 << 20));
    bytes.ok_or_else(|| "expected a size in MiB".to_owned())
}

/// A size with a unit: `500B`, `100kB`, `100MB` or `2GB` in powers of 1000, `64MiB` in powers of 1024. Returns bytes.
pub fn bytes(text: &str) -> Result<u64, String> {
    const UNITS: [(&str, u64); 7] = [
        ("kib", 1 << 10),
        ("mib", 1 << 20),
        ("gib", 1 << 30),
        ("kb", 1_000),
        ("mb", 1_000_000),
        ("gb", 1_000_000_000),
        ("b", 1),
    ];
    let lower = text.to_ascii_lowercase();
    let of_unit =
        |(unit, factor): &(&str, u64)| lower.strip_suffix(unit)?.parse::<u64>().ok()?.checked_mul(*factor);
    UNITS.iter().find_map(of_unit).ok_or_else(|| "expected a size, such as 100MB or 64MiB".to_owned())
}

/// A size in bytes, or with `k`, `M` or `G` in powers of 1024, as `rosbag record --min-space` takes it, or with a unit as
/// [`bytes`] takes it. Returns bytes.
pub fn space(text: &str) -> Result<u64, String> {
    let (number, factor) = match text.char_indices().last() {
        Some((at, 'k' | 'K')) => (&text[..at], 1 << 10),
        Some((at, 'm' | 'M')) => (&text[..at], 1 << 20),
        Some((at, 'g' | 'G')) => (&text[..at], 1 << 30),
        _ => (text, 1),
    };
    let plain = number.parse::<u64>().ok().and_then(|number| number.checked_mul(factor));
    plain.or_else(|| bytes(text).ok()).ok_or_else(|| "expected a size, such as 1G, 500M or 2GB".to_owned())
}

/// A regular expression, which matches anywhere in a name.
pub fn regex(text: &str) -> Result<regex_lite::Regex, String> {
    regex_lite::Regex::new(text).map_err(|error| error.to_string())
}

/// A size for people: `12 B`, `3.4 MiB`.
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut scaled = bytes as f64 / 1024.0;
    let mut unit = 0;
    while scaled >= 1024.0 && unit + 1 < UNITS.len() {
        scaled /= 1024.0;
        unit += 1;
    }
    format!("{scaled:.1} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        let seconds = |text| duration(text).map(|time| time.as_secs_f64()).ok();
        for (text, expected) in [("30", 30.0), ("1.5", 1.5), ("2s", 2.0), ("5m", 300.0), ("2h", 7200.0)] {
            assert_eq!(seconds(text), Some(expected), "{text}");
        }
        for text in ["", "-1", "x", "m", "1d", "1e300", "nan"] {
            assert_eq!(seconds(text), None, "{text}");
        }
        assert!(positive_duration("0").is_err() && positive_duration("0.1").is_ok());
    }

    #[test]
    fn seconds_keep_nanoseconds() {
        assert_eq!(nanoseconds("1700000000.123456789"), Ok(1_700_000_000_123_456_789));
        assert_eq!((nanoseconds("2"), nanoseconds("0.5")), (Ok(2_000_000_000), Ok(500_000_000)));
        for text in ["", "-1", "+1", "1.x", "x", "1e3", "99999999999999999999"] {
            assert!(nanoseconds(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_have_units() {
        let texts = [0, 1023, 1024, 5 << 20, 3 << 30, u64::MAX].map(size);
        assert_eq!(texts, ["0 B", "1023 B", "1.0 KiB", "5.0 MiB", "3.0 GiB", "16384.0 PiB"]);
        assert_eq!(mebibytes("2"), Ok(2 << 20));
        assert!(mebibytes("18446744073709551615").is_err() && mebibytes("x").is_err());
        let read = ["7B", "3kB", "2MB", "1gb", "4KiB", "64MiB"].map(|text| bytes(text).ok());
        assert_eq!(read, [7, 3_000, 2_000_000, 1_000_000_000, 4096, 64 << 20].map(Some));
        for text in ["", "MB", "-1MB", "1.5MB", "1", "1TB", "99999999999999999999B", "18446744073709551615kB"]
        {
            assert!(bytes(text).is_err(), "{text}");
        }
        let read = ["1G", "500m", "2k", "77", "2GB", "64MiB"].map(|text| space(text).ok());
        assert_eq!(read, [1 << 30, 500 << 20, 2048, 77, 2_000_000_000, 64 << 20].map(Some));
        for text in ["", "G", "-1G", "1.5G", "1T", "18446744073709551615G"] {
            assert!(space(text).is_err(), "{text}");
        }
    }
}
