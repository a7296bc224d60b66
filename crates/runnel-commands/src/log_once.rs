//! Warnings that are logged once, though their cause is seen again and again.

use std::collections::BTreeSet;

/// Most lines that are remembered: peers determine their text. When there are more, all are forgotten and may be repeated.
const MOST_LINES: usize = 1000;

/// See the module's documentation.
#[derive(Debug, Default)]
pub struct LogOnce(BTreeSet<String>);

impl LogOnce {
    /// Logs a line, unless it was logged before.
    pub fn warn(&mut self, line: String) {
        if self.is_new(&line) {
            log::warn!("{line}");
        }
    }

    /// Remembers a line. False if it was known.
    fn is_new(&mut self, line: &str) -> bool {
        if self.0.contains(line) {
            return false;
        }
        if self.0.len() >= MOST_LINES {
            self.0.clear();
        }
        self.0.insert(line.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remembered_lines_are_bounded() {
        let mut log = LogOnce::default();
        assert!(log.is_new("a") && !log.is_new("a"));
        for number in 0..3 * MOST_LINES {
            assert!(log.is_new(&number.to_string()));
            assert!(log.0.len() <= MOST_LINES);
        }
    }
}
