//! The counts by which heartbeats and acknowledgements that were overtaken are told from news.

/// The latest count of a kind that has come.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Latest(Option<u32>);

impl Latest {
    /// Takes a count in; true if it is the first or later than the last. Counts run over.
    pub fn take(&mut self, count: u32) -> bool {
        let newer = self.0.is_none_or(|last| count.wrapping_sub(last).cast_signed() > 0);
        if newer {
            self.0 = Some(count);
        }
        newer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_news_once_and_may_run_over() {
        let mut latest = Latest::default();
        for (count, news) in [(0, true), (0, false), (7, true), (6, false), (7, false), (8, true)] {
            assert_eq!(latest.take(count), news, "{count}");
        }
        let mut latest = Latest::default();
        for (count, news) in [(u32::MAX - 1, true), (1, true), (u32::MAX, false), (2, true)] {
            assert_eq!(latest.take(count), news, "{count}");
        }
    }
}
