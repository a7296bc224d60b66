//! Waker of a future that an executor runs.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::task::{Wake, Waker};

use crate::ready::{ReadyQueue, Task};

/// See the module's documentation. Dropping it ends its effect, although the future may have left wakers with others.
pub(super) struct FutureWaker(Arc<WakeFlag>);

/// When set, it is queued like a callback, so that a spinning thread continues.
struct WakeFlag {
    is_set: AtomicBool,
    /// Weak, because the queue may hold the flag.
    ready: Weak<ReadyQueue>,
}

impl FutureWaker {
    /// Waker of a future that was not polled yet.
    pub(super) fn new(ready: &Arc<ReadyQueue>) -> Self {
        Self(Arc::new(WakeFlag { is_set: AtomicBool::new(true), ready: Arc::downgrade(ready) }))
    }

    pub(super) fn waker(&self) -> Waker {
        Waker::from(Arc::clone(&self.0))
    }

    pub(super) fn is_set(&self) -> bool {
        self.0.is_set.load(Ordering::SeqCst)
    }

    pub(super) fn take(&self) -> bool {
        self.0.is_set.swap(false, Ordering::SeqCst)
    }
}

impl Drop for FutureWaker {
    fn drop(&mut self) {
        // A flag that is set is not queued again.
        self.0.is_set.store(true, Ordering::SeqCst);
        if let Some(ready) = self.0.ready.upgrade() {
            ready.take(Arc::as_ptr(&self.0).cast());
        }
    }
}

impl Wake for WakeFlag {
    fn wake(self: Arc<Self>) {
        if !self.is_set.swap(true, Ordering::SeqCst)
            && let Some(ready) = self.ready.upgrade()
        {
            ready.push(self);
        }
    }
}

impl Task for WakeFlag {
    /// A thread other than the future's may run it.
    fn run(&self) {
        if let Some(ready) = self.ready.upgrade() {
            ready.wake_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue() -> Arc<ReadyQueue> {
        let reactor = runnel_io::Reactor::new().unwrap();
        Arc::new(ReadyQueue::new(reactor.waker().clone()))
    }

    #[test]
    fn waker_is_queued_until_future_ends() {
        let ready = queue();
        let woken = FutureWaker::new(&ready);
        let waker = woken.waker();
        waker.wake_by_ref();
        assert_eq!((ready.len(), woken.take()), (0, true), "it is set from the start");
        waker.wake_by_ref();
        waker.wake_by_ref();
        assert_eq!((ready.len(), woken.is_set()), (1, true));
        drop(woken);
        assert_eq!(ready.len(), 0);
        waker.wake();
        assert_eq!(ready.len(), 0);
    }

    #[test]
    fn queued_waker_does_not_keep_its_queue() {
        let ready = queue();
        let woken = FutureWaker::new(&ready);
        assert!(woken.take());
        woken.waker().wake();
        assert_eq!(ready.len(), 1);
        // The queue ends first, as if the waker entered it while the future ended.
        let queue = Arc::downgrade(&ready);
        drop(ready);
        assert!(queue.upgrade().is_none());
    }
}
