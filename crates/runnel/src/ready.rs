//! Callbacks that are due, in the order they became so.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use crate::sync::lock;
use runnel_io::Waker;

/// Something that runs user code once.
pub(crate) trait Runnable: Send + Sync {
    /// Runs the user's code for one message or one tick.
    fn run(&self);
    /// The same, and for what comes next as long as `goes_on` says so: that spares it standing in line again.
    fn run_on(&self, goes_on: &dyn Fn() -> bool) {
        let _ = goes_on;
        self.run();
    }
}

/// When a callback runs.
#[derive(Clone)]
pub(crate) enum When {
    /// In its turn, on a thread that spins.
    Spun(Arc<ReadyQueue>),
    /// At once, on the thread that turns the driver or publishes: for what is the library's own and never waits.
    AtOnce,
}

impl When {
    /// A callback is due.
    pub(crate) fn push(&self, due: Arc<dyn Runnable>) {
        match self {
            Self::Spun(ready) => ready.push(due),
            Self::AtOnce => due.run(),
        }
    }
}

/// The queue between whoever receives and whoever spins.
pub(crate) struct ReadyQueue {
    state: Mutex<State>,
    /// Callbacks that are due, for those who only look.
    count: AtomicUsize,
    /// The mark of the thread that waits in the reactor and must be woken when something becomes due elsewhere; 0 if
    /// there is none. Who sleeps stores it and then looks at `count`; who pushes does both in the other order.
    asleep: AtomicUsize,
    arrived: Condvar,
    waker: Waker,
}

#[derive(Default)]
struct State {
    due: VecDeque<Arc<dyn Runnable>>,
    /// Threads that wait here while another thread waits in the reactor.
    followers: usize,
    /// The context shuts down: nobody waits here any more.
    closed: bool,
}

/// A number that no other running thread has, and which is not 0.
pub(crate) fn mark() -> usize {
    thread_local!(static PLACE: u8 = const { 0 });
    PLACE.with(|place| std::ptr::from_ref(place).addr())
}

impl ReadyQueue {
    pub(crate) fn new(waker: Waker) -> Self {
        let (count, asleep) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Self { state: Mutex::default(), count, asleep, arrived: Condvar::new(), waker }
    }

    /// Adds a callback. Wakes who can run it, unless the caller itself will look.
    pub(crate) fn push(&self, due: Arc<dyn Runnable>) {
        let mut state = lock(&self.state);
        state.due.push_back(due);
        self.count.store(state.due.len(), Ordering::SeqCst);
        if state.followers > 0 {
            self.arrived.notify_one();
            return;
        }
        drop(state);
        self.wake_sleeper();
    }

    /// Wakes the thread that waits in the reactor, if there is one.
    fn wake_sleeper(&self) {
        let asleep = self.asleep.load(Ordering::SeqCst);
        if asleep != 0 && asleep != mark() {
            self.awake();
            self.waker.wake();
        }
    }

    /// Takes the callback that has been due longest.
    pub(crate) fn pop(&self) -> Option<Arc<dyn Runnable>> {
        if !self.is_due() {
            return None;
        }
        let mut state = lock(&self.state);
        let due = state.due.pop_front();
        self.count.store(state.due.len(), Ordering::Release);
        if due.is_some() && state.followers > 0 {
            // Another thread takes over the waiting, or the next callback.
            self.arrived.notify_one();
        } else if !state.due.is_empty() {
            // Two pushes may have told one and the same follower, which is this thread.
            drop(state);
            self.wake_sleeper();
        }
        due
    }

    /// Takes a certain callback out of turn, if it is due: what lies at this address.
    pub(crate) fn take(&self, wanted: *const ()) -> Option<Arc<dyn Runnable>> {
        if !self.is_due() {
            return None;
        }
        let mut state = lock(&self.state);
        let place = state.due.iter().position(|due| Arc::as_ptr(due).cast() == wanted)?;
        let due = state.due.remove(place);
        self.count.store(state.due.len(), Ordering::SeqCst);
        due
    }

    /// True if something is due.
    pub(crate) fn is_due(&self) -> bool {
        self.len() > 0
    }

    /// How many callbacks are due.
    pub(crate) fn len(&self) -> usize {
        self.count.load(Ordering::SeqCst)
    }

    /// True if nothing is due. If so, whoever pushes from now on wakes the reactor.
    pub(crate) fn sleep_if_empty(&self) -> bool {
        self.asleep.store(mark(), Ordering::SeqCst);
        let empty = !self.is_due();
        if !empty {
            self.awake();
        }
        empty
    }

    /// The thread in the reactor has come back.
    pub(crate) fn awake(&self) {
        self.asleep.store(0, Ordering::Release);
    }

    /// Waits until something is due or `timeout` is over, while another thread leads: waits in the reactor. That is asked
    /// under the lock: a thread that stops leading afterwards finds this one among the followers. False if nothing but
    /// time has passed.
    pub(crate) fn follow(&self, timeout: Option<Duration>, is_led: impl Fn() -> bool) -> bool {
        let mut state = lock(&self.state);
        if !state.due.is_empty() || state.closed || !is_led() {
            return true;
        }
        state.followers += 1;
        let (mut state, told) = match timeout {
            Some(timeout) => match self.arrived.wait_timeout(state, timeout) {
                Ok((state, result)) => (state, !result.timed_out()),
                Err(poisoned) => (poisoned.into_inner().0, true),
            },
            None => (self.arrived.wait(state).unwrap_or_else(PoisonError::into_inner), true),
        };
        state.followers -= 1;
        told
    }

    /// The caller leads no longer, and has taken no callback: another thread is to lead.
    pub(crate) fn wake_follower(&self) {
        if lock(&self.state).followers > 0 {
            self.arrived.notify_one();
        }
    }

    /// Wakes everyone who waits for callbacks.
    pub(crate) fn wake_all(&self) {
        self.arrived.notify_all();
        self.waker.wake();
    }

    /// Wakes everyone who waits for callbacks, for good.
    pub(crate) fn close(&self) {
        lock(&self.state).closed = true;
        self.wake_all();
    }
}
