//! Check of the lock order in debug builds: a thread that locks a class while it holds an equal or an inner one
//! panics, whether or not another thread completes the deadlock.

use std::cell::Cell;
use std::panic::Location;
use std::thread;

use super::order::Class;

/// The locks that a thread holds, with the place of each lock call, by class. Without destructors, so that a thread
/// can lock until it has ended.
struct Locked {
    /// A bit per class, the outermost the lowest.
    classes: Cell<u64>,
    at: [Cell<Option<&'static Location<'static>>>; Class::ALL.len()],
}

thread_local! {
    static LOCKED: Locked =
        const { Locked { classes: Cell::new(0), at: [const { Cell::new(None) }; Class::ALL.len()] } };
}

/// The class of a mutex.
#[derive(Clone, Copy)]
pub(super) struct LockClass(Class);

/// A class that this thread has locked, until dropped.
pub(super) struct Held(Class);

impl LockClass {
    pub(super) const fn of(class: Class) -> Self {
        Self(class)
    }

    /// Records that the caller locks a mutex of this class.
    ///
    /// # Panics
    /// If the caller holds a lock of an equal or an inner class.
    #[track_caller]
    pub(super) fn enter(self) -> Held {
        let Self(class) = self;
        assert_free(class, |held| format!("{class:?} is locked while {held} is held"));
        let here = Location::caller();
        LOCKED.with(|locked| {
            locked.classes.set(locked.classes.get() | class.bit());
            locked.at[class as usize].set(Some(here));
        });
        Held(class)
    }
}

impl Held {
    /// Checks that the caller may wait for another thread, while the mutex of this class is unlocked.
    ///
    /// # Panics
    /// If the caller holds other locks.
    #[track_caller]
    pub(super) fn assert_no_other_locks(&self) {
        self.assert_may_wait_for(Class::ALL[0]);
    }

    /// Like [`Held::assert_no_other_locks`], for a wait for a thread that locks `outermost` and inner classes.
    ///
    /// # Panics
    /// If the caller holds other locks of these classes.
    #[track_caller]
    pub(super) fn assert_may_wait_for(&self, outermost: Class) {
        let held = LOCKED.with(|locked| locked.classes.replace(locked.classes.get() & !self.0.bit()));
        assert_may_lock(outermost, "a wait");
        LOCKED.with(|locked| locked.classes.set(held));
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        LOCKED.with(|locked| locked.classes.set(locked.classes.get() & !self.0.bit()));
    }
}

/// True if the thread holds a lock.
pub(super) fn is_any_locked() -> bool {
    LOCKED.with(|locked| locked.classes.get() != 0)
}

/// Checks that `what` may run, which may lock anything.
///
/// # Panics
/// If the thread holds a lock.
#[track_caller]
pub(crate) fn assert_unlocked(what: &str) {
    assert_may_lock(Class::ALL[0], what);
}

/// Checks that `what` may run, which may lock this class and inner ones.
///
/// # Panics
/// If the thread holds a lock of an equal or an inner class.
#[track_caller]
pub(crate) fn assert_may_lock(class: Class, what: &str) {
    assert_free(class, |held| format!("{what} begins while {held} is held"));
}

/// Checks that `what` may run, which may lock this class.
///
/// # Panics
/// If the thread holds a lock of this class.
#[track_caller]
pub(crate) fn assert_not_locked(class: Class, what: &str) {
    let is_locked = LOCKED.with(|locked| locked.classes.get() & class.bit() != 0);
    assert!(!is_locked || thread::panicking(), "lock order: {what} begins while {class:?} is held");
}

#[track_caller]
fn assert_free(class: Class, message: impl FnOnce(String) -> String) {
    let held = LOCKED.with(|locked| {
        let inner = locked.classes.get() >> class as u32;
        (inner != 0).then(|| {
            let index = class as usize + inner.trailing_zeros() as usize;
            (Class::ALL[index], locked.at[index].get())
        })
    });
    // A second panic would end the process without reporting the first.
    if let Some((held, at)) = held
        && !thread::panicking()
    {
        let at = at.map(|at| format!(" (locked at {at})")).unwrap_or_default();
        panic!("lock order: {}", message(format!("{held:?}{at}")));
    }
}

impl Class {
    fn bit(self) -> u64 {
        1 << self as u32
    }
}
