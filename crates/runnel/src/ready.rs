//! Queues of due callbacks, and the entities that make them due.

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

/// Primitives of the queue; replaced in `crate::sync::model`.
mod primitives {
    pub(super) use super::thread_token;
    pub(super) use crate::sync::{Class, Condvar, Mutex, lock};
    pub(super) use runnel_io::Waker;
    pub(super) use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};
}

/// A unit of work for an executor, such as one call of a callback.
pub(crate) trait Task: Send + Sync {
    /// Runs the callback for one message or one tick.
    fn run(&self);
    /// As [`run`](Self::run), then for further messages while `may_continue` returns true. This avoids queueing the
    /// task again.
    fn run_batch(&self, may_continue: &dyn Fn() -> bool) {
        let _ = may_continue;
        self.run();
    }
    /// How the task is dispatched; `None` if it belongs to no node.
    fn dispatch(&self) -> Option<&Dispatch> {
        None
    }
}

/// An entity that can become ready. Its callback is then queued, or the user takes from it instead.
pub(crate) trait Waitable: Send + Sync {
    /// True if there is something to take.
    fn is_ready(&self) -> bool;

    /// Waiters to wake when it becomes ready.
    fn listeners(&self) -> &Listeners;

    /// Makes the entity ready if its time has come, and returns the next such time; `None` if it does not depend on
    /// time.
    fn check_time(&self) -> Option<Instant> {
        None
    }
}

/// Where the callback of a ready entity runs.
#[derive(Clone)]
pub(crate) enum Dispatch {
    /// Queued, on a thread of an executor.
    Executor(Arc<NodeQueue>),
    /// Immediately, on the thread that polls the driver or publishes. For the library's own callbacks, which never
    /// wait.
    Inline,
    /// Nowhere: the user takes from the entity.
    Taken,
}

impl Dispatch {
    /// True if callbacks enter this queue now.
    pub(crate) fn is_to(&self, ready: &Arc<ReadyQueue>) -> bool {
        matches!(self, Self::Executor(queue) if queue.is_to(ready))
    }

    /// Queues a due callback. Returns it if it must run inline: the caller runs it as soon as it holds no lock that the
    /// callback may need.
    pub(crate) fn push_unless_inline(&self, due: Arc<dyn Task>) -> Option<Arc<dyn Task>> {
        match self {
            Self::Executor(ready) => ready.push(due),
            Self::Inline => return Some(due),
            Self::Taken => {}
        }
        None
    }
}

/// Identifies the calling thread among running threads; never 0.
pub(crate) fn thread_token() -> usize {
    thread_local!(static PLACE: u8 = const { 0 });
    PLACE.with(|place| std::ptr::from_ref(place).addr())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::{Wake, Waker};

    use super::*;

    /// Removes itself when it is woken, and adds the next waiter.
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
    fn woken_waiter_may_add_and_remove_listeners() {
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
