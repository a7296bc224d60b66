//! Wakers that an entity wakes when it becomes ready.

use std::sync::Arc;
use std::task::Waker;

use super::primitives::{AtomicBool, Class, Mutex, Ordering, lock};

/// See the module's documentation. A ready entity changes its state before it notifies; a waiter is added before it
/// reads the state. So at least one of them sees the other's change, if the state is behind a mutex or in sequentially
/// consistent atomics.
pub(crate) struct Listeners {
    /// True if `wakers` is not empty.
    is_any: AtomicBool,
    /// Each waker once, even if added repeatedly; `None` if there is none. They are woken without the lock. All are
    /// `Arc`s of this crate, so their data identifies them. Their vtable does not: it may exist several times.
    wakers: Mutex<Option<Arc<[Waker]>>>,
}

impl Listeners {
    pub(crate) fn new() -> Self {
        Self { is_any: AtomicBool::new(false), wakers: Mutex::new(Class::Listeners, None) }
    }

    /// Adds a waker until it is removed: a [`Signal`](super::Signal), or a [`TaskWaker`](crate::sync::TaskWaker). Locks
    /// may be held when it is woken, of the entity and of the driver.
    pub(crate) fn add(&self, waker: &Waker) {
        let mut wakers = lock(&self.wakers);
        let before = wakers.as_deref().unwrap_or_default();
        if before.iter().any(|other| other.data() == waker.data()) {
            return;
        }
        let more = before.iter().chain([waker]).cloned().collect();
        let before = wakers.replace(more);
        self.is_any.store(true, Ordering::SeqCst);
        drop(wakers);
        drop(before);
    }

    /// Removes a waker. A thread that is notifying may still wake it.
    pub(crate) fn remove(&self, waker: &Waker) {
        let mut wakers = lock(&self.wakers);
        let Some(before) = wakers.take() else { return };
        let left: Arc<[_]> = before.iter().filter(|other| other.data() != waker.data()).cloned().collect();
        self.is_any.store(!left.is_empty(), Ordering::SeqCst);
        *wakers = (!left.is_empty()).then_some(left);
        drop(wakers);
        // Dropping a waker may run any code.
        drop(before);
    }

    /// Wakes all waiters after the entity became ready.
    pub(crate) fn notify(&self) {
        if self.is_any.load(Ordering::SeqCst) {
            let wakers = lock(&self.wakers).clone();
            wakers.iter().flat_map(|wakers| wakers.iter()).for_each(Waker::wake_by_ref);
        }
    }
}
