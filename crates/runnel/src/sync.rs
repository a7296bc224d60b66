//! Mutexes with a global lock order, which stay usable after a user's callback has panicked.

#[cfg(debug_assertions)]
mod checked;
mod condvar;
#[cfg(test)]
pub(crate) mod model;
mod mutex;
mod order;
mod task_waker;
#[cfg(test)]
mod tests;
#[cfg(not(debug_assertions))]
mod unchecked;

#[cfg(debug_assertions)]
use checked as check;
#[cfg(not(debug_assertions))]
use unchecked as check;

pub(crate) use check::{assert_may_lock, assert_not_locked, assert_unlocked};
pub(crate) use condvar::Condvar;
pub(crate) use mutex::{Mutex, MutexGuard, TryMutex, TryMutexGuard, lock, try_lock};
pub(crate) use order::Class;
pub(crate) use task_waker::{TaskWaker, has_queued_wakes};
