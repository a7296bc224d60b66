//! Wakers of users' tasks. A waker may call Runnel, so it runs only while its thread holds no lock of this crate.
//!
//! Each thread has a queue of wakes. The queue runs when the thread releases its last lock, or at once if it holds none.
//! A wake during another wake of the same thread waits for the end of that one, so wakers are not nested.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Wake, Waker};

use super::check::is_any_locked;

/// Capacity of a thread's queue that is kept for later wakes.
const KEPT_CAPACITY: usize = 64;

thread_local! {
    static QUEUE: RefCell<VecDeque<Deferred>> = const { RefCell::new(VecDeque::new()) };
    /// True if the queue is not empty. It has no destructor, so that a thread can unlock until it has ended.
    static HAS_QUEUED: Cell<bool> = const { Cell::new(false) };
    /// True while the thread runs its queue.
    static IS_RUNNING: Cell<bool> = const { Cell::new(false) };
}

/// User code that runs without locks.
enum Deferred {
    Wake(Arc<TaskWaker>),
    /// Dropping a waker may drop its task, and everything that the task owns.
    Drop(Waker),
}

/// Wakes a user's task. Two futures of one task have one each, so that the end of one does not end the wait of the
/// other.
pub(crate) struct TaskWaker {
    /// `None` only after the drop.
    task: Option<Waker>,
    /// True while it is in the queue of a thread. So the queues do not grow with the number of messages.
    is_queued: AtomicBool,
}

impl TaskWaker {
    /// Wraps the waker of a task.
    pub(crate) fn wrap(task: Waker) -> Waker {
        Waker::from(Arc::new(Self { task: Some(task), is_queued: AtomicBool::new(false) }))
    }
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.is_queued.swap(true, Ordering::SeqCst) {
            defer(Deferred::Wake(Arc::clone(self)));
        }
    }
}

impl Drop for TaskWaker {
    fn drop(&mut self) {
        if let Some(task) = self.task.take() {
            defer(Deferred::Drop(task));
        }
    }
}

impl Deferred {
    fn run(self) {
        match self {
            Self::Wake(waker) => {
                // From here on, a change needs another wake.
                waker.is_queued.store(false, Ordering::SeqCst);
                waker.task.iter().for_each(Waker::wake_by_ref);
            }
            Self::Drop(waker) => drop(waker),
        }
    }
}

/// Queues it, and runs the queue if the thread holds no lock.
fn defer(deferred: Deferred) {
    let mut unqueued = Some(deferred);
    // The queue of a thread that ends is gone.
    let _ = QUEUE.try_with(|queue| queue.borrow_mut().extend(unqueued.take()));
    match unqueued {
        Some(deferred) => deferred.run(),
        None => {
            HAS_QUEUED.set(true);
            run_queue();
        }
    }
}

/// True if wakes wait until the thread releases its last lock. It must not wait for input before.
pub(crate) fn has_queued_wakes() -> bool {
    HAS_QUEUED.get()
}

/// Runs the queue, unless the thread holds a lock or already runs the queue.
#[cold]
fn run_queue() {
    if is_any_locked() || IS_RUNNING.replace(true) {
        return;
    }
    let _end = EndOfRun;
    while let Some(next) = pop() {
        next.run();
    }
}

fn pop() -> Option<Deferred> {
    let pop = |queue: &RefCell<VecDeque<Deferred>>| {
        let mut queue = queue.borrow_mut();
        let next = queue.pop_front();
        if next.is_none() {
            HAS_QUEUED.set(false);
            queue.shrink_to(KEPT_CAPACITY);
        }
        next
    };
    QUEUE.try_with(pop).ok().flatten()
}

/// Marks the end of a run, also when a waker panics.
struct EndOfRun;

impl Drop for EndOfRun {
    fn drop(&mut self) {
        IS_RUNNING.set(false);
    }
}

/// Runs queued wakes when it is dropped. The last field of a guard.
pub(super) struct RunOnUnlock;

impl Drop for RunOnUnlock {
    fn drop(&mut self) {
        if HAS_QUEUED.get() {
            run_queue();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::mpsc::{Receiver, Sender, channel};

    use super::*;
    use crate::sync::{Class, Mutex, assert_unlocked, lock};

    /// Reports its wakes, and its drop as -1, and wakes another task first.
    struct Reporter {
        number: i32,
        to: Sender<i32>,
        other: Option<Waker>,
    }

    impl Wake for Reporter {
        fn wake(self: Arc<Self>) {
            assert_unlocked("a waker");
            self.other.iter().for_each(Waker::wake_by_ref);
            self.to.send(self.number).unwrap();
            assert!(self.number != 13, "unlucky");
        }
    }

    impl Drop for Reporter {
        fn drop(&mut self) {
            assert_unlocked("the drop of a waker");
            let _ = self.to.send(-1);
        }
    }

    fn reporter(number: i32, to: &Sender<i32>, other: Option<Waker>) -> Waker {
        TaskWaker::wrap(Waker::from(Arc::new(Reporter { number, to: to.clone(), other })))
    }

    fn all(from: &Receiver<i32>) -> Vec<i32> {
        from.try_iter().collect()
    }

    #[test]
    fn wake_and_drop_wait_for_last_unlock() {
        let (outer, inner) = (Mutex::new(Class::Driver, ()), Mutex::new(Class::Publication, ()));
        let (to, from) = channel();
        let [first, second] = [1, 2].map(|number| reporter(number, &to, None));
        first.wake_by_ref();
        assert_eq!(all(&from), [1]);
        let held = lock(&outer);
        let more = lock(&inner);
        (0..3).for_each(|_| first.wake_by_ref());
        second.wake();
        drop(more);
        assert!(all(&from).is_empty() && has_queued_wakes());
        drop(held);
        assert_eq!((all(&from), has_queued_wakes()), (vec![1, 2, -1], false));
        drop((lock(&outer), lock(&inner)));
        first.wake_by_ref();
        assert_eq!(all(&from), [1]);
    }

    #[test]
    fn wake_during_a_wake_follows_it() {
        let (to, from) = channel();
        let second = reporter(2, &to, None);
        let first = reporter(1, &to, Some(second.clone()));
        first.wake_by_ref();
        assert_eq!(all(&from), [1, 2]);
    }

    #[test]
    fn wakes_after_a_waker_that_panics_run_at_next_unlock() {
        let mutex = Mutex::new(Class::Driver, ());
        let (to, from) = channel();
        let wakers = [13, 2].map(|number| reporter(number, &to, None));
        let panics = catch_unwind(AssertUnwindSafe(|| {
            let _held = lock(&mutex);
            wakers.iter().for_each(Waker::wake_by_ref);
        }));
        assert!(panics.is_err());
        drop(lock(&mutex));
        assert_eq!(all(&from), [13, 2]);
    }
}
