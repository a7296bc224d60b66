//! The queues of those executors of a context that have nodes of their own.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use super::ReadyQueue;
use crate::sync::{Class, Mutex, lock};

/// See the module's documentation.
pub(crate) struct ExecutorQueues {
    /// There was one: without any, nobody locks the list.
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

    /// A thread that runs callbacks of `mine` polls no longer: has a thread of another executor poll, if one waits.
    pub(crate) fn pass_on(&self, mine: &Arc<ReadyQueue>, context: &Arc<ReadyQueue>) {
        if !self.is_used.load(Ordering::SeqCst) || mine.has_followers() {
            return;
        }
        let queues: Vec<_> = lock(&self.state).queues.iter().filter_map(Weak::upgrade).collect();
        let mut others = queues.iter().chain([context]).filter(|other| !Arc::ptr_eq(other, mine));
        let _ = others.any(|other| other.wake_follower());
    }

    /// Wakes everyone who waits for callbacks, for good.
    pub(crate) fn close(&self) {
        let mut state = lock(&self.state);
        state.is_closed = true;
        state.queues.iter().filter_map(Weak::upgrade).for_each(|queue| queue.close());
    }
}
