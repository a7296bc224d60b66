//! Times and sizes as `rosbag info` prints them, and dates as both originals do.

use runnel::core::time::Time;
use runnel_io::clock;

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// A date in the local time zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Date {
    /// The first three letters of its name.
    pub month: &'static str,
    pub day: i32,
    pub year: i32,
    /// Hours, minutes and seconds, as `01:02:03`.
    pub time: String,
}

/// The date of a number of nanoseconds since 1970.
pub fn date(nanos: u64) -> Date {
    let time = Time::from_nanos(i64::try_from(nanos).unwrap_or(i64::MAX));
    let [year, month, day, hour, minute, second] = clock::local_date(time);
    let month = usize::try_from(month - 1).ok().and_then(|month| MONTHS.get(month)).unwrap_or(&"");
    Date { month, day, year, time: format!("{hour:02}:{minute:02}:{second:02}") }
}

/// Seconds as rosbag computes with them.
pub(super) fn in_seconds(nanos: u64) -> f64 {
    (nanos / 1_000_000_000) as f64 + (nanos % 1_000_000_000) as f64 / 1e9
}

/// A duration in seconds.
pub(super) fn duration_text(seconds: f64) -> String {
    let (whole, rest) = (seconds as u64, (seconds % 60.0) as u64);
    let (hours, minutes) = (whole / 3600, whole / 60 % 60);
    match (hours, minutes) {
        (0, 0) => format!("{seconds:.1}s"),
        (0, _) => format!("{minutes}:{rest:02}s ({whole}s)"),
        _ => format!("{hours}hr {minutes}:{rest:02}s ({whole}s)"),
    }
}

/// A time in the local time zone, and in seconds since 1970. As rosbag does, it rounds the time before it splits it.
pub(super) fn time_text(nanos: u64) -> String {
    let seconds = in_seconds(nanos);
    let Date { month, day, year, time } = date((seconds as u64).saturating_mul(1_000_000_000));
    let hundredths = format!("{:.2}", seconds.fract());
    format!("{month} {day:02} {year} {time}{} ({seconds:.2})", hundredths.get(1..).unwrap_or_default())
}

/// A number of bytes; the units are powers of 1024.
pub(super) fn size_text(bytes: f64) -> String {
    scaled(bytes / 1024.0, 1024.0, ["KB", "MB", "GB", "TB", "PB", "EB", "ZB", "YB"])
}

/// A frequency in Hz.
pub(super) fn frequency_text(frequency: f64) -> String {
    scaled(frequency, 1000.0, ["Hz", "kHz", "MHz", "GHz", "THz", "PHz", "EHz", "ZHz"])
}

/// A number in the first of these units in which it is less than the factor between them.
fn scaled(number: f64, factor: f64, units: [&str; 8]) -> String {
    let mut number = number;
    for unit in units {
        if number < factor {
            return format!("{number:.1} {unit}");
        }
        number /= factor;
    }
    "-".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_have_the_form_of_rosbag() {
        let durations = [1.5, 61.0, 3661.25].map(duration_text);
        assert_eq!(durations, ["1.5s", "1:01s (61s)", "1hr 1:01s (3661s)"]);
        assert_eq!([100.0, 2048.0, 3.0 * 1024.0 * 1024.0].map(size_text), ["0.1 KB", "2.0 KB", "3.0 MB"]);
        assert_eq!([9.96, 1500.0].map(frequency_text), ["10.0 Hz", "1.5 kHz"]);
        let text = time_text(62_500_000_000);
        assert!(text.contains("1970 ") && text.ends_with(".50 (62.50)"), "{text}");
    }
}
