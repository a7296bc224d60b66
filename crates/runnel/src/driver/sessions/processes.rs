//! Processes that something is remembered of.

use std::collections::VecDeque;

use super::MOST_SESSIONS;

/// As many as may have a session, the latest.
#[derive(Default)]
pub(super) struct Processes(VecDeque<u128>);

impl Processes {
    /// One more; false if it is known.
    pub(super) fn add(&mut self, process: u128) -> bool {
        if self.has(process) {
            return false;
        }
        if self.0.len() >= MOST_SESSIONS {
            self.0.pop_front();
        }
        self.0.push_back(process);
        true
    }

    pub(super) fn has(&self, process: u128) -> bool {
        self.0.contains(&process)
    }

    pub(super) fn remove(&mut self, process: u128) {
        self.0.retain(|known| *known != process);
    }
}
