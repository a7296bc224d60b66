//! Callbacks of which one runs at a time, and how an entity's callback gets its turn.

mod group;
mod group_type;
#[cfg(test)]
mod interleavings;

use std::sync::{Arc, Weak};

use crate::ready::{Listeners, Runnable, When};
use crate::sync::assert_unlocked;
use group::Due;

pub(crate) use group::Runner;
pub use group_type::CallbackGroup;

/// What a group is made of; see `crate::sync::model`.
mod primitives {
    pub(super) use crate::ready::mark;
    pub(super) use crate::sync::{Class, Mutex, lock};
    pub(super) use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};
}

/// An entity that waits for its group, and where it is due again.
type Waiting = (When, Arc<dyn Runnable>);

/// A group of entities' callbacks, or of those who take from these entities instead.
pub(crate) type ExclusiveGroup = group::ExclusiveGroup<Waiting>;

/// The right to run the callback of an entity, or to take from it, until it is dropped.
pub(crate) type Entered<'a> = group::Entered<'a, Waiting>;

impl Due for Waiting {
    fn push(self) {
        let (when, entity) = self;
        if let Some(entity) = when.push_unless_inline(entity) {
            entity.run();
        }
    }
}

/// How an entity (a subscription, a service, a timer) is attended to once it is ready: where its callback gets its turn, beside
/// which others, and which waiters are woken.
pub(crate) struct Turn {
    when: When,
    group: Arc<ExclusiveGroup>,
    entity: Weak<dyn Runnable>,
    listeners: Listeners,
}

impl Turn {
    /// For an entity whose callback keeps itself apart from itself alone: it has a group of its own.
    pub(crate) fn new<E: Runnable + 'static>(when: When, entity: &Weak<E>) -> Self {
        Self::in_group(when, &Arc::new(ExclusiveGroup::new()), entity)
    }

    /// For an entity whose callback keeps itself apart from those of others as well.
    pub(crate) fn in_group<E: Runnable + 'static>(
        when: When,
        group: &Arc<ExclusiveGroup>,
        entity: &Weak<E>,
    ) -> Self {
        Self { when, group: Arc::clone(group), entity: entity.clone(), listeners: Listeners::new() }
    }

    /// Waiters that are woken when the entity becomes ready.
    pub(crate) fn listeners(&self) -> &Listeners {
        &self.listeners
    }

    /// Where the callback has its turn.
    pub(crate) fn when(&self) -> &When {
        &self.when
    }

    /// False if the user takes instead.
    pub(crate) fn has_callback(&self) -> bool {
        !matches!(self.when, When::Taken)
    }

    /// The entity has become ready.
    pub(crate) fn push(&self) {
        if let Some(entity) = self.push_unless_inline() {
            entity.run();
        }
    }

    /// The same, but gives the entity back if it is to run at once: see [`When::push_unless_inline`].
    pub(crate) fn push_unless_inline(&self) -> Option<Arc<dyn Runnable>> {
        self.listeners.notify();
        self.when.push_unless_inline(self.entity.upgrade()?)
    }

    /// What was there to take has been taken in place of the callback. True if that does not stand in line any more: it is to
    /// again when there is more.
    pub(crate) fn take_back(&self) -> bool {
        match &self.when {
            When::Spun(queue) => queue.take(self.entity.as_ptr().cast()).is_some(),
            When::AtOnce => false,
            When::Taken => true,
        }
    }

    /// Enters the group for the callback, whose turn it is. `None` if another one runs: then this one is due again after it.
    #[cfg_attr(debug_assertions, track_caller)]
    pub(crate) fn enter(&self, callback: &str) -> Option<Entered<'_>> {
        if let Ok(entered) = self.try_enter(callback) {
            return Some(entered);
        }
        self.group.wait((self.when.clone(), self.entity.upgrade()?));
        None
    }

    /// Enters the group for the callback out of turn.
    ///
    /// # Errors
    /// Who runs a callback of it now.
    #[cfg_attr(debug_assertions, track_caller)]
    pub(crate) fn try_enter(&self, callback: &str) -> Result<Entered<'_>, Runner> {
        // A callback of the user's runs without any lock: it may want whichever.
        if let When::Spun(_) = self.when {
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

    /// Counts how often it ran, with nothing but its group to keep two threads apart.
    struct Counter {
        turn: Turn,
        within: AtomicBool,
        ran: AtomicUsize,
    }

    impl Counter {
        fn new(ready: &Arc<ReadyQueue>) -> Arc<Self> {
            Arc::new_cyclic(|myself| Self {
                turn: Turn::new(When::Spun(NodeQueue::new(Arc::clone(ready))), myself),
                within: AtomicBool::new(false),
                ran: AtomicUsize::new(0),
            })
        }

        fn ran(&self) -> usize {
            self.ran.load(Ordering::SeqCst)
        }
    }

    impl Runnable for Counter {
        fn run(&self) {
            let Some(_entered) = self.turn.enter("a counter") else { return };
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
    fn callback_whose_group_is_busy_is_due_again_once_it_is_free() {
        let ready = queue();
        let counter = Counter::new(&ready);
        let group = &counter.turn.group;
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
    fn turns_of_many_threads_are_neither_lost_nor_side_by_side() {
        const TURNS: usize = 2000;
        let ready = queue();
        let counter = Counter::new(&ready);
        (0..TURNS).for_each(|_| ready.push(Arc::clone(&counter) as Arc<dyn Runnable>));
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    while counter.ran() < TURNS {
                        ready.pop().into_iter().for_each(|due| due.run());
                        thread::yield_now();
                    }
                });
            }
        });
        assert_eq!(counter.ran(), TURNS);
    }
}
