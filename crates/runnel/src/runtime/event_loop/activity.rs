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

/// Notifies tasks when it is dropped, if the driver may have changed. A task that only reads the driver must not wake
/// others that do the same: they would wake each other without end.
pub(super) struct ChangeNotice<'a> {
    activity: &'a Activity,
    pub(super) has_changed: bool,
}

impl<'a> ChangeNotice<'a> {
    pub(super) fn new(activity: &'a Activity) -> Self {
        Self { activity, has_changed: false }
    }
}

impl Drop for ChangeNotice<'_> {
    fn drop(&mut self) {
        if self.has_changed {
            self.activity.notify();
        }
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::{Wake, Waker};

    use super::*;
    use crate::Context;
    use crate::sync::assert_unlocked;

    /// A task's waker, which may lock the driver, and counts its calls.
    #[derive(Default)]
    struct Woken(AtomicUsize);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            assert_unlocked("a waker");
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn only_changes_of_the_driver_wake_tasks() {
        let context = Context::new().unwrap();
        let event_loop = &context.shared.event_loop;
        let woken = Arc::new(Woken::default());
        event_loop.activity().listeners().add(&Waker::from(Arc::clone(&woken)));
        let count = || woken.0.load(Ordering::SeqCst);
        assert!(event_loop.driver().nodes.are_closed());
        assert_eq!(count(), 0, "it was only read");
        event_loop.driver().close_nodes();
        assert_eq!(count(), 1);
    }
}
