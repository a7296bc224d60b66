//! Log of damaged parts. A bag can have any number of them.

use std::path::Path;

use runnel_bag::Error;

use super::files::failed;

/// Number of parts that are logged one by one.
const LOGGED_PARTS: u64 = 5;

/// Counts damaged parts of bags. It logs the first ones, and at its end how many more there are.
#[derive(Debug, Default)]
pub struct DamageLog {
    count: u64,
}

impl DamageLog {
    /// Counts a part, and logs why it cannot be read unless there are too many.
    pub fn add(&mut self, path: &Path, error: &Error) {
        self.count += 1;
        if self.count <= LOGGED_PARTS {
            log::warn!("{}", failed(path, error));
        }
    }

    /// Number of damaged parts.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// What is said of the parts that are not logged one by one.
    fn rest(&self) -> Option<String> {
        let more = self.count.checked_sub(LOGGED_PARTS).filter(|more| *more > 0)?;
        Some(format!("damaged parts that are not shown: {more}. Try: runnel bag check"))
    }
}

/// Also after an error.
impl Drop for DamageLog {
    fn drop(&mut self) {
        if let Some(rest) = self.rest() {
            log::warn!("{rest}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rest_is_counted() {
        let mut log = DamageLog::default();
        let add = |log: &mut DamageLog, parts: u64| {
            (0..parts).for_each(|_| log.add(Path::new("x.mcap"), &Error::Finished));
            (log.count(), log.rest())
        };
        assert_eq!(add(&mut log, 5), (5, None));
        let expected = "damaged parts that are not shown: 7. Try: runnel bag check";
        assert_eq!(add(&mut log, 7), (12, Some(expected.to_owned())));
    }
}
