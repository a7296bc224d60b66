//! Taking messages from a subscription: for its callback, or in place of it.

use std::sync::Arc;

use super::queue::{Entry, Item};
use super::{Callback, Delivery, LinkInfo, Queue, SubscriptionCore, Unreadable};
use crate::callback_group::Entered;
use crate::data::SampleInfo;
use crate::data::kept::Kept;
use crate::data::received::SharedMessage;
use crate::ready::{Dispatch, Listeners, Task, Waitable};
use crate::sync::{MutexGuard, TryMutexGuard, lock};

/// A message taken in place of the callback.
pub(crate) enum Taken {
    Bytes(Kept),
    /// By reference from a publisher of this process, with its publisher and metadata if the subscription requests
    /// these.
    Shared(SharedMessage, Option<(Arc<LinkInfo>, SampleInfo)>),
}

impl SubscriptionCore {
    /// Takes the oldest message, which may have expired, and returns whether more wait behind it. The buffer of
    /// `before` returns to the pool.
    fn take_next(&self, before: Option<Entry>) -> (Option<Entry>, bool) {
        let mut queue = self.queue_after(before);
        let taken = queue.take();
        self.on_message_taken(&queue);
        taken
    }

    /// Locks the queue, and returns the buffer of a finished message to the pool.
    fn queue_after(&self, done: Option<Entry>) -> MutexGuard<'_, Queue> {
        // A shared message is dropped here and not under the lock, see `end`.
        let spare = done.and_then(Entry::into_spare);
        let mut queue = lock(&self.queue);
        if let Some(spare) = spare {
            queue.recycle(spare);
        }
        queue
    }

    /// Takes the oldest message in place of the callback, which leaves the ready queue if no other waits. `None` if
    /// none waits. A caller that takes where the callback may run as well enters its group first, so that messages are
    /// handled in order.
    pub(crate) fn take(&self) -> Option<Taken> {
        let mut expired = None;
        loop {
            let entry = self.take_in_place(expired)?;
            if !entry.has_expired() {
                return Some(Taken::new(entry, self));
            }
            expired = Some(entry);
        }
    }

    /// Takes the oldest message, which may have expired. For the last one, the callback leaves the ready queue. A
    /// message that comes once the queue is unlocked schedules it again.
    fn take_in_place(&self, before: Option<Entry>) -> Option<Entry> {
        let mut queue = self.queue_after(before);
        let (entry, more) = queue.take();
        self.on_message_taken(&queue);
        if !more && self.scheduler.unqueue() {
            queue.finish_callback();
        }
        entry
    }

    /// Counts a taken message that cannot be read.
    pub(crate) fn refuse(&self, message: &Kept, error: impl Into<Unreadable>) {
        self.note_malformed(message.from(), &error.into());
    }

    /// Finishes a callback: returns the message's buffer to the pool, and enters the ready queue again if more
    /// messages wait.
    fn done(&self, entry: Option<Entry>) {
        let again = self.queue_after(entry).finish_callback();
        if again {
            self.scheduler.push();
        }
    }
}

impl Taken {
    fn new(entry: Entry, core: &SubscriptionCore) -> Self {
        let Entry { item, info, .. } = entry;
        match item {
            Item::Bytes { mut bytes, from } => {
                Self::Bytes(Kept::take(&mut bytes, (&from, info), &core.queue))
            }
            Item::Shared { message, from } => Self::Shared(message, from.map(|from| (from, info))),
        }
    }
}

impl Waitable for SubscriptionCore {
    fn is_ready(&self) -> bool {
        lock(&self.queue).len() > 0
    }

    fn listeners(&self) -> &Listeners {
        self.scheduler.listeners()
    }
}

impl Task for SubscriptionCore {
    fn run(&self) {
        self.run_batch(&|| false);
    }

    fn run_batch(&self, may_continue: &dyn Fn() -> bool) {
        let Some(entered) = self.scheduler.enter("the callback of a subscription") else { return };
        // Only a thread in the group uses it.
        let (callback, entered) = (self.callback.try_lock(), Some(entered));
        let mut running = Running { core: self, callback, entered, entry: None, more: false };
        running.run_next();
        while running.more && !self.scheduler.is_awaited() && may_continue() {
            running.run_next();
        }
    }

    fn dispatch(&self) -> Option<&Dispatch> {
        Some(self.scheduler.dispatch())
    }
}

/// A running callback. When it ends, also by a panic, the subscription is scheduled for the next message.
struct Running<'a> {
    core: &'a SubscriptionCore,
    callback: Option<TryMutexGuard<'a, Callback>>,
    entered: Option<Entered<'a>>,
    entry: Option<Entry>,
    /// More messages waited when this one was taken.
    more: bool,
}

impl Running<'_> {
    /// Finishes the previous message, takes the next one and calls the callback.
    fn run_next(&mut self) {
        (self.entry, self.more) = self.core.take_next(self.entry.take());
        let (Some(callback), Some(entry)) = (&mut self.callback, &mut self.entry) else { return };
        if entry.has_expired() {
            return;
        }
        let info = entry.info;
        match &mut entry.item {
            Item::Bytes { bytes, from } => {
                if let Err(error) = callback(Delivery::Bytes { bytes, from, info, queue: &self.core.queue }) {
                    self.core.note_malformed(from, &error);
                }
            }
            // A shared message was never serialized.
            Item::Shared { message, from } => {
                let info = from.as_ref().map(|from| (from, info));
                drop(callback(Delivery::Shared { message: &**message, info }));
            }
        }
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        // The group is released before the next message is scheduled.
        (self.callback, self.entered) = (None, None);
        self.core.done(self.entry.take());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::{Wake, Waker};
    use std::time::Duration;

    use runnel_core::wire::DecodeErrorKind;

    use super::*;
    use crate::callback_group::ExclusiveGroup;
    use crate::data::received::Received;
    use crate::data::subscription::SubscriptionSpec;
    use crate::data::{Delivery, QosEvents};
    use crate::frame::QueueBound;
    use crate::ready::{NodeQueue, ReadyQueue};

    struct Scene {
        ready: Arc<ReadyQueue>,
        group: Arc<ExclusiveGroup>,
        core: Arc<SubscriptionCore>,
        called: Arc<AtomicUsize>,
        from: Arc<LinkInfo>,
    }

    impl Scene {
        fn new() -> Self {
            let reactor = runnel_io::Reactor::new().unwrap();
            let ready = Arc::new(ReadyQueue::new(reactor.waker().clone()));
            let (group, called) = (Arc::new(ExclusiveGroup::new()), Arc::new(AtomicUsize::new(0)));
            let spec = SubscriptionSpec {
                bound: QueueBound { messages: 10, bytes: 1000 },
                deadline: None,
                wants_info: false,
                keeps_all: false,
                topic: "/test".into(),
                type_name: "*".into(),
                md5: "*".into(),
                type_hash: String::new(),
                takes: None,
                fixed_len: None,
            };
            let (dispatch, counted) =
                (Dispatch::Executor(NodeQueue::new(Arc::clone(&ready))), Arc::clone(&called));
            let core = SubscriptionCore::in_group(
                spec,
                (dispatch, &group),
                QosEvents::default(),
                move |_: Delivery<'_>| {
                    counted.fetch_add(1, Ordering::Relaxed);
                    Ok(())
                },
            );
            Self { ready, group, core, called, from: Arc::default() }
        }

        fn push(&self, byte: u8) {
            self.core.push_bytes(Received::Own(vec![byte]), &self.from, SampleInfo::default());
        }

        fn run_due(&self) -> usize {
            while let Some(due) = self.ready.pop() {
                due.run();
            }
            self.called.load(Ordering::Relaxed)
        }

        fn take(&self) -> Option<Vec<u8>> {
            match self.core.take()? {
                Taken::Bytes(message) => Some(message.bytes().to_vec()),
                Taken::Shared(..) => None,
            }
        }
    }

    #[test]
    fn messages_are_taken_in_order_until_none_waits() {
        let scene = Scene::new();
        assert!(!scene.core.is_ready() && scene.take().is_none());
        [1, 2].into_iter().for_each(|byte| scene.push(byte));
        assert!(scene.core.is_ready());
        assert_eq!([scene.take(), scene.take(), scene.take()], [Some(vec![1]), Some(vec![2]), None]);
        assert!(!scene.core.is_ready());
    }

    #[test]
    fn callback_gets_messages_that_were_not_taken() {
        let scene = Scene::new();
        [1, 2].into_iter().for_each(|byte| scene.push(byte));
        assert_eq!(scene.take(), Some(vec![1]));
        assert_eq!((scene.ready.len(), scene.run_due()), (1, 1));
        scene.push(3);
        assert_eq!(scene.run_due(), 2);
    }

    #[test]
    fn subscription_is_due_after_earlier_messages_were_taken() {
        let scene = Scene::new();
        scene.push(1);
        assert_eq!(scene.take(), Some(vec![1]));
        assert_eq!((scene.ready.len(), scene.run_due()), (0, 0));
        scene.push(2);
        assert_eq!((scene.ready.len(), scene.run_due()), (1, 1));
    }

    /// A waiter that counts how often it is woken.
    #[derive(Default)]
    struct Woken(AtomicUsize);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The callback is about to run on another thread, which waits for its group. A thread that waits to take a
    /// message in its place is notified of the next message nevertheless.
    #[test]
    fn first_message_wakes_waiters_of_scheduled_subscription() {
        let (scene, woken) = (Scene::new(), Arc::new(Woken::default()));
        scene.push(1);
        let callback = scene.ready.pop().unwrap();
        assert_eq!(scene.take(), Some(vec![1]));
        scene.core.listeners().add(&Waker::from(Arc::clone(&woken)));
        [2, 3].into_iter().for_each(|byte| scene.push(byte));
        assert_eq!(woken.0.load(Ordering::Relaxed), 1, "for the first of two that wait");
        assert_eq!([scene.take(), scene.take()], [Some(vec![2]), Some(vec![3])]);
        callback.run();
        assert_eq!(scene.called.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn expired_message_is_not_taken() {
        let scene = Scene::new();
        let from = Arc::new(LinkInfo { lifespan: Some(Duration::ZERO), ..LinkInfo::default() });
        scene.core.push_bytes(Received::Own(vec![1]), &from, SampleInfo::default());
        scene.push(2);
        assert_eq!([scene.take(), scene.take()], [Some(vec![2]), None]);
    }

    #[test]
    fn unreadable_taken_message_counts_as_malformed() {
        let scene = Scene::new();
        scene.push(1);
        let Some(Taken::Bytes(message)) = scene.core.take() else { panic!("none waits") };
        scene.core.refuse(&message, runnel_core::wire::DecodeError::from(DecodeErrorKind::NotUtf8));
        assert_eq!(scene.core.malformed(), 1);
    }

    /// Another subscription of the scene's group, for which a message waits, and the number of its calls.
    fn other_of_group(scene: &Scene) -> (Arc<SubscriptionCore>, Arc<AtomicUsize>) {
        let called = Arc::new(AtomicUsize::new(0));
        let spec = SubscriptionSpec {
            bound: QueueBound { messages: 10, bytes: 1000 },
            ..scene.core.options.clone()
        };
        let (dispatch, counted) =
            (Dispatch::Executor(NodeQueue::new(Arc::clone(&scene.ready))), Arc::clone(&called));
        let other = SubscriptionCore::in_group(
            spec,
            (dispatch, &scene.group),
            QosEvents::default(),
            move |_: Delivery<'_>| {
                counted.fetch_add(1, Ordering::Relaxed);
                Ok(())
            },
        );
        other.push_bytes(Received::Own(vec![1]), &scene.from, SampleInfo::default());
        (other, called)
    }

    #[test]
    fn busy_subscription_yields_to_its_group() {
        let scene = Scene::new();
        [1, 2, 3].into_iter().for_each(|byte| scene.push(byte));
        let busy = scene.ready.pop().unwrap();
        let (_other, called) = other_of_group(&scene);
        let other = scene.ready.pop().unwrap();
        // As by another thread, while the first callback runs.
        busy.run_batch(&|| {
            other.run();
            true
        });
        assert_eq!((scene.called.load(Ordering::Relaxed), called.load(Ordering::Relaxed)), (2, 0));
        scene.ready.pop().unwrap().run();
        assert_eq!(called.load(Ordering::Relaxed), 1, "before the third message");
    }

    #[test]
    fn callback_waits_for_others_of_its_group() {
        let scene = Scene::new();
        let (_other, called) = other_of_group(&scene);
        let entered = scene.group.try_enter().ok().unwrap();
        assert_eq!((scene.run_due(), called.load(Ordering::Relaxed)), (0, 0));
        drop(entered);
        scene.run_due();
        assert_eq!(called.load(Ordering::Relaxed), 1);
    }
}
