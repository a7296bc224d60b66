//! Signal that ends the wait of one thread, wherever that waits.

use std::sync::Arc;
use std::task::Wake;
use std::time::Duration;

use super::primitives::{Class, Condvar, Mutex, Waker, lock, mark};

/// See the module's documentation. A thread resets it, looks at what it waits for, and then waits: a signal that is set
/// meanwhile ends that wait at once.
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
    /// For the signal alone, while another thread polls.
    Parked,
    /// In the reactor, with the mark of the thread.
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

    /// Ends the wait that is under way, or else the next one.
    pub(crate) fn set(&self) {
        let mut state = lock(&self.state);
        state.is_set = true;
        match state.waiter {
            Waiter::Nowhere => {}
            Waiter::Parked => self.changed.notify_one(),
            // The thread that polls may set it itself, and looks when it has polled.
            Waiter::Polling(thread) if thread == mark() => {}
            Waiter::Polling(_) => {
                state.waiter = Waiter::Nowhere;
                drop(state);
                self.reactor.wake();
            }
        }
    }

    /// Waits until it is set, or for so long, while another thread polls: `is_attended` is asked under the lock.
    pub(crate) fn park(&self, timeout: Option<Duration>, is_attended: impl Fn() -> bool) {
        let mut state = lock(&self.state);
        if state.is_set || !is_attended() {
            return;
        }
        state.waiter = Waiter::Parked;
        state = match timeout {
            Some(timeout) => self.changed.wait_timeout(state, timeout).0,
            None => self.changed.wait(state),
        };
        state.waiter = Waiter::Nowhere;
    }

    /// The caller, which has the reactor, is about to wait in it. False if the signal is set: then it is not to wait.
    pub(crate) fn begin_polling(&self) -> bool {
        let mut state = lock(&self.state);
        state.waiter = Waiter::Polling(mark());
        !state.is_set
    }

    /// The caller waits in the reactor no longer.
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
