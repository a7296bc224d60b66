//! Waiters that an entity wakes when it becomes ready.

use std::sync::Arc;
use std::task::Waker;

use super::primitives::{AtomicBool, Class, Mutex, Ordering, lock};

/// See the module's documentation. An entity that becomes ready changes its state first and notifies then; a waiter is added first
/// and looks at the state then. So one of them at least sees what the other has done, as long as the state is behind a mutex or
/// in sequentially consistent atomics.
pub(crate) struct Listeners {
    /// There is one in `wakers`.
    is_any: AtomicBool,
    /// Each once, however often it was added; `None` if there is none. They wake while this is unlocked.
    wakers: Mutex<Option<Arc<[Waker]>>>,
}

impl Listeners {
    pub(crate) fn new() -> Self {
        Self { is_any: AtomicBool::new(false), wakers: Mutex::new(Class::Listeners, None) }
    }

    /// From now on `waker` is woken, until it is removed. It does no more than wake: locks of the entity's may be held.
    pub(crate) fn add(&self, waker: &Waker) {
        let mut wakers = lock(&self.wakers);
        let before = wakers.as_deref().unwrap_or_default();
        if before.iter().any(|other| other.will_wake(waker)) {
            return;
        }
        let more = before.iter().chain([waker]).cloned().collect();
        let before = wakers.replace(more);
        self.is_any.store(true, Ordering::SeqCst);
        drop(wakers);
        drop(before);
    }

    /// A thread that notifies at the moment may still wake it.
    pub(crate) fn remove(&self, waker: &Waker) {
        let mut wakers = lock(&self.wakers);
        let Some(before) = wakers.take() else { return };
        let left: Arc<[_]> = before.iter().filter(|other| !other.will_wake(waker)).cloned().collect();
        self.is_any.store(!left.is_empty(), Ordering::SeqCst);
        *wakers = (!left.is_empty()).then_some(left);
        drop(wakers);
        // What goes with a waker may be anything.
        drop(before);
    }

    /// The entity has become ready.
    pub(crate) fn notify(&self) {
        if self.is_any.load(Ordering::SeqCst) {
            let wakers = lock(&self.wakers).clone();
            wakers.iter().flat_map(|wakers| wakers.iter()).for_each(Waker::wake_by_ref);
        }
    }
}
