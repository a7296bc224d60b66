//! Ranges of log times that a user types: of the commands that copy messages, and of the player.

use super::inputs::{Inputs, Wanted};
use super::quantity::nanoseconds;
use crate::error::CliError;

/// Typed times from this on are since 1970, earlier ones since the start of the bag: about three years.
const ABSOLUTE: u64 = 100_000_000 * 1_000_000_000;

/// The range.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub struct TimeRange {
    /// Begin at this time: seconds from the start of the bag, or since 1970
    #[arg(long, value_name = "SECONDS", value_parser = nanoseconds)]
    pub start: Option<u64>,

    /// End at this time, given in the same way
    #[arg(long, value_name = "SECONDS", value_parser = nanoseconds)]
    pub end: Option<u64>,
}

/// The range that is played, with the options of both originals: offsets from the start, as `--start` and `--duration`
/// of rosbag have them.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub struct PlayedRange {
    /// Begin this many seconds after the start of the bag
    #[arg(short, long, alias = "start-offset", value_name = "SECONDS", value_parser = nanoseconds)]
    pub start: Option<u64>,

    /// Play this many seconds of the bag
    #[arg(short = 'u', long, alias = "playback-duration", value_name = "SECONDS", value_parser = nanoseconds)]
    pub duration: Option<u64>,

    /// End at this time: seconds since 1970. The later end counts if --duration is given too
    #[arg(long = "until", alias = "playback-until-sec", value_name = "SECONDS", value_parser = nanoseconds, conflicts_with = "until_nsec")]
    pub until: Option<u64>,

    // The same in nanoseconds, as ros2 bag has it.
    #[arg(long, alias = "playback-until-nsec", value_name = "NANOSECONDS", hide = true)]
    pub until_nsec: Option<u64>,
}

impl PlayedRange {
    /// The first and the last log time to play, in nanoseconds since 1970, of a bag with these times.
    ///
    /// # Errors
    /// When the bag has no messages, or none at these times.
    pub fn of(self, times: Option<(u64, u64)>) -> Result<(u64, u64), CliError> {
        let (first, last) = times.ok_or_else(|| CliError::Failed("the bag has no messages".into()))?;
        let start = first.saturating_add(self.start.unwrap_or_default());
        if start > last {
            let seconds = (last - first) as f64 / 1e9;
            let why = format!("--start is behind the end of the bag, which has {seconds:.1} s");
            return Err(CliError::Failed(why));
        }
        let by_duration = self.duration.map(|duration| start.saturating_add(duration));
        let end = by_duration.max(self.until.or(self.until_nsec)).unwrap_or(last).min(last);
        if end < start {
            return Err(CliError::Failed("--until is before the first message that is played".into()));
        }
        Ok((start, end))
    }
}

impl TimeRange {
    /// The messages of these channels in the range.
    pub fn of(self, inputs: &Inputs, channels: Option<Vec<usize>>) -> Wanted {
        let first = inputs.times().map_or(0, |(start, _)| start);
        let [start, end] = [self.start, self.end].map(|time| time.map(|time| absolute(time, first)));
        Wanted { channels, start, end }
    }
}

/// Nanoseconds since 1970.
fn absolute(typed: u64, first: u64) -> u64 {
    if typed < ABSOLUTE { first.saturating_add(typed) } else { typed }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_times_count_from_the_start() {
        let first = 1_700_000_000_000_000_000;
        assert_eq!(absolute(1_500_000_000, first), first + 1_500_000_000);
        assert_eq!(absolute(first + 7, first), first + 7);
    }

    #[test]
    fn played_range_ends_at_the_later_end() {
        const SECOND: u64 = 1_000_000_000;
        let times = Some((100 * SECOND, 110 * SECOND));
        let range = |start: Option<u64>, duration: Option<u64>, until: Option<u64>| {
            let [start, duration, until] =
                [start, duration, until].map(|time| time.map(|time| time * SECOND));
            let found = PlayedRange { start, duration, until, until_nsec: None }.of(times);
            found.map(|(start, end)| (start / SECOND, end / SECOND)).map_err(|error| error.to_string())
        };
        assert_eq!(range(None, None, None), Ok((100, 110)));
        assert_eq!(range(Some(2), Some(3), None), Ok((102, 105)));
        assert_eq!(range(Some(2), Some(3), Some(107)), Ok((102, 107)));
        assert_eq!(range(Some(2), Some(7), Some(104)), Ok((102, 109)));
        assert_eq!(range(None, Some(60), None), Ok((100, 110)), "not behind the end");
        assert!(range(Some(11), None, None).is_err_and(|why| why.contains("10.0 s")));
        assert!(range(Some(5), None, Some(101)).is_err_and(|why| why.contains("--until")));
        assert!(PlayedRange::default().of(None).is_err());
    }
}
