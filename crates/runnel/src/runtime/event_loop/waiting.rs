//! Waits for a signal: in the driver, or parked while another thread polls.

use std::io;
use std::sync::Arc;

use runnel_core::time::Instant;
use runnel_io::clock;

use super::handover::Poller;
use super::{EventLoop, RETRY_INTERVAL};
use crate::ready::Signal;
use crate::sync::assert_unlocked;

impl EventLoop {
    /// Waits until `signal` is set or `until` has passed; it may also return spuriously. The caller checks its
    /// condition, and calls [`finish_wait`](Self::finish_wait) after its last wait.
    pub(crate) fn wait_for(&self, signal: &Arc<Signal>, until: Option<Instant>) -> io::Result<()> {
        assert_unlocked("a wait");
        let timeout = until.map(|until| until.since(clock::monotonic()));
        let Some(driver) = self.driver.take_or_park(signal, timeout) else { return Ok(()) };
        let until = if signal.begin_polling() {
            self.deadline_while_running(until)
        } else {
            Some(Instant::default())
        };
        let outcome = self.poll_once_as(Poller::Waiter, driver, until);
        signal.end_polling();
        outcome.map(drop)
    }

    /// Ends a wait before the caller returns to user code: another waiting thread polls, or the background thread.
    pub(crate) fn finish_wait(self: &Arc<Self>) {
        self.driver.wake_parked();
        self.ensure_background_thread();
    }

    /// Lets a parked thread poll in place of the background thread. False if none is parked.
    pub(super) fn yield_to_waiter(&self) -> bool {
        let leaves = self.driver.wake_parked();
        if leaves {
            std::thread::park_timeout(RETRY_INTERVAL);
        }
        leaves
    }
}
