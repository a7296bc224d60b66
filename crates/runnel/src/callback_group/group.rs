//! Who runs a callback of a group, and who waits for that to end.

use super::primitives::{AtomicBool, AtomicUsize, Class, Mutex, Ordering, fence, lock, mark};

/// A mutually exclusive group, as rclcpp has it: none of its callbacks runs while another does, on whichever thread or
/// further up on the same stack. What has its turn meanwhile waits, and is due again once that has ended.
pub(crate) struct ExclusiveGroup<D: Due> {
    /// The mark of the thread that runs a callback of the group; 0 if none does.
    runner: AtomicUsize,
    /// There is something in `waiting`.
    waits: AtomicBool,
    waiting: Mutex<Vec<D>>,
}

/// A callback that can be due again.
pub(crate) trait Due {
    /// It is due.
    fn push(self);
}

/// Which thread runs a callback of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Runner {
    /// The one that asks, further up on its stack.
    ThisThread,
    AnotherThread,
}

/// The right to run a callback of the group, until it is dropped.
pub(crate) struct Entered<'a, D: Due>(&'a ExclusiveGroup<D>);

impl<D: Due> ExclusiveGroup<D> {
    pub(crate) fn new() -> Self {
        let (runner, waits) = (AtomicUsize::new(0), AtomicBool::new(false));
        Self { runner, waits, waiting: Mutex::new(Class::CallbackGroup, Vec::new()) }
    }

    /// Enters the group.
    ///
    /// # Errors
    /// Who runs a callback of it now.
    pub(crate) fn try_enter(&self) -> Result<Entered<'_, D>, Runner> {
        match self.runner.compare_exchange(0, mark(), Ordering::SeqCst, Ordering::SeqCst) {
            Ok(_) => Ok(Entered(self)),
            Err(runner) if runner == mark() => Err(Runner::ThisThread),
            Err(_) => Err(Runner::AnotherThread),
        }
    }

    /// A callback whose turn it was is due again once the one that runs has ended.
    pub(crate) fn wait(&self, due: D) {
        let mut waiting = lock(&self.waiting);
        waiting.push(due);
        self.waits.store(true, Ordering::SeqCst);
        drop(waiting);
        // The one that ran may have ended before it could see that somebody waits. Who leaves does both in the other order.
        fence(Ordering::SeqCst);
        if self.runner.load(Ordering::SeqCst) == 0 {
            self.make_due();
        }
    }

    /// Those that wait are due again.
    fn make_due(&self) {
        let waiting = {
            let mut waiting = lock(&self.waiting);
            self.waits.store(false, Ordering::SeqCst);
            std::mem::take(&mut *waiting)
        };
        waiting.into_iter().for_each(Due::push);
    }
}

impl<D: Due> Drop for Entered<'_, D> {
    fn drop(&mut self) {
        self.0.runner.store(0, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        if self.0.waits.load(Ordering::SeqCst) {
            self.0.make_due();
        }
    }
}
