//! The counts by which heartbeats and acknowledgements that were overtaken are told from news.

use crate::evidence::{Evidence, Verdict};
use runnel_core::time::Instant;

/// How far a count may be ahead of the last one: more than a writer counts up while a peer is cut off for a while.
const MOST_AHEAD: u32 = 1 << 16;

/// The latest count of a kind that has come.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Latest {
    count: Option<u32>,
    evidence: Evidence,
}

/// What a count shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum News {
    /// It is the first or later than the last.
    Fresh,
    /// It is a copy.
    Stale,
    /// It was overtaken, or makes no sense.
    Overtaken,
    /// It makes no sense after those before it, and is not believed yet: the peer is to be asked.
    Contested,
    /// The peer counts otherwise from now on, as a run of such counts shows.
    Restarted,
}

impl News {
    /// True if what came with the count is to be taken in.
    pub fn counts(self) -> bool {
        matches!(self, Self::Fresh | Self::Restarted)
    }
}

impl Latest {
    /// Takes a count in. Counts run over.
    pub fn take(&mut self, now: Instant, count: u32) -> News {
        let ahead = self.count.map_or(1, |last| count.wrapping_sub(last));
        if self.count.is_none() || (1..=MOST_AHEAD).contains(&ahead) {
            self.count = Some(count);
            self.evidence.confirm(now);
            return News::Fresh;
        }
        if ahead == 0 {
            return News::Stale;
        }
        match self.evidence.contradict(now, count.into()) {
            Verdict::Overtaken => News::Overtaken,
            Verdict::Copy => News::Stale,
            Verdict::Contested => News::Contested,
            Verdict::Restart => {
                self.count = Some(count);
                News::Restarted
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use News::{Contested, Fresh, Restarted, Stale};

    #[test]
    fn counts_are_news_once_and_may_run_over() {
        let mut latest = Latest::default();
        for (count, news) in [(0, true), (0, false), (7, true), (6, false), (7, false), (8, true)] {
            assert_eq!(latest.take(Instant(0), count).counts(), news, "{count}");
        }
        let mut latest = Latest::default();
        for (count, news) in [(u32::MAX - 1, true), (1, true), (u32::MAX, false), (2, true)] {
            assert_eq!(latest.take(Instant(0), count).counts(), news, "{count}");
        }
    }

    #[test]
    fn forged_count_blocks_no_later_counts() {
        let mut latest = Latest::default();
        let later = Instant(1_000_000_000);
        latest.take(Instant(0), 7);
        assert_eq!(latest.take(later, i32::MAX as u32), Contested);
        assert_eq!(latest.take(later, 8), Fresh);
        // One that is near is believed, and contradicted by three.
        assert_eq!(latest.take(later, 1000), Fresh);
        let much_later = Instant(2_000_000_000);
        let news = [9, 9, 10, 9, 11, 12].map(|count| latest.take(much_later, count));
        assert_eq!(news, [Contested, Stale, Contested, Stale, Restarted, Fresh]);
    }
}
