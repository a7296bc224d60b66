//! Signal that ends the wait of one thread, parked or in the reactor.

use std::sync::Arc;
use std::task::Wake;
use std::time::Duration;

use super::primitives::{Class, Condvar, Mutex, Waker, lock, thread_token};

/// See the module's documentation. A thread resets the signal, checks its condition and then waits. A signal set in
/// between ends that wait at once.
pub(crate) struct Signal {
    state: Mutex<State>,
    changed: Condvar,
    /// Ends the wait of the thread that polls.
    reactor: Waker,
}

struct State {
    is_set: bool,
    waiter: Waiter,
}

/// Where the thread waits.
enum Waiter {
    Nowhere,
    /// Parked on the signal, while another thread polls.
    Parked,
    /// In the reactor, with the thread's token.
    Polling(usize),
}

impl Signal {
    pub(crate) fn new(reactor: Waker) -> Arc<Self> {
        let state = State { is_set: false, waiter: Waiter::Nowhere };
        Arc::new(Self { state: Mutex::new(Class::Signal, state), changed: Condvar::new(), reactor })
    }

    pub(crate) fn reset(&self) {
        lock(&self.state).is_set = false;
    }

    /// Ends the current wait, or the next one.
    pub(crate) fn set(&self) {
        let mut state = lock(&self.state);
        state.is_set = true;
        match state.waiter {
            Waiter::Nowhere => {}
            Waiter::Parked => self.changed.notify_one(),
            // The polling thread may set the signal itself, and checks it after the poll.
            Waiter::Polling(thread) if thread == thread_token() => {}
            Waiter::Polling(_) => {
                state.waiter = Waiter::Nowhere;
                drop(state);
                self.reactor.wake();
            }
        }
    }

    /// Waits until the signal is set or `timeout` has passed, while another thread polls. That condition is checked
    /// under the lock.
    pub(crate) fn park(&self, timeout: Option<Duration>, is_polled_in_foreground: impl Fn() -> bool) {
        let mut state = lock(&self.state);
        if state.is_set || !is_polled_in_foreground() {
            return;
        }
        state.waiter = Waiter::Parked;
        state = match timeout {
            Some(timeout) => self.changed.wait_timeout(state, timeout).0,
            None => self.changed.wait(state),
        };
        state.waiter = Waiter::Nowhere;
    }

    /// Marks the caller, which holds the reactor, as waiting in it. False if the signal is set: then it must not wait.
    pub(crate) fn begin_polling(&self) -> bool {
        let mut state = lock(&self.state);
        state.waiter = Waiter::Polling(thread_token());
        !state.is_set
    }

    /// Marks the caller as returned from the reactor.
    pub(crate) fn end_polling(&self) {
        lock(&self.state).waiter = Waiter::Nowhere;
    }
}

impl Wake for Signal {
    fn wake(self: Arc<Self>) {
        self.set();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.set();
    }
}
