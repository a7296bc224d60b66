//! Notification of any activity of the driver, for tasks that wait for a state without notification of its own.

use crate::ready::{Listeners, Waitable};

/// See the module's documentation. It wakes tasks but is never ready by itself.
pub(super) struct Activity(Listeners);

impl Default for Activity {
    fn default() -> Self {
        Self(Listeners::new())
    }
}

impl Activity {
    /// Notifies tasks that the driver received input or that another thread changed its state.
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
