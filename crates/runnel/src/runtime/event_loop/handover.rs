//! Handover of the polled value between executor threads, waiting threads and the background thread, of which one at a
//! time polls.

use std::sync::Arc;
use std::time::Duration;

use super::parked::Parked;
use super::primitives::{
    AtomicBool, AtomicU8, AtomicUsize, Class, Mutex, MutexGuard, Ordering, Signal, Waker, fence, lock,
    try_lock,
};

/// The thread that polls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Poller {
    Nobody,
    /// A thread that also runs callbacks.
    Executor,
    /// A thread that waits for its own condition.
    Waiter,
    /// The background thread. Any other thread may replace it.
    Background,
}

/// See the module's documentation.
pub(super) struct Handover<T> {
    polled: Mutex<T>,
    /// Locked by the next owner, so that the current one releases the value.
    gate: Mutex<()>,
    /// Number of threads that wait for the value.
    wanting: AtomicUsize,
    poller: AtomicU8,
    /// True while the background thread runs. A leaving thread stores [`Poller::Nobody`] and then reads this flag; the
    /// ending background thread does both in the other order. Each executes a fence in between, so at least one of them
    /// sees the other's store.
    background_runs: AtomicBool,
    parked: Parked,
    /// Ends the wait of the thread that polls.
    waker: Waker,
}

impl<T> Handover<T> {
    pub(super) fn new(polled: T, waker: Waker) -> Self {
        Self {
            polled: Mutex::new(Class::Driver, polled),
            gate: Mutex::new(Class::DriverGate, ()),
            wanting: AtomicUsize::new(0),
            poller: AtomicU8::new(Poller::Nobody as u8),
            background_runs: AtomicBool::new(false),
            parked: Parked::new(),
            waker,
        }
    }

    /// Locks the value. A thread that waits in it is woken and releases it.
    #[cfg_attr(debug_assertions, track_caller)]
    pub(super) fn take(&self) -> MutexGuard<'_, T> {
        if let Some(polled) = self.try_take() {
            return polled;
        }
        self.wanting.fetch_add(1, Ordering::SeqCst);
        let gate = lock(&self.gate);
        self.waker.wake();
        let polled = lock(&self.polled);
        self.wanting.fetch_sub(1, Ordering::SeqCst);
        drop(gate);
        polled
    }

    /// Locks the value unless another thread holds it.
    #[cfg_attr(debug_assertions, track_caller)]
    pub(super) fn try_take(&self) -> Option<MutexGuard<'_, T>> {
        try_lock(&self.polled)
    }

    /// Locks the value for a thread that waits for a signal. Returns `None` if another thread polls: the caller was
    /// parked until the signal, the timeout or a spurious wake.
    pub(super) fn take_or_park(
        &self,
        signal: &Arc<Signal>,
        timeout: Option<Duration>,
    ) -> Option<MutexGuard<'_, T>> {
        self.yield_to_wanting();
        if self.is_polled_in_foreground() {
            self.parked.park(signal, timeout, || self.is_polled_in_foreground());
            return None;
        }
        Some(self.take())
    }

    /// Wakes a parked thread to poll, unless another thread polls. False if none is parked.
    pub(super) fn wake_parked(&self) -> bool {
        !self.is_polled_in_foreground() && self.parked.wake_one()
    }

    /// Lets threads that want the value lock it first.
    pub(super) fn yield_to_wanting(&self) {
        if self.is_wanted() {
            drop(lock(&self.gate));
        }
    }

    /// True if another thread wants the value. The owner checks this before it waits; a later request ends the wait.
    pub(super) fn is_wanted(&self) -> bool {
        self.wanting.load(Ordering::SeqCst) > 0
    }

    /// Marks the caller, which holds the value, as the polling thread.
    pub(super) fn poll_as(&self, poller: Poller) {
        self.poller.store(poller as u8, Ordering::Release);
    }

    /// Releases the value after a poll.
    pub(super) fn leave(&self, polled: MutexGuard<'_, T>) {
        self.poller.store(Poller::Nobody as u8, Ordering::Release);
        fence(Ordering::SeqCst);
        drop(polled);
    }

    /// True if the polling thread is of this kind.
    pub(super) fn is_polled_by(&self, poller: Poller) -> bool {
        self.poller.load(Ordering::Acquire) == poller as u8
    }

    /// True if a thread other than the background thread polls.
    pub(super) fn is_polled_in_foreground(&self) -> bool {
        self.is_polled_by(Poller::Executor) || self.is_polled_by(Poller::Waiter)
    }

    /// Reserves the background thread while the caller does not poll. True if the caller must start it.
    pub(super) fn begin_background(&self) -> bool {
        // Usually it runs already, and a load is cheaper than a swap.
        !self.background_runs.load(Ordering::Acquire) && !self.background_runs.swap(true, Ordering::AcqRel)
    }

    /// Marks the background thread as ended, or as failed to start.
    pub(super) fn end_background(&self) {
        self.background_runs.store(false, Ordering::Release);
        fence(Ordering::SeqCst);
    }

    /// True if the background thread, which just marked itself as ended, must continue: another thread left meanwhile
    /// and saw it running.
    pub(super) fn resume_background(&self) -> bool {
        self.is_polled_by(Poller::Nobody) && !self.background_runs.swap(true, Ordering::AcqRel)
    }

    /// Ends the current wait of the polling thread, or the next one.
    pub(super) fn wake(&self) {
        self.waker.wake();
    }
}
