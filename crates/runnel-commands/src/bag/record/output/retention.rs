//! Which bags of a recording are kept.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::bag::record::sink::Written;

/// Which bags are kept: the newest, within all of these limits. The newest complete one is always kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retention {
    /// Number of complete bags.
    pub count: Option<usize>,
    /// Bytes of all complete bags.
    pub size: Option<u64>,
    /// Time from the last message of a bag to that of the newest.
    pub duration: Option<Duration>,
}

/// A bag that is not written any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClosedBag {
    /// Its file.
    pub path: PathBuf,
    /// Its length and time.
    pub written: Written,
}

/// The bags that are kept, from the oldest.
#[derive(Debug, Default)]
pub struct ClosedBags {
    retention: Retention,
    bags: VecDeque<ClosedBag>,
}

impl ClosedBags {
    /// None, and which will be kept.
    pub fn new(retention: Retention) -> Self {
        Self { retention, bags: VecDeque::new() }
    }

    /// Adds the newest one.
    pub fn push(&mut self, path: &Path, written: Written) {
        self.bags.push_back(ClosedBag { path: path.to_owned(), written });
    }

    /// Takes the oldest one if it is kept no longer.
    pub fn pop_excess(&mut self) -> Option<ClosedBag> {
        let Retention { count, size, duration } = self.retention;
        let (oldest, newest) = (self.bags.front()?, self.bags.back()?);
        let len = self.bags.iter().map(|bag| bag.written.len).fold(0, u64::saturating_add);
        let age = u128::from(newest.written.end.saturating_sub(oldest.written.end));
        let is_excess = count.is_some_and(|most| self.bags.len() > most)
            || size.is_some_and(|most| len > most)
            || duration.is_some_and(|longest| age > longest.as_nanos());
        if is_excess && self.bags.len() > 1 { self.bags.pop_front() } else { None }
    }

    /// Takes the oldest one.
    pub fn pop_oldest(&mut self) -> Option<ClosedBag> {
        self.bags.pop_front()
    }

    /// Their files, from the oldest.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.bags.iter().map(|bag| bag.path.as_path())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of ten bags of 100 bytes and a second each are kept.
    fn kept(retention: Retention) -> usize {
        let mut bags = ClosedBags::new(retention);
        for number in 1..=10 {
            bags.push(Path::new("x"), Written { len: 100, end: number * 1_000_000_000 });
            while bags.pop_excess().is_some() {}
        }
        bags.files().count()
    }

    #[test]
    fn oldest_bags_beyond_a_limit_are_not_kept() {
        let none = Retention::default();
        assert_eq!(kept(none), 10);
        assert_eq!(kept(Retention { count: Some(3), ..none }), 3);
        assert_eq!(kept(Retention { size: Some(450), ..none }), 4);
        assert_eq!(kept(Retention { duration: Some(Duration::from_secs(5)), ..none }), 6);
        assert_eq!(kept(Retention { count: Some(3), size: Some(250), ..none }), 2);
    }

    #[test]
    fn newest_bag_is_always_kept() {
        assert_eq!(kept(Retention { size: Some(1), ..Retention::default() }), 1);
    }
}
