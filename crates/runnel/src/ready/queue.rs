//! Queue of due callbacks, between receiving and executing threads.

use std::collections::VecDeque;
use std::mem;
use std::sync::Arc;
use std::time::Duration;

use super::primitives::{AtomicUsize, Class, Condvar, Mutex, Ordering, Waker, fence, lock, thread_token};
use crate::ready::Task;

/// See the module's documentation.
pub(crate) struct ReadyQueue {
    state: Mutex<State>,
    /// Number of due callbacks, readable without the lock.
    count: AtomicUsize,
    /// Token of the thread that waits in the reactor and must be woken for a new callback; 0 if there is none. The
    /// sleeping thread stores it and then reads `count`; a pushing thread does both in the other order. Each executes a
    /// fence in between, so at least one of them sees the other's store.
    asleep: AtomicUsize,
    arrived: Condvar,
    waker: Waker,
}

#[derive(Default)]
struct State {
    due: VecDeque<Arc<dyn Task>>,
    /// Followers: threads that wait here while another thread waits in the reactor.
    followers: usize,
    /// The context shuts down. No thread waits here any more.
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

    /// Queues a callback. Wakes a thread that can run it, unless the caller checks the queue itself.
    pub(crate) fn push(&self, due: Arc<dyn Task>) {
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
        if asleep != 0 && asleep != thread_token() {
            self.clear_asleep();
            self.waker.wake();
        }
    }

    /// Removes the oldest callback.
    pub(crate) fn pop(&self) -> Option<Arc<dyn Task>> {
        if !self.is_due() {
            return None;
        }
        let mut state = lock(&self.state);
        let due = state.due.pop_front();
        self.count.store(state.due.len(), Ordering::Release);
        // If this thread leads, a follower takes over. A follower started to wait when nothing was due, so the push of
        // this callback has woken one.
        if !state.due.is_empty() && state.followers == 0 {
            // Two pushes may have notified the same follower, which is this thread.
            drop(state);
            self.wake_sleeper();
        }
        due
    }

    /// Removes the callback at this address, if it is queued.
    pub(crate) fn take(&self, wanted: *const ()) -> Option<Arc<dyn Task>> {
        if !self.is_due() {
            return None;
        }
        let mut state = lock(&self.state);
        let place = state.due.iter().position(|due| Arc::as_ptr(due).cast() == wanted)?;
        let due = state.due.remove(place);
        self.count.store(state.due.len(), Ordering::Release);
        due
    }

    /// Removes all matching callbacks.
    pub(crate) fn take_all(&self, is_wanted: impl Fn(&dyn Task) -> bool) -> Vec<Arc<dyn Task>> {
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

    /// True if nothing is due. From then on, a push wakes the reactor.
    pub(crate) fn sleep_if_empty(&self) -> bool {
        self.asleep.store(thread_token(), Ordering::Relaxed);
        fence(Ordering::SeqCst);
        let empty = !self.is_due();
        if !empty {
            self.clear_asleep();
        }
        empty
    }

    /// Records that the thread has returned from the reactor.
    pub(crate) fn clear_asleep(&self) {
        self.asleep.store(0, Ordering::Release);
    }

    /// Waits until a callback is due or `timeout` has passed, while another thread leads (waits in the reactor).
    /// `has_leader` is called under the lock: a leader that stops afterwards finds this thread among the followers.
    /// False after a timeout.
    pub(crate) fn follow(&self, timeout: Option<Duration>, has_leader: impl Fn() -> bool) -> bool {
        let mut state = lock(&self.state);
        if !state.due.is_empty() || state.closed || !has_leader() {
            return true;
        }
        state.followers += 1;
        let (mut state, is_notified) = match timeout {
            Some(timeout) => {
                let (state, is_over) = self.arrived.wait_timeout(state, timeout);
                (state, !is_over)
            }
            None => (self.arrived.wait(state), true),
        };
        state.followers -= 1;
        is_notified
    }

    /// The caller stops leading or following and has taken no callback. Wakes another thread to lead, or to take a
    /// callback of which only the caller was notified.
    pub(crate) fn wake_another(&self) {
        let state = lock(&self.state);
        if state.followers > 0 {
            self.arrived.notify_one();
        } else if !state.due.is_empty() {
            drop(state);
            self.wake_sleeper();
        }
    }

    /// Wakes a follower, so that it leads. False if there is none.
    pub(crate) fn wake_follower(&self) -> bool {
        let follows = lock(&self.state).followers > 0;
        if follows {
            self.arrived.notify_one();
        }
        follows
    }

    /// True if there are followers.
    pub(crate) fn has_followers(&self) -> bool {
        lock(&self.state).followers > 0
    }

    /// Wakes all waiting threads. Locking first ensures that a thread about to wait sees the reason.
    pub(crate) fn wake_all(&self) {
        drop(lock(&self.state));
        self.arrived.notify_all();
        self.waker.wake();
    }

    /// Wakes all waiting threads and prevents further waits.
    pub(crate) fn close(&self) {
        lock(&self.state).closed = true;
        self.wake_all();
    }
}
