//! Mutually exclusive group: the running thread, and the callbacks that wait for it.

use super::primitives::{AtomicBool, AtomicUsize, Class, Mutex, Ordering, fence, lock, thread_token};

/// A mutually exclusive group, as in rclcpp: none of its callbacks runs while another does, on any thread or further up
/// on the same stack. A callback that becomes due meanwhile waits, and is queued again afterwards.
pub(crate) struct ExclusiveGroup<D: Due> {
    /// Token of the thread that runs a callback of the group; 0 if none does.
    runner: AtomicUsize,
    /// True if `waiting` is not empty.
    waits: AtomicBool,
    waiting: Mutex<Vec<D>>,
}

/// A callback that can be queued again.
pub(crate) trait Due {
    /// Queues it.
    fn push(self);
}

/// Which thread runs a callback of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Runner {
    /// The calling thread, further up on its stack.
    ThisThread,
    AnotherThread,
}

/// Permission to run a callback of the group, until it is dropped.
pub(crate) struct Entered<'a, D: Due>(&'a ExclusiveGroup<D>);

impl<D: Due> ExclusiveGroup<D> {
    pub(crate) fn new() -> Self {
        let (runner, waits) = (AtomicUsize::new(0), AtomicBool::new(false));
        Self { runner, waits, waiting: Mutex::new(Class::CallbackGroup, Vec::new()) }
    }

    /// Enters the group.
    ///
    /// # Errors
    /// The thread that runs a callback of the group now.
    pub(crate) fn try_enter(&self) -> Result<Entered<'_, D>, Runner> {
        match self.runner.compare_exchange(0, thread_token(), Ordering::SeqCst, Ordering::SeqCst) {
            Ok(_) => Ok(Entered(self)),
            Err(runner) if runner == thread_token() => Err(Runner::ThisThread),
            Err(_) => Err(Runner::AnotherThread),
        }
    }

    /// Adds a callback that is queued again once the running one has ended.
    pub(crate) fn wait(&self, due: D) {
        let mut waiting = lock(&self.waiting);
        waiting.push(due);
        self.waits.store(true, Ordering::SeqCst);
        drop(waiting);
        // The running callback may have ended before this one was added. The leaving thread does both steps in the
        // other order.
        fence(Ordering::SeqCst);
        if self.runner.load(Ordering::SeqCst) == 0 {
            self.requeue_waiting();
        }
    }

    /// True if a callback waits for the running one.
    pub(crate) fn has_waiting(&self) -> bool {
        self.waits.load(Ordering::SeqCst)
    }

    /// Queues the waiting callbacks again.
    fn requeue_waiting(&self) {
        let waiting = {
            let mut waiting = lock(&self.waiting);
            self.waits.store(false, Ordering::SeqCst);
            std::mem::take(&mut *waiting)
        };
        waiting.into_iter().for_each(Due::push);
    }
}

impl<D: Due> Drop for Entered<'_, D> {
    fn drop(&mut self) {
        self.0.runner.store(0, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        if self.0.has_waiting() {
            self.0.requeue_waiting();
        }
    }
}
