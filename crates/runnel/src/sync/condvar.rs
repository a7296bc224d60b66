//! Condition variables for [`Mutex`](super::Mutex).

use std::sync;
use std::sync::PoisonError;
use std::time::Duration;

use super::MutexGuard;
use super::order::Class;

/// A condition variable. A waiting thread holds no lock except the one that the wait releases, unless a method says
/// otherwise.
pub(crate) struct Condvar(sync::Condvar);

impl Condvar {
    pub(crate) const fn new() -> Self {
        Self(sync::Condvar::new())
    }

    pub(crate) fn notify_one(&self) {
        self.0.notify_one();
    }

    pub(crate) fn notify_all(&self) {
        self.0.notify_all();
    }

    /// Waits for a notification, or a spurious wake-up.
    #[cfg_attr(debug_assertions, track_caller)]
    pub(crate) fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        let MutexGuard { inner, held, wakes } = guard;
        held.assert_no_other_locks();
        let inner = self.0.wait(inner).unwrap_or_else(PoisonError::into_inner);
        MutexGuard { inner, held, wakes }
    }

    /// Like [`Condvar::wait`], for a wait for a thread that locks `outermost` and inner classes before it notifies.
    /// The waiting thread may hold outer locks.
    #[cfg_attr(debug_assertions, track_caller)]
    pub(crate) fn wait_for<'a, T>(&self, guard: MutexGuard<'a, T>, outermost: Class) -> MutexGuard<'a, T> {
        let MutexGuard { inner, held, wakes } = guard;
        held.assert_may_wait_for(outermost);
        let inner = self.0.wait(inner).unwrap_or_else(PoisonError::into_inner);
        MutexGuard { inner, held, wakes }
    }

    /// Like [`Condvar::wait`], with a time-out. True if it has expired.
    #[cfg_attr(debug_assertions, track_caller)]
    pub(crate) fn wait_timeout<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        timeout: Duration,
    ) -> (MutexGuard<'a, T>, bool) {
        let MutexGuard { inner, held, wakes } = guard;
        held.assert_no_other_locks();
        let (inner, result) = self.0.wait_timeout(inner, timeout).unwrap_or_else(PoisonError::into_inner);
        (MutexGuard { inner, held, wakes }, result.timed_out())
    }

    /// Waits while `condition` holds, with a time-out.
    #[cfg_attr(debug_assertions, track_caller)]
    pub(crate) fn wait_timeout_while<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        timeout: Duration,
        condition: impl FnMut(&mut T) -> bool,
    ) -> MutexGuard<'a, T> {
        let MutexGuard { inner, held, wakes } = guard;
        held.assert_no_other_locks();
        let waited = self.0.wait_timeout_while(inner, timeout, condition);
        MutexGuard { inner: waited.unwrap_or_else(PoisonError::into_inner).0, held, wakes }
    }
}
