//! Threads that wait while another polls, of which one takes over once none does.

use std::sync::Arc;
use std::time::Duration;

use super::primitives::{Class, ListMutex, Signal, lock_list};

/// See the module's documentation.
pub(super) struct Parked(ListMutex<Vec<Arc<Signal>>>);

impl Parked {
    pub(super) fn new() -> Self {
        Self(ListMutex::new(Class::ParkedSignals, Vec::new()))
    }

    /// Waits until the signal is set, or for so long, while another thread polls. That is asked once the signal is in the list: a
    /// thread that leaves afterwards finds it there.
    pub(super) fn park(
        &self,
        signal: &Arc<Signal>,
        timeout: Option<Duration>,
        is_attended: impl Fn() -> bool,
    ) {
        lock_list(&self.0).push(Arc::clone(signal));
        signal.park(timeout, is_attended);
        lock_list(&self.0).retain(|other| !Arc::ptr_eq(other, signal));
    }

    /// Ends the wait of one thread, which looks again whether another polls. False if none waits.
    pub(super) fn wake_one(&self) -> bool {
        let signal = lock_list(&self.0).first().cloned();
        signal.inspect(|signal| signal.set()).is_some()
    }
}
