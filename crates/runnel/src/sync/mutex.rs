//! Mutexes. In release builds they are those of the standard library.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync;
use std::sync::{PoisonError, TryLockError};

use super::check::{Held, LockClass};
use super::order::Class;
use super::task_waker::RunOnUnlock;

/// A mutex of one class, which determines when it may be locked.
pub(crate) struct Mutex<T: ?Sized> {
    lock_class: LockClass,
    inner: sync::Mutex<T>,
}

/// A locked [`Mutex`]. The fields are dropped in this order.
pub(crate) struct MutexGuard<'a, T: ?Sized> {
    pub(super) inner: sync::MutexGuard<'a, T>,
    pub(super) held: Held,
    pub(super) wakes: RunOnUnlock,
}

impl<T> Mutex<T> {
    pub(crate) const fn new(class: Class, value: T) -> Self {
        Self { lock_class: LockClass::of(class), inner: sync::Mutex::new(value) }
    }

    /// The protected value of a mutex that no other thread can lock.
    pub(crate) fn get_mut(&mut self) -> &mut T {
        self.inner.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Locks `mutex`. After a panic in another thread the protected value is valid: no invariant of this crate spans a
/// call to user code.
#[cfg_attr(debug_assertions, track_caller)]
pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Checked before a wait that may never end.
    let held = mutex.lock_class.enter();
    let inner = mutex.inner.lock().unwrap_or_else(PoisonError::into_inner);
    MutexGuard { inner, held, wakes: RunOnUnlock }
}

/// Like [`lock`]; `None` if it is locked.
#[cfg_attr(debug_assertions, track_caller)]
pub(crate) fn try_lock<T: ?Sized>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    let inner = try_lock_inner(&mutex.inner)?;
    Some(MutexGuard { inner, held: mutex.lock_class.enter(), wakes: RunOnUnlock })
}

fn try_lock_inner<T: ?Sized>(mutex: &sync::Mutex<T>) -> Option<sync::MutexGuard<'_, T>> {
    match mutex.try_lock() {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.inner
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.inner
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

/// A mutex for which no thread ever waits, such as that of a callback that one thread at a time runs. So it has no
/// place in the lock order, and user code may run while it is locked.
pub(crate) struct TryMutex<T>(sync::Mutex<T>);

/// A locked [`TryMutex`].
pub(crate) type TryMutexGuard<'a, T> = sync::MutexGuard<'a, T>;

impl<T> TryMutex<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(sync::Mutex::new(value))
    }

    /// Locks it; `None` if it is locked: by another thread, or by the caller further up the stack.
    pub(crate) fn try_lock(&self) -> Option<TryMutexGuard<'_, T>> {
        try_lock_inner(&self.0)
    }
}
