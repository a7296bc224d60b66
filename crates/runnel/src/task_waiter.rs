//! Tasks of futures that wait for entities, as threads do with a [wait set](crate::wait_set).
//!
//! A task is woken by the thread that polls when an entity becomes ready: one that spins or waits, or else the background thread.
//! Until then it costs nothing.

use std::sync::Arc;
use std::task::{Context, Wake, Waker};

use crate::ready::Waitable;
use crate::shared::Shared;

/// See the module's documentation. The task waits no longer once this is dropped.
pub(crate) struct TaskWaiter {
    shared: Arc<Shared>,
    entities: Vec<Arc<dyn Waitable>>,
    registered: Option<Registered>,
}

/// A waker of a task, and the one that entities have in its place.
struct Registered {
    task: Waker,
    proxy: Waker,
}

/// Entities tell wakers apart by what they wake. Two futures of one task each have one of these, so that the end of one does not end
/// the wait of the other.
struct Proxy(Waker);

impl Wake for Proxy {
    fn wake(self: Arc<Self>) {
        self.0.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.wake_by_ref();
    }
}

impl TaskWaiter {
    /// A future that waits for these, and for the end of the context.
    pub(crate) fn new(shared: &Arc<Shared>, mut entities: Vec<Arc<dyn Waitable>>) -> Self {
        entities.push(Arc::<crate::turning::Turning>::clone(&shared.turning));
        Self { shared: Arc::clone(shared), entities, registered: None }
    }

    /// Has the task woken when an entity becomes ready. It looks at them after this.
    pub(crate) fn register(&mut self, task: &Context<'_>) {
        self.shared.turning.attend_now();
        if self.registered.as_ref().is_some_and(|registered| registered.task.will_wake(task.waker())) {
            return;
        }
        self.unregister();
        let task = task.waker().clone();
        let proxy = Waker::from(Arc::new(Proxy(task.clone())));
        self.entities.iter().for_each(|entity| entity.listeners().add(&proxy));
        self.registered = Some(Registered { task, proxy });
    }

    /// False once the context shuts down.
    pub(crate) fn ok(&self) -> bool {
        self.shared.ok()
    }

    fn unregister(&mut self) {
        if let Some(Registered { proxy, .. }) = self.registered.take() {
            self.entities.iter().for_each(|entity| entity.listeners().remove(&proxy));
        }
    }
}

impl Drop for TaskWaiter {
    fn drop(&mut self) {
        self.unregister();
    }
}
