//! Callbacks that are due, in the order they became so.

mod executor_queues;
mod guard_condition;
#[cfg(test)]
pub(crate) mod interleavings;
mod listeners;
mod node_queue;
mod queue;
mod signal;

use std::sync::Arc;

use runnel_core::time::Instant;

pub(crate) use executor_queues::ExecutorQueues;
pub use guard_condition::GuardCondition;
pub(crate) use listeners::Listeners;
pub(crate) use node_queue::NodeQueue;
pub(crate) use queue::ReadyQueue;
pub(crate) use signal::Signal;

/// What the queue is made of; see `crate::sync::model`.
mod primitives {
    pub(super) use super::mark;
    pub(super) use crate::sync::{Class, Condvar, Mutex, lock};
    pub(super) use runnel_io::Waker;
    pub(super) use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};
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
    /// Where it stands in line; `None` for what is of no node.
    fn when(&self) -> Option<&When> {
        None
    }
}

/// An entity that can be ready: its callback has its turn for that, or its user takes in place of the callback.
pub(crate) trait Waitable: Send + Sync {
    /// True if there is something to take.
    fn is_ready(&self) -> bool;

    /// Waiters for that.
    fn listeners(&self) -> &Listeners;

    /// Has what is due by now become ready, and says when that is the case next; `None` if it does not depend on time.
    fn check_time(&self) -> Option<Instant> {
        None
    }
}

/// When a callback runs.
#[derive(Clone)]
pub(crate) enum When {
    /// In its turn, on a thread that spins.
    Spun(Arc<NodeQueue>),
    /// At once, on the thread that turns the driver or publishes: for what is the library's own and never waits.
    AtOnce,
    /// Never: the user takes in its place.
    Taken,
}

impl When {
    /// A callback is due. Gives back one that is to run at once: as soon as the caller holds no lock that it may want.
    pub(crate) fn push_unless_inline(&self, due: Arc<dyn Runnable>) -> Option<Arc<dyn Runnable>> {
        match self {
            Self::Spun(ready) => ready.push(due),
            Self::AtOnce => return Some(due),
            Self::Taken => {}
        }
        None
    }
}

/// A number that no other running thread has, and which is not 0.
pub(crate) fn mark() -> usize {
    thread_local!(static PLACE: u8 = const { 0 });
    PLACE.with(|place| std::ptr::from_ref(place).addr())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::{Wake, Waker};

    use super::*;

    /// Waits no longer once it is woken, and has the next one wait.
    struct Once {
        listeners: Arc<Listeners>,
        next: Waker,
        count: AtomicUsize,
    }

    impl Wake for Once {
        fn wake(self: Arc<Self>) {
            self.count.fetch_add(1, Ordering::Relaxed);
            self.listeners.add(&self.next);
            self.listeners.remove(&Waker::from(Arc::clone(&self)));
        }
    }

    #[test]
    fn wakers_may_add_and_remove() {
        let listeners = Arc::new(Listeners::new());
        let once =
            |next| Arc::new(Once { listeners: Arc::clone(&listeners), next, count: AtomicUsize::new(0) });
        let second = once(Waker::noop().clone());
        let first = once(Waker::from(Arc::clone(&second)));
        let count = || [&first, &second].map(|once| once.count.load(Ordering::Relaxed));
        listeners.add(&Waker::from(Arc::clone(&first)));
        listeners.add(&Waker::from(Arc::clone(&first)));
        listeners.notify();
        assert_eq!(count(), [1, 0]);
        listeners.notify();
        assert_eq!(count(), [1, 1]);
        listeners.notify();
        assert_eq!(count(), [1, 1]);
    }
}
