//! Times as `rosbag info` prints them.

use runnel::core::time::Time;
use runnel_io::clock;

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Seconds with six decimals, as rosbag prints them in YAML.
pub(super) fn seconds(nanos: u64) -> String {
    format!("{}.{:06}", nanos / 1_000_000_000, nanos % 1_000_000_000 / 1000)
}

/// A duration as `rosbag info` prints it.
pub(super) fn duration(nanos: u64) -> String {
    let whole = nanos / 1_000_000_000;
    let (hours, minutes, rest) = (whole / 3600, whole / 60 % 60, whole % 60);
    match (hours, minutes) {
        (0, 0) => format!("{:.1}s", nanos as f64 / 1e9),
        (0, _) => format!("{minutes}:{rest:02}s ({whole}s)"),
        _ => format!("{hours}hr {minutes}:{rest:02}s ({whole}s)"),
    }
}

/// A time as `rosbag info` prints it, in the local time zone.
pub(super) fn date(nanos: u64) -> String {
    let time = Time::from_nanos(i64::try_from(nanos).unwrap_or(i64::MAX));
    let [year, month, day, hour, minute, second] = clock::local_date(time);
    let month = usize::try_from(month - 1).ok().and_then(|month| MONTHS.get(month)).unwrap_or(&"");
    let hundredths = nanos % 1_000_000_000 / 10_000_000;
    let seconds = nanos as f64 / 1e9;
    format!("{month} {day:02} {year} {hour:02}:{minute:02}:{second:02}.{hundredths:02} ({seconds:.2})")
}
