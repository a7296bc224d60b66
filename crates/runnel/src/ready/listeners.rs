//! Waiters that an entity wakes when it becomes ready.

use std::task::Waker;

use super::primitives::{AtomicBool, Class, Mutex, Ordering, lock};

/// See the module's documentation. An entity that becomes ready changes its state first and notifies then; a waiter is added first
/// and looks at the state then. So one of them at least sees what the other has done, as long as the state is behind a mutex or
/// in sequentially consistent atomics.
pub(crate) struct Listeners {
    /// There is one in `wakers`.
    is_any: AtomicBool,
    /// Each once, however often it was added.
    wakers: Mutex<Vec<Waker>>,
}

impl Listeners {
    pub(crate) fn new() -> Self {
        Self { is_any: AtomicBool::new(false), wakers: Mutex::new(Class::Listeners, Vec::new()) }
    }

    /// From now on `waker` is woken, until it is removed. It does no more than wake: locks may be held.
    pub(crate) fn add(&self, waker: &Waker) {
        let mut wakers = lock(&self.wakers);
        if !wakers.iter().any(|other| other.will_wake(waker)) {
            wakers.push(waker.clone());
        }
        self.is_any.store(true, Ordering::SeqCst);
    }

    pub(crate) fn remove(&self, waker: &Waker) {
        let mut wakers = lock(&self.wakers);
        wakers.retain(|other| !other.will_wake(waker));
        self.is_any.store(!wakers.is_empty(), Ordering::SeqCst);
    }

    /// The entity has become ready.
    pub(crate) fn notify(&self) {
        if self.is_any.load(Ordering::SeqCst) {
            lock(&self.wakers).iter().for_each(Waker::wake_by_ref);
        }
    }
}
