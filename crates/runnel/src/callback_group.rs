//! Mutual exclusion of callbacks, and scheduling of an entity's callback.

mod group;
mod group_type;
#[cfg(test)]
mod interleavings;

use std::sync::{Arc, Weak};

use crate::ready::{Dispatch, Listeners, Task};
use crate::sync::assert_unlocked;
use group::Due;

pub(crate) use group::Runner;
pub use group_type::CallbackGroup;

/// Primitives of a group; replaced in `crate::sync::model`.
mod primitives {
    pub(super) use crate::ready::thread_token;
    pub(super) use crate::sync::{Class, Mutex, lock};
    pub(super) use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};
}

/// An entity that waits for its group, with its dispatch.
type Waiting = (Dispatch, Arc<dyn Task>);

/// A group of entities' callbacks, or of the threads that take from these entities.
pub(crate) type ExclusiveGroup = group::ExclusiveGroup<Waiting>;

/// Permission to run an entity's callback, or to take from the entity, until it is dropped.
pub(crate) type Entered<'a> = group::Entered<'a, Waiting>;

impl Due for Waiting {
    fn push(self) {
        let (dispatch, entity) = self;
        if let Some(entity) = dispatch.push_unless_inline(entity) {
            entity.run();
        }
    }
}

/// Scheduling of an entity (a subscription, a service, a timer) that becomes ready: where its callback runs, which
/// callbacks it excludes, and which waiters are woken.
pub(crate) struct CallbackScheduler {
    dispatch: Dispatch,
    group: Arc<ExclusiveGroup>,
    entity: Weak<dyn Task>,
    listeners: Listeners,
}

impl CallbackScheduler {
    /// For an entity whose callback excludes only itself: it has its own group.
    pub(crate) fn new<E: Task + 'static>(dispatch: Dispatch, entity: &Weak<E>) -> Self {
        Self::in_group(dispatch, &Arc::new(ExclusiveGroup::new()), entity)
    }

    /// For an entity whose callback also excludes others: those of `group`.
    pub(crate) fn in_group<E: Task + 'static>(
        dispatch: Dispatch,
        group: &Arc<ExclusiveGroup>,
        entity: &Weak<E>,
    ) -> Self {
        Self { dispatch, group: Arc::clone(group), entity: entity.clone(), listeners: Listeners::new() }
    }

    /// Waiters to wake when the entity becomes ready.
    pub(crate) fn listeners(&self) -> &Listeners {
        &self.listeners
    }

    /// Where the callback runs.
    pub(crate) fn dispatch(&self) -> &Dispatch {
        &self.dispatch
    }

    /// False if the user takes from the entity instead.
    pub(crate) fn has_callback(&self) -> bool {
        !matches!(self.dispatch, Dispatch::Taken)
    }

    /// Schedules the callback of the entity, which became ready.
    pub(crate) fn push(&self) {
        if let Some(entity) = self.push_unless_inline() {
            entity.run();
        }
    }

    /// As [`push`](Self::push), but returns the entity if it must run inline: see [`Dispatch::push_unless_inline`].
    pub(crate) fn push_unless_inline(&self) -> Option<Arc<dyn Task>> {
        self.listeners.notify();
        self.dispatch.push_unless_inline(self.entity.upgrade()?)
    }

    /// Removes the callback from its queue, because a thread has taken from the entity. True if it is no longer queued
    /// and must be pushed again for more.
    pub(crate) fn unqueue(&self) -> bool {
        match &self.dispatch {
            Dispatch::Executor(queue) => queue.take(self.entity.as_ptr().cast()).is_some(),
            Dispatch::Inline => false,
            Dispatch::Taken => true,
        }
    }

    /// Enters the group to run the queued callback. `None` if another one runs: then this one is queued again after it.
    #[cfg_attr(debug_assertions, track_caller)]
    pub(crate) fn enter(&self, callback: &str) -> Option<Entered<'_>> {
        if let Ok(entered) = self.try_enter(callback) {
            return Some(entered);
        }
        self.group.wait((self.dispatch.clone(), self.entity.upgrade()?));
        None
    }

    /// True if a callback of the group waits for the one that runs now.
    pub(crate) fn is_awaited(&self) -> bool {
        self.group.has_waiting()
    }

    /// Enters the group to run the callback without queueing.
    ///
    /// # Errors
    /// The thread that runs a callback of the group now.
    #[cfg_attr(debug_assertions, track_caller)]
    pub(crate) fn try_enter(&self, callback: &str) -> Result<Entered<'_>, Runner> {
        // A user callback runs without any lock, because it may take any of them.
        if let Dispatch::Executor(_) = self.dispatch {
            assert_unlocked(callback);
        }
        self.group.try_enter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ready::{NodeQueue, ReadyQueue};
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::thread;

    /// Counts its runs. Only its group excludes a second thread.
    struct Counter {
        scheduler: CallbackScheduler,
        within: AtomicBool,
        ran: AtomicUsize,
    }

    impl Counter {
        fn new(ready: &Arc<ReadyQueue>) -> Arc<Self> {
            Arc::new_cyclic(|myself| Self {
                scheduler: CallbackScheduler::new(
                    Dispatch::Executor(NodeQueue::new(Arc::clone(ready))),
                    myself,
                ),
                within: AtomicBool::new(false),
                ran: AtomicUsize::new(0),
            })
        }

        fn ran(&self) -> usize {
            self.ran.load(Ordering::SeqCst)
        }
    }

    impl Task for Counter {
        fn run(&self) {
            let Some(_entered) = self.scheduler.enter("a counter") else { return };
            assert!(!self.within.swap(true, Ordering::SeqCst), "two at a time");
            self.ran.fetch_add(1, Ordering::SeqCst);
            self.within.store(false, Ordering::SeqCst);
        }
    }

    fn queue() -> Arc<ReadyQueue> {
        let reactor = runnel_io::Reactor::new().unwrap();
        Arc::new(ReadyQueue::new(reactor.waker().clone()))
    }

    #[test]
    fn callback_of_busy_group_is_queued_again() {
        let ready = queue();
        let counter = Counter::new(&ready);
        let group = &counter.scheduler.group;
        let entered = group.try_enter().ok().unwrap();
        assert_eq!(group.try_enter().err(), Some(Runner::ThisThread));
        thread::scope(|scope| {
            let other = scope.spawn(|| group.try_enter().err());
            assert_eq!(other.join().unwrap(), Some(Runner::AnotherThread));
        });
        counter.run();
        counter.run();
        assert_eq!((counter.ran(), ready.len()), (0, 0));
        drop(entered);
        assert_eq!(ready.len(), 2);
        while let Some(due) = ready.pop() {
            due.run();
        }
        assert_eq!((counter.ran(), ready.len()), (2, 0));
    }

    #[test]
    fn group_is_free_after_a_callback_that_panics() {
        let group = ExclusiveGroup::new();
        let panics = catch_unwind(AssertUnwindSafe(|| {
            let _entered = group.try_enter();
            panic!("as users do");
        }));
        assert!(panics.is_err() && group.try_enter().is_ok());
    }

    #[test]
    fn runs_of_many_threads_are_neither_lost_nor_concurrent() {
        const RUNS: usize = 2000;
        let ready = queue();
        let counter = Counter::new(&ready);
        (0..RUNS).for_each(|_| ready.push(Arc::clone(&counter) as Arc<dyn Task>));
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    while counter.ran() < RUNS {
                        ready.pop().into_iter().for_each(|due| due.run());
                        thread::yield_now();
                    }
                });
            }
        });
        assert_eq!(counter.ran(), RUNS);
    }
}
