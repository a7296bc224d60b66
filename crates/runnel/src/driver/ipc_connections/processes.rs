//! A bounded set of processes.

use std::collections::VecDeque;

use super::MAX_IPC_CONNECTIONS;

/// The latest processes, up to the maximum number of IPC connections.
#[derive(Default)]
pub(super) struct Processes(VecDeque<u128>);

impl Processes {
    /// Adds a process; false if it is in the set.
    pub(super) fn add(&mut self, process: u128) -> bool {
        if self.has(process) {
            return false;
        }
        if self.0.len() >= MAX_IPC_CONNECTIONS {
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
