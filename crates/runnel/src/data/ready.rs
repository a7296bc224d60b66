//! Callbacks that are due, in the order they became so.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, ThreadId};
use std::time::Duration;

use crate::sync::lock;
use runnel_io::Waker;

/// Something that runs user code once.
pub(crate) trait Runnable: Send + Sync {
    /// Runs the user's code for one message or one tick.
    fn run(&self);
}

/// The queue between whoever receives and whoever spins.
pub(crate) struct ReadyQueue {
    state: Mutex<State>,
    arrived: Condvar,
    waker: Waker,
}

#[derive(Default)]
struct State {
    due: VecDeque<Arc<dyn Runnable>>,
    /// Threads that wait here while another thread waits in the reactor.
    followers: usize,
    /// The thread that waits in the reactor and must be woken when something becomes due elsewhere.
    asleep: Option<ThreadId>,
}

impl ReadyQueue {
    pub(crate) fn new(waker: Waker) -> Self {
        Self { state: Mutex::default(), arrived: Condvar::new(), waker }
    }

    /// Adds a callback. Wakes who can run it, unless the caller itself will look.
    pub(crate) fn push(&self, due: Arc<dyn Runnable>) {
        let mut state = lock(&self.state);
        state.due.push_back(due);
        if state.followers > 0 {
            self.arrived.notify_one();
        } else if state.asleep.is_some_and(|sleeper| sleeper != thread::current().id()) {
            state.asleep = None;
            self.waker.wake();
        }
    }

    /// Takes the callback that has been due longest.
    pub(crate) fn pop(&self) -> Option<Arc<dyn Runnable>> {
        let mut state = lock(&self.state);
        let due = state.due.pop_front();
        if due.is_some() && state.followers > 0 {
            // Another thread takes over the waiting, or the next callback.
            self.arrived.notify_one();
        }
        due
    }

    /// True if something is due.
    pub(crate) fn is_due(&self) -> bool {
        self.len() > 0
    }

    /// How many callbacks are due.
    pub(crate) fn len(&self) -> usize {
        lock(&self.state).due.len()
    }

    /// True if nothing is due. If so, whoever pushes from now on wakes the reactor.
    pub(crate) fn sleep_if_empty(&self) -> bool {
        let mut state = lock(&self.state);
        state.asleep = state.due.is_empty().then(|| thread::current().id());
        state.asleep.is_some()
    }

    /// The thread in the reactor has come back.
    pub(crate) fn awake(&self) {
        lock(&self.state).asleep = None;
    }

    /// Waits until something is due or `timeout` is over, while another thread waits in the reactor.
    pub(crate) fn follow(&self, timeout: Option<Duration>) {
        let mut state = lock(&self.state);
        if !state.due.is_empty() {
            return;
        }
        state.followers += 1;
        let mut state = match timeout {
            Some(timeout) => match self.arrived.wait_timeout(state, timeout) {
                Ok((state, _)) => state,
                Err(poisoned) => poisoned.into_inner().0,
            },
            None => self.arrived.wait(state).unwrap_or_else(std::sync::PoisonError::into_inner),
        };
        state.followers -= 1;
    }

    /// Wakes everyone who waits for callbacks.
    pub(crate) fn wake_all(&self) {
        self.arrived.notify_all();
        self.waker.wake();
    }
}
