//! Callbacks that are due, in the order they became so.

#[cfg(test)]
pub(crate) mod interleavings;
mod queue;

use std::sync::Arc;

use crate::sync::assert_unlocked;
pub(crate) use queue::ReadyQueue;

/// What the queue is made of; see `crate::sync::model`.
mod primitives {
    pub(super) use super::mark;
    pub(super) use crate::sync::{Class, Condvar, Mutex, lock};
    pub(super) use runnel_io::Waker;
    pub(super) use std::sync::atomic::{AtomicUsize, Ordering, fence};
}

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
        if let Some(due) = self.push_unless_inline(due) {
            due.run();
        }
    }

    /// The same, but gives back one that is to run at once: as soon as the caller holds no lock that it may want.
    pub(crate) fn push_unless_inline(&self, due: Arc<dyn Runnable>) -> Option<Arc<dyn Runnable>> {
        match self {
            Self::Spun(ready) => ready.push(due),
            Self::AtOnce => return Some(due),
        }
        None
    }

    /// `callback` is about to run. One of the user's runs without any lock: it may want whichever.
    #[cfg_attr(debug_assertions, track_caller)]
    pub(crate) fn assert_unlocked(&self, callback: &str) {
        if let Self::Spun(_) = self {
            assert_unlocked(callback);
        }
    }
}

/// A number that no other running thread has, and which is not 0.
pub(crate) fn mark() -> usize {
    thread_local!(static PLACE: u8 = const { 0 });
    PLACE.with(|place| std::ptr::from_ref(place).addr())
}
