//! Waiter of an async task for entities, as a [wait set](crate::runtime::wait_set) is for a thread.
//!
//! When an entity becomes ready, the polling thread wakes the task: one that spins or waits, otherwise the background
//! thread. A waiting task uses no CPU time. That thread wakes the task once it holds no lock ([`TaskWaker`]).

use std::sync::Arc;
use std::task::{Context, Waker};

use crate::ready::Waitable;
use crate::runtime::shared::Shared;
use crate::sync::TaskWaker;

/// See the module's documentation. Dropping it ends the wait.
pub(crate) struct TaskWaiter {
    shared: Arc<Shared>,
    entities: Vec<Arc<dyn Waitable>>,
    registered: Option<Registered>,
}

/// A task's waker, and the [`TaskWaker`] that is registered with the entities.
struct Registered {
    task: Waker,
    wrapped: Waker,
}

impl TaskWaiter {
    /// Creates a waiter for these entities and for the end of the context.
    pub(crate) fn new(shared: &Arc<Shared>, mut entities: Vec<Arc<dyn Waitable>>) -> Self {
        entities.push(Arc::<crate::runtime::event_loop::EventLoop>::clone(&shared.event_loop));
        Self { shared: Arc::clone(shared), entities, registered: None }
    }

    /// Registers the task to be woken when an entity becomes ready. The caller checks the entities afterwards.
    pub(crate) fn register(&mut self, task: &Context<'_>) {
        self.shared.event_loop.ensure_background_poll();
        if self.registered.as_ref().is_some_and(|registered| registered.task.will_wake(task.waker())) {
            return;
        }
        self.unregister();
        let task = task.waker().clone();
        let wrapped = TaskWaker::wrap(task.clone());
        self.entities.iter().for_each(|entity| entity.listeners().add(&wrapped));
        self.registered = Some(Registered { task, wrapped });
    }

    /// False once the context shuts down.
    pub(crate) fn ok(&self) -> bool {
        self.shared.ok()
    }

    fn unregister(&mut self) {
        if let Some(Registered { wrapped, .. }) = self.registered.take() {
            self.entities.iter().for_each(|entity| entity.listeners().remove(&wrapped));
        }
    }
}

impl Drop for TaskWaiter {
    fn drop(&mut self) {
        self.unregister();
    }
}
