//! Log of damaged parts. A bag can have any number of them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use runnel_bag::Error;

use super::files::failed;

/// Number of parts of each bag that are logged one by one.
const LOGGED_PARTS: u64 = 5;

/// Counts damaged parts of bags. It logs the first ones of each bag, and at its end how many more there are.
#[derive(Debug, Default)]
pub struct DamageLog {
    /// Number of damaged parts of each bag.
    counts: BTreeMap<PathBuf, u64>,
}

impl DamageLog {
    /// Counts a part of a bag, and logs why it cannot be read unless there are too many.
    pub fn add(&mut self, path: &Path, error: &Error) {
        if let Some(line) = self.note(path, error) {
            log::warn!("{line}");
        }
    }

    /// Counts a part. Returns why it cannot be read, unless there are too many.
    fn note(&mut self, path: &Path, error: &Error) -> Option<String> {
        let count = self.counts.entry(path.to_owned()).or_default();
        *count += 1;
        (*count <= LOGGED_PARTS).then(|| failed(path, error).to_string())
    }

    /// Number of damaged parts of all bags.
    pub fn count(&self) -> u64 {
        self.counts.values().sum()
    }

    /// What is said of the parts that are not logged one by one, by bag.
    fn rest(&self) -> impl Iterator<Item = String> {
        let more = self.counts.iter().map(|(path, count)| (path, count.saturating_sub(LOGGED_PARTS)));
        let more = more.filter(|(_, more)| *more > 0);
        more.map(|(path, more)| format!("{}: damaged parts that are not shown: {more}", path.display()))
    }
}

/// Also after an error.
impl Drop for DamageLog {
    fn drop(&mut self) {
        self.rest().for_each(|line| log::warn!("{line}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_parts_of_each_bag_are_logged() {
        let mut log = DamageLog::default();
        let [one, other] = ["one.mcap", "other.mcap"].map(Path::new);
        let logged = |log: &mut DamageLog, path: &Path, parts: u64| {
            (0..parts).filter_map(|_| log.note(path, &Error::Finished)).count()
        };
        assert_eq!(logged(&mut log, one, 5), 5);
        assert_eq!(log.rest().count(), 0);
        assert_eq!(logged(&mut log, one, 7), 0);
        assert_eq!(logged(&mut log, other, 6), 5, "they do not count for each other");
        assert_eq!(log.count(), 18);
        let rest = ["one.mcap", "other.mcap"].into_iter().zip([7, 1]);
        let rest = rest.map(|(path, more)| format!("{path}: damaged parts that are not shown: {more}"));
        assert!(log.rest().eq(rest));
    }
}
