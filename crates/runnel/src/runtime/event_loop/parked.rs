//! Threads parked while another thread polls. One of them takes over when none polls.

use std::sync::Arc;
use std::time::Duration;

use super::primitives::{Class, ListMutex, Signal, lock_list};

/// See the module's documentation.
pub(super) struct Parked(ListMutex<Vec<Arc<Signal>>>);

impl Parked {
    pub(super) fn new() -> Self {
        Self(ListMutex::new(Class::ParkedSignals, Vec::new()))
    }

    /// Parks until the signal is set or `timeout` has passed, while another thread polls. That condition is checked
    /// once the signal is in the list, so a thread that leaves afterwards finds it there.
    pub(super) fn park(
        &self,
        signal: &Arc<Signal>,
        timeout: Option<Duration>,
        is_polled_in_foreground: impl Fn() -> bool,
    ) {
        lock_list(&self.0).push(Arc::clone(signal));
        signal.park(timeout, is_polled_in_foreground);
        lock_list(&self.0).retain(|other| !Arc::ptr_eq(other, signal));
    }

    /// Wakes one parked thread, which checks again whether another polls. False if none is parked.
    pub(super) fn wake_one(&self) -> bool {
        let signal = lock_list(&self.0).first().cloned();
        signal.inspect(|signal| signal.set()).is_some()
    }
}
