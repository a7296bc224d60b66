//! Queue of a node's callbacks: its context's, or that of the executor to which the node was added.

use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::{Dispatch, ReadyQueue, Task};
use crate::sync::{Class, Mutex, lock};

/// See the module's documentation. Due callbacks move with their node. If a callback becomes due while the node moves,
/// it may be pushed to the old queue; the pushing thread then moves it.
pub(crate) struct NodeQueue {
    context: Arc<ReadyQueue>,
    /// True once the node was in an executor. Before that, `executor` is not locked for each message.
    has_moved: AtomicBool,
    executor: Mutex<Option<Arc<ReadyQueue>>>,
}

impl NodeQueue {
    /// Creates the queue of a node that is in no executor.
    pub(crate) fn new(context: Arc<ReadyQueue>) -> Arc<Self> {
        let executor = Mutex::new(Class::NodeExecutor, None);
        Arc::new(Self { context, has_moved: AtomicBool::new(false), executor })
    }

    /// Queues a due callback.
    pub(crate) fn push(&self, due: Arc<dyn Task>) {
        if !self.has_moved.load(Ordering::SeqCst) {
            self.context.push(due);
            if self.has_moved.load(Ordering::SeqCst) {
                self.move_queued_from(&self.context);
            }
            return;
        }
        let queue = self.current();
        queue.push(due);
        self.move_queued_from(&queue);
    }

    /// Removes the callback at this address, if it is queued.
    pub(crate) fn take(&self, wanted: *const ()) -> Option<Arc<dyn Task>> {
        if self.has_moved.load(Ordering::SeqCst) {
            self.current().take(wanted)
        } else {
            self.context.take(wanted)
        }
    }

    /// Moves the node to an executor's queue. False if it is in another one.
    pub(crate) fn enter(&self, executor: &Arc<ReadyQueue>) -> bool {
        let mut place = lock(&self.executor);
        if let Some(other) = &*place {
            return Arc::ptr_eq(other, executor);
        }
        *place = Some(Arc::clone(executor));
        drop(place);
        self.has_moved.store(true, Ordering::SeqCst);
        self.move_queued_from(&self.context);
        true
    }

    /// Moves the node from an executor's queue back to its context's. False if it is not in that executor.
    pub(crate) fn leave(&self, executor: &Arc<ReadyQueue>) -> bool {
        let mut place = lock(&self.executor);
        if place.as_ref().is_none_or(|other| !Arc::ptr_eq(other, executor)) {
            return false;
        }
        let left = place.take();
        drop(place);
        left.iter().for_each(|left| self.move_queued_from(left));
        true
    }

    /// True if the node is in an executor.
    pub(crate) fn is_in_executor(&self) -> bool {
        lock(&self.executor).is_some()
    }

    /// True if the node is in this executor.
    pub(crate) fn is_in(&self, executor: &Arc<ReadyQueue>) -> bool {
        lock(&self.executor).as_ref().is_some_and(|other| Arc::ptr_eq(other, executor))
    }

    /// True if the node's callbacks enter this queue now.
    pub(crate) fn is_to(&self, ready: &Arc<ReadyQueue>) -> bool {
        if !self.has_moved.load(Ordering::SeqCst) {
            return Arc::ptr_eq(&self.context, ready);
        }
        Arc::ptr_eq(lock(&self.executor).as_ref().unwrap_or(&self.context), ready)
    }

    fn current(&self) -> Arc<ReadyQueue> {
        lock(&self.executor).as_ref().map_or_else(|| Arc::clone(&self.context), Arc::clone)
    }

    fn is_of(&self, due: &dyn Task) -> bool {
        matches!(due.dispatch(), Some(Dispatch::Executor(queue)) if ptr::eq(&**queue, self))
    }

    /// Moves the node's callbacks out of a queue that the node has left.
    fn move_queued_from(&self, left: &Arc<ReadyQueue>) {
        let mut left = Arc::clone(left);
        loop {
            let current = self.current();
            if Arc::ptr_eq(&current, &left) {
                return;
            }
            left.take_all(|due| self.is_of(due)).into_iter().for_each(|due| current.push(due));
            left = current;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::thread;

    use super::*;
    use crate::callback_group::CallbackScheduler;

    /// Counts its runs.
    struct Counter {
        scheduler: CallbackScheduler,
        count: AtomicUsize,
    }

    impl Counter {
        fn new(queue: &Arc<NodeQueue>) -> Arc<Self> {
            let dispatch = Dispatch::Executor(Arc::clone(queue));
            Arc::new_cyclic(|myself| Self {
                scheduler: CallbackScheduler::new(dispatch, myself),
                count: AtomicUsize::new(0),
            })
        }

        fn count(&self) -> usize {
            self.count.load(Ordering::SeqCst)
        }
    }

    impl Task for Counter {
        fn run(&self) {
            self.count.fetch_add(1, Ordering::SeqCst);
        }

        fn dispatch(&self) -> Option<&Dispatch> {
            Some(self.scheduler.dispatch())
        }
    }

    fn queue() -> Arc<ReadyQueue> {
        let reactor = runnel_io::Reactor::new().unwrap();
        Arc::new(ReadyQueue::new(reactor.waker().clone()))
    }

    #[test]
    fn due_callbacks_move_with_their_node() {
        let (context, executor) = (queue(), queue());
        let [node, other] = [(); 2].map(|()| NodeQueue::new(Arc::clone(&context)));
        let [counter, stays] = [&node, &other].map(Counter::new);
        let lengths = || (context.len(), executor.len());
        counter.scheduler.push();
        stays.scheduler.push();
        assert!(node.enter(&executor) && node.enter(&executor) && !node.enter(&queue()));
        assert_eq!(lengths(), (1, 1), "one of the other node stays");
        counter.scheduler.push();
        assert_eq!((lengths(), counter.scheduler.unqueue()), ((1, 2), true));
        assert!(node.leave(&executor) && !node.leave(&executor));
        assert_eq!(lengths(), (2, 0));
    }

    #[test]
    fn callback_due_during_node_move_is_not_lost() {
        const PUSHES: usize = 2000;
        let (context, executor) = (queue(), queue());
        let node = NodeQueue::new(Arc::clone(&context));
        let counter = Counter::new(&node);
        thread::scope(|scope| {
            scope.spawn(|| (0..PUSHES).for_each(|_| counter.scheduler.push()));
            for _ in 0..PUSHES {
                node.enter(&executor);
                node.leave(&executor);
            }
        });
        node.enter(&executor);
        assert_eq!((context.len(), executor.len()), (0, PUSHES));
        std::iter::from_fn(|| executor.pop()).for_each(|due| due.run());
        assert_eq!(counter.count(), PUSHES);
    }
}
