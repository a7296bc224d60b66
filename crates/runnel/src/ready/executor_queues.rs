//! Queues of a context's executors that have their own nodes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use super::ReadyQueue;
use crate::sync::{Class, Mutex, lock};

/// See the module's documentation.
pub(crate) struct ExecutorQueues {
    /// True once an executor was added. The list is not locked before that.
    is_used: AtomicBool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    queues: Vec<Weak<ReadyQueue>>,
    /// The context shuts down.
    is_closed: bool,
}

impl ExecutorQueues {
    pub(crate) fn new() -> Self {
        let state = Mutex::new(Class::ExecutorQueues, State::default());
        Self { is_used: AtomicBool::new(false), state }
    }

    /// Adds the queue of one more executor.
    pub(crate) fn add(&self, queue: &Arc<ReadyQueue>) {
        let mut state = lock(&self.state);
        state.queues.retain(|queue| queue.strong_count() > 0);
        state.queues.push(Arc::downgrade(queue));
        self.is_used.store(true, Ordering::SeqCst);
        if state.is_closed {
            queue.close();
        }
    }

    /// Wakes a thread of another executor to poll, if one waits, because the caller stops polling to run a callback of
    /// `mine`.
    pub(crate) fn wake_other_executor(&self, mine: &Arc<ReadyQueue>, context: &Arc<ReadyQueue>) {
        if !self.is_used.load(Ordering::SeqCst) || mine.has_followers() {
            return;
        }
        let queues = self.queues();
        let mut others = queues.iter().chain([context]).filter(|other| !Arc::ptr_eq(other, mine));
        let _ = others.any(|other| other.wake_follower());
    }

    /// Wakes all waiting threads of these executors.
    pub(crate) fn wake_all(&self) {
        if self.is_used.load(Ordering::SeqCst) {
            self.queues().iter().for_each(|queue| queue.wake_all());
        }
    }

    fn queues(&self) -> Vec<Arc<ReadyQueue>> {
        lock(&self.state).queues.iter().filter_map(Weak::upgrade).collect()
    }

    /// Wakes all waiting threads and prevents further waits.
    pub(crate) fn close(&self) {
        let mut state = lock(&self.state);
        state.is_closed = true;
        state.queues.iter().filter_map(Weak::upgrade).for_each(|queue| queue.close());
    }
}
