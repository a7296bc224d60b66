//! Hand-over of what one thread at a time polls: between threads that spin, threads that wait for something else, and the
//! background thread, which polls when no other does.

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
    /// A thread that waits for something of its own.
    Waiter,
    /// The background thread, which any other may replace.
    Background,
}

/// See the module's documentation.
pub(super) struct Handover<T> {
    polled: Mutex<T>,
    /// Held by the thread that gets it next, so that the one that has it lets go.
    gate: Mutex<()>,
    /// Threads that want it and do not have it.
    wanting: AtomicUsize,
    poller: AtomicU8,
    /// The thread that leaves stores [`Poller::Nobody`] and then looks at this; the background thread that ends does both in
    /// the other order. Each passes a fence in between, so that one of them at least sees what the other has stored.
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

    /// Takes it. A thread that waits in it is woken and lets go.
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

    /// Takes it unless another thread has it.
    #[cfg_attr(debug_assertions, track_caller)]
    pub(super) fn try_take(&self) -> Option<MutexGuard<'_, T>> {
        try_lock(&self.polled)
    }

    /// Takes it for a thread that waits for a signal. `None` if another thread polls: then the caller has waited here, for the
    /// signal, for so long, or for nothing.
    pub(super) fn take_or_park(
        &self,
        signal: &Arc<Signal>,
        timeout: Option<Duration>,
    ) -> Option<MutexGuard<'_, T>> {
        self.yield_to_wanting();
        if self.is_attended() {
            self.parked.park(signal, timeout, || self.is_attended());
            return None;
        }
        Some(self.take())
    }

    /// Has one of the threads that wait for a signal poll, unless another does. False if none waits.
    pub(super) fn wake_parked(&self) -> bool {
        !self.is_attended() && self.parked.wake_one()
    }

    /// Lets threads that want it go first.
    pub(super) fn yield_to_wanting(&self) {
        if self.is_wanted() {
            drop(lock(&self.gate));
        }
    }

    /// True if another thread wants it. The thread that has it asks before it waits: one that wants it later ends the wait.
    pub(super) fn is_wanted(&self) -> bool {
        self.wanting.load(Ordering::SeqCst) > 0
    }

    /// The caller, which has it, is about to poll.
    pub(super) fn poll_as(&self, poller: Poller) {
        self.poller.store(poller as u8, Ordering::Release);
    }

    /// The caller has polled.
    pub(super) fn leave(&self, polled: MutexGuard<'_, T>) {
        self.poller.store(Poller::Nobody as u8, Ordering::Release);
        fence(Ordering::SeqCst);
        drop(polled);
    }

    /// True if such a thread polls.
    pub(super) fn is_polled_by(&self, poller: Poller) -> bool {
        self.poller.load(Ordering::Acquire) == poller as u8
    }

    /// True if another thread than the background thread polls.
    pub(super) fn is_attended(&self) -> bool {
        self.is_polled_by(Poller::Executor) || self.is_polled_by(Poller::Waiter)
    }

    /// The caller does not poll for a while. True if it is to start the background thread: none runs.
    pub(super) fn begin_background(&self) -> bool {
        // Most calls find it running, and a load is cheaper.
        !self.background_runs.load(Ordering::Acquire) && !self.background_runs.swap(true, Ordering::AcqRel)
    }

    /// The background thread wants to end, or could not be started.
    pub(super) fn end_background(&self) {
        self.background_runs.store(false, Ordering::Release);
        fence(Ordering::SeqCst);
    }

    /// True if the background thread, which has just ended, is to go on: another thread has left meanwhile and found it
    /// running.
    pub(super) fn resume_background(&self) -> bool {
        self.is_polled_by(Poller::Nobody) && !self.background_runs.swap(true, Ordering::AcqRel)
    }

    /// Ends the wait of the thread that polls, or else the next one.
    pub(super) fn wake(&self) {
        self.waker.wake();
    }
}
