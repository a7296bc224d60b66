//! The same primitives over types of loom, which runs every interleaving with every value that a load may return. A
//! file that takes its primitives from `super::primitives` is compiled a second time with these.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

pub(crate) use loom::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering, fence};
use loom::sync::{self, MutexGuard};

use super::order::Class;

/// See [`super::Mutex`]. The lock order is not checked: loom reports each deadlock.
pub(crate) struct Mutex<T>(sync::Mutex<T>);

impl<T> Mutex<T> {
    pub(crate) fn new(_: Class, value: T) -> Self {
        Self(sync::Mutex::new(value))
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.0.lock().unwrap()
}

/// See [`super::Condvar`]. No time passes in a model.
pub(crate) struct Condvar(sync::Condvar);

impl Condvar {
    pub(crate) fn new() -> Self {
        Self(sync::Condvar::new())
    }

    pub(crate) fn notify_one(&self) {
        self.0.notify_one();
    }

    pub(crate) fn notify_all(&self) {
        self.0.notify_all();
    }

    pub(crate) fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        self.0.wait(guard).unwrap()
    }

    pub(crate) fn wait_timeout<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        _: Duration,
    ) -> (MutexGuard<'a, T>, bool) {
        (self.wait(guard), false)
    }
}

/// A mutex with `try_lock`. With loom's own `try_lock`, a thread waits as long as another one holds the mutex.
pub(crate) struct TryLockMutex<T> {
    is_locked: sync::Mutex<bool>,
    unlocked: sync::Condvar,
    inner: sync::Mutex<T>,
}

/// A locked [`TryLockMutex`].
pub(crate) struct TryLockGuard<'a, T> {
    mutex: &'a TryLockMutex<T>,
    inner: Option<MutexGuard<'a, T>>,
}

impl<T> TryLockMutex<T> {
    pub(crate) fn new(_: Class, value: T) -> Self {
        let (is_locked, unlocked) = (sync::Mutex::new(false), sync::Condvar::new());
        Self { is_locked, unlocked, inner: sync::Mutex::new(value) }
    }

    pub(crate) fn lock(&self) -> TryLockGuard<'_, T> {
        let mut is_locked = self.is_locked.lock().unwrap();
        while *is_locked {
            is_locked = self.unlocked.wait(is_locked).unwrap();
        }
        *is_locked = true;
        self.guard()
    }

    pub(crate) fn try_lock(&self) -> Option<TryLockGuard<'_, T>> {
        let is_locked = std::mem::replace(&mut *self.is_locked.lock().unwrap(), true);
        (!is_locked).then(|| self.guard())
    }

    fn guard(&self) -> TryLockGuard<'_, T> {
        TryLockGuard { mutex: self, inner: Some(self.inner.lock().unwrap()) }
    }
}

impl<T> Deref for TryLockGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.inner.as_ref().unwrap()
    }
}

impl<T> DerefMut for TryLockGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.inner.as_mut().unwrap()
    }
}

impl<T> Drop for TryLockGuard<'_, T> {
    fn drop(&mut self) {
        self.inner = None;
        // After loom has found a deadlock, nothing can be locked any more.
        if thread::panicking() {
            return;
        }
        *self.mutex.is_locked.lock().unwrap() = false;
        self.mutex.unlocked.notify_one();
    }
}

/// Model of [`runnel_io::Waker`] and the wait that it ends.
#[derive(Clone)]
pub(crate) struct Waker(Arc<Reactor>);

struct Reactor {
    woken: sync::Mutex<bool>,
    changed: sync::Condvar,
}

impl Waker {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Reactor { woken: sync::Mutex::new(false), changed: sync::Condvar::new() }))
    }

    /// Ends the current wait, or else the next one.
    pub(crate) fn wake(&self) {
        *self.0.woken.lock().unwrap() = true;
        self.0.changed.notify_all();
    }

    /// Waits for a wake-up, without a time-out.
    pub(crate) fn wait(&self) {
        let mut woken = self.0.woken.lock().unwrap();
        while !std::mem::take(&mut *woken) {
            woken = self.0.changed.wait(woken).unwrap();
        }
    }
}

/// A number that identifies this thread in the model, never 0.
pub(crate) fn thread_token() -> usize {
    loom::thread_local!(static PLACE: Box<u8> = Box::new(0));
    PLACE.with(|place| std::ptr::from_ref(&**place).addr())
}

/// Runs every interleaving of a model, whose loops must therefore be short.
pub(crate) fn explore(model: impl Fn() + Send + Sync + 'static) {
    check(None, model);
}

/// Like [`explore`], limited to interleavings with at most that many preemptions.
pub(crate) fn explore_within(preemptions: usize, model: impl Fn() + Send + Sync + 'static) {
    check(Some(preemptions), model);
}

fn check(preemptions: Option<usize>, model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    // Independent of the environment.
    builder.preemption_bound = preemptions;
    builder.max_permutations = None;
    builder.max_duration = None;
    builder.check(model);
}
