//! A range of log times that a user types.

use super::inputs::{Inputs, Wanted};
use super::quantity::nanoseconds;

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
}
