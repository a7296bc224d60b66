//! Threads that wait for a signal: in the driver, unless another thread polls.

use std::io;
use std::sync::Arc;

use runnel_core::time::Instant;
use runnel_io::clock;

use super::handover::Poller;
use super::{SLICE, Turning};
use crate::ready::Signal;
use crate::sync::assert_unlocked;

impl Turning {
    /// Waits until `signal` is set, until `until`, or for no reason. The caller looks whether that for which it waits is there, and
    /// [finishes](Self::finish_wait) when it waits no longer.
    pub(crate) fn wait_for(&self, signal: &Arc<Signal>, until: Option<Instant>) -> io::Result<()> {
        assert_unlocked("a wait");
        let timeout = until.map(|until| until.since(clock::monotonic()));
        let Some(driver) = self.driver.take_or_park(signal, timeout) else { return Ok(()) };
        let until = if signal.begin_polling() { self.while_running(until) } else { Some(Instant::default()) };
        let turned = self.turn_as(Poller::Waiter, driver, until);
        signal.end_polling();
        turned.map(drop)
    }

    /// The caller waits no longer, and returns to user code: another thread that waits is to poll, or else the background thread.
    pub(crate) fn finish_wait(self: &Arc<Self>) {
        self.driver.wake_parked();
        self.attend();
    }

    /// Nobody polls. True if a thread that waits is about to.
    pub(super) fn leave_to_waiter(&self) -> bool {
        let leaves = self.driver.wake_parked();
        if leaves {
            std::thread::park_timeout(SLICE);
        }
        leaves
    }
}
