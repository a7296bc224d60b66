//! Recorder of Runnel's log lines.
#![allow(dead_code, reason = "each test program takes what it needs")]

use std::sync::Mutex;

use super::common::wait_until;

static LINES: Mutex<Vec<String>> = Mutex::new(Vec::new());

struct Kept;

impl log::Log for Kept {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }
    fn log(&self, record: &log::Record<'_>) {
        LINES.lock().unwrap().push(format!("{} {}", record.level(), record.args()));
    }
    fn flush(&self) {}
}

/// Records log lines from now on.
pub fn keep_log() {
    // Another test of this process may have set the logger.
    let _ = log::set_logger(&Kept);
    log::set_max_level(log::LevelFilter::Info);
}

/// Whether a line with all these words was logged.
pub fn is_logged(words: &[&str]) -> bool {
    count_logged(words) > 0
}

/// Number of logged lines with all these words.
pub fn count_logged(words: &[&str]) -> usize {
    LINES.lock().unwrap().iter().filter(|line| words.iter().all(|word| line.contains(word))).count()
}

/// Waits for a logged line with all these words.
pub fn wait_logged(words: &[&str]) {
    wait_until(&format!("a line logged with {words:?}"), || is_logged(words));
}
