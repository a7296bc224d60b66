//! Counts of heartbeats and acknowledgements, which reveal overtaken ones.

use crate::evidence::{Evidence, Verdict};
use runnel_core::time::Instant;

/// Maximum distance of a count from the last one: more than a writer counts while a peer is unreachable for a while.
const MAX_AHEAD: u32 = 1 << 16;

/// LatestCount received count of a kind.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LatestCount {
    count: Option<u32>,
    evidence: Evidence,
}

/// Verdict on a count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CountVerdict {
    /// The first count, or later than the last.
    Fresh,
    /// A copy.
    Stale,
    /// Overtaken or implausible.
    Overtaken,
    /// Implausible after the previous counts, and not believed yet: the peer is to be asked.
    Contested,
    /// A run of such counts shows that the peer has restarted its counter.
    Restarted,
}

impl CountVerdict {
    /// Returns whether the submessage with this count is to be handled.
    pub fn is_accepted(self) -> bool {
        matches!(self, Self::Fresh | Self::Restarted)
    }
}

impl LatestCount {
    /// Checks a count. Counts wrap around.
    pub fn check(&mut self, now: Instant, count: u32) -> CountVerdict {
        let ahead = self.count.map_or(1, |last| count.wrapping_sub(last));
        if self.count.is_none() || (1..=MAX_AHEAD).contains(&ahead) {
            self.count = Some(count);
            self.evidence.confirm(now);
            return CountVerdict::Fresh;
        }
        if ahead == 0 {
            return CountVerdict::Stale;
        }
        match self.evidence.contradict(now, count.into()) {
            Verdict::Overtaken => CountVerdict::Overtaken,
            Verdict::Copy => CountVerdict::Stale,
            Verdict::Contested => CountVerdict::Contested,
            Verdict::Restart => {
                self.count = Some(count);
                CountVerdict::Restarted
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use CountVerdict::{Contested, Fresh, Restarted, Stale};

    #[test]
    fn counts_are_fresh_once_and_wrap() {
        let mut latest = LatestCount::default();
        for (count, news) in [(0, true), (0, false), (7, true), (6, false), (7, false), (8, true)] {
            assert_eq!(latest.check(Instant(0), count).is_accepted(), news, "{count}");
        }
        let mut latest = LatestCount::default();
        for (count, news) in [(u32::MAX - 1, true), (1, true), (u32::MAX, false), (2, true)] {
            assert_eq!(latest.check(Instant(0), count).is_accepted(), news, "{count}");
        }
    }

    #[test]
    fn forged_count_blocks_no_later_counts() {
        let mut latest = LatestCount::default();
        let later = Instant(1_000_000_000);
        latest.check(Instant(0), 7);
        assert_eq!(latest.check(later, i32::MAX as u32), Contested);
        assert_eq!(latest.check(later, 8), Fresh);
        // A near one is believed, and contradicted by three.
        assert_eq!(latest.check(later, 1000), Fresh);
        let much_later = Instant(2_000_000_000);
        let news = [9, 9, 10, 9, 11, 12].map(|count| latest.check(much_later, count));
        assert_eq!(news, [Contested, Stale, Contested, Stale, Restarted, Fresh]);
    }
}
