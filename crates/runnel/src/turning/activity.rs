//! Whatever the driver has done, for tasks that wait for a state of which nothing else tells.

use crate::ready::{Listeners, Waitable};

/// See the module's documentation. It wakes, and is never ready by itself.
pub(super) struct Activity(Listeners);

impl Default for Activity {
    fn default() -> Self {
        Self(Listeners::new())
    }
}

impl Activity {
    /// The driver has received something, or another thread has changed something in it.
    pub(super) fn notify(&self) {
        self.0.notify();
    }
}

impl Waitable for Activity {
    fn is_ready(&self) -> bool {
        false
    }

    fn listeners(&self) -> &Listeners {
        &self.0
    }
}
