//! Wakes a thread that spins.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::task::{Wake, Waker};

use crate::ready::{ReadyQueue, Task};

/// Queued like a callback that does nothing.
pub(super) struct SpinWaker {
    is_queued: AtomicBool,
    /// Weak, because the queue may hold the waker.
    ready: Weak<ReadyQueue>,
}

impl SpinWaker {
    pub(super) fn waker(ready: &Arc<ReadyQueue>) -> Waker {
        Waker::from(Arc::new(Self { is_queued: AtomicBool::new(false), ready: Arc::downgrade(ready) }))
    }
}

impl Wake for SpinWaker {
    fn wake(self: Arc<Self>) {
        if !self.is_queued.swap(true, Ordering::SeqCst)
            && let Some(ready) = self.ready.upgrade()
        {
            ready.push(self);
        }
    }
}

impl Task for SpinWaker {
    fn run(&self) {
        self.is_queued.store(false, Ordering::SeqCst);
    }
}
