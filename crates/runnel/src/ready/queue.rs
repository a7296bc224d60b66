//! The queue between threads that receive and threads that spin.

use std::collections::VecDeque;
use std::mem;
use std::sync::Arc;
use std::time::Duration;

use super::primitives::{AtomicUsize, Class, Condvar, Mutex, Ordering, Waker, fence, lock, mark};
use crate::ready::Runnable;

/// See the module's documentation.
pub(crate) struct ReadyQueue {
    state: Mutex<State>,
    /// Callbacks that are due, for those who only look.
    count: AtomicUsize,
    /// The mark of the thread that waits in the reactor and must be woken when something becomes due elsewhere; 0 if
    /// there is none. The thread that sleeps stores it and then looks at `count`; one that pushes does both in the other
    /// order. Each passes a fence in between, so that one of them at least sees what the other has stored.
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

impl ReadyQueue {
    pub(crate) fn new(waker: Waker) -> Self {
        let (count, asleep) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Self {
            state: Mutex::new(Class::ReadyQueue, State::default()),
            count,
            asleep,
            arrived: Condvar::new(),
            waker,
        }
    }

    /// Adds a callback. Wakes who can run it, unless the caller itself will look.
    pub(crate) fn push(&self, due: Arc<dyn Runnable>) {
        let mut state = lock(&self.state);
        state.due.push_back(due);
        self.count.store(state.due.len(), Ordering::Release);
        if state.followers > 0 {
            self.arrived.notify_one();
            return;
        }
        drop(state);
        self.wake_sleeper();
    }

    /// Wakes the thread that waits in the reactor, if there is one.
    fn wake_sleeper(&self) {
        fence(Ordering::SeqCst);
        let asleep = self.asleep.load(Ordering::Relaxed);
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
        // If this thread leads, another takes over from it: who still follows began to when nothing was due, so that the push of
        // what is taken here has woken a follower.
        if !state.due.is_empty() && state.followers == 0 {
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
        self.count.store(state.due.len(), Ordering::Release);
        due
    }

    /// Takes all those callbacks out of turn.
    pub(crate) fn take_all(&self, is_wanted: impl Fn(&dyn Runnable) -> bool) -> Vec<Arc<dyn Runnable>> {
        let mut state = lock(&self.state);
        let (taken, left): (Vec<_>, Vec<_>) =
            mem::take(&mut state.due).into_iter().partition(|due| is_wanted(&**due));
        state.due = left.into();
        self.count.store(state.due.len(), Ordering::Release);
        taken
    }

    /// True if something is due.
    pub(crate) fn is_due(&self) -> bool {
        self.count.load(Ordering::Acquire) > 0
    }

    /// How many callbacks are due.
    pub(crate) fn len(&self) -> usize {
        self.count.load(Ordering::Acquire)
    }

    /// True if nothing is due. If so, whoever pushes from now on wakes the reactor.
    pub(crate) fn sleep_if_empty(&self) -> bool {
        self.asleep.store(mark(), Ordering::Relaxed);
        fence(Ordering::SeqCst);
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
            Some(timeout) => {
                let (state, is_over) = self.arrived.wait_timeout(state, timeout);
                (state, !is_over)
            }
            None => (self.arrived.wait(state), true),
        };
        state.followers -= 1;
        told
    }

    /// The caller neither leads nor follows any longer, and has taken no callback: another thread is to lead, or to take what is
    /// due, of which the caller may have been told.
    pub(crate) fn wake_another(&self) {
        let state = lock(&self.state);
        if state.followers > 0 {
            self.arrived.notify_one();
        } else if !state.due.is_empty() {
            drop(state);
            self.wake_sleeper();
        }
    }

    /// Wakes a thread that follows, so that it leads. False if there is none.
    pub(crate) fn wake_follower(&self) -> bool {
        let follows = lock(&self.state).followers > 0;
        if follows {
            self.arrived.notify_one();
        }
        follows
    }

    /// True if threads follow.
    pub(crate) fn has_followers(&self) -> bool {
        lock(&self.state).followers > 0
    }

    /// Wakes everyone who waits for callbacks. Who is about to wait sees under the lock why that is.
    pub(crate) fn wake_all(&self) {
        drop(lock(&self.state));
        self.arrived.notify_all();
        self.waker.wake();
    }

    /// Wakes everyone who waits for callbacks, for good.
    pub(crate) fn close(&self) {
        lock(&self.state).closed = true;
        self.wake_all();
    }
}
