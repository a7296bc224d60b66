//! Messages that are taken in place of the callback.

use super::{SubscriptionCore, Unreadable};
use crate::data::kept::Kept;
use crate::sync::lock;

impl SubscriptionCore {
    /// True if a message waits.
    pub(crate) fn is_ready(&self) -> bool {
        lock(&self.queue).len() > 0
    }

    /// Takes the message that has waited longest, as its bytes. `None` if none waits. Who takes where the callback may run as well
    /// enters its group first, so that messages are not handled out of order, and [settles](Self::settle) afterwards.
    pub(crate) fn take(&self) -> Option<Kept> {
        loop {
            let mut queue = lock(&self.queue);
            let (item, _) = queue.take();
            self.make_room(&queue);
            drop(queue);
            // One that has expired, or was never bytes, ends here and not under the lock, see `end`.
            if let Some(message) = item?.into_kept(&self.queue) {
                return Some(message);
            }
        }
    }

    /// Counts a message that was taken and cannot be read.
    pub(crate) fn refuse(&self, message: &Kept, error: impl Into<Unreadable>) {
        self.note_malformed(message.from(), &error.into());
    }

    /// The callback does not stand in line for messages that were taken.
    pub(crate) fn settle(&self) {
        if self.turn.take_back().is_some() {
            self.done(None);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use runnel_core::wire::DecodeErrorKind;

    use super::*;
    use crate::callback_group::CallbackGroup;
    use crate::data::received::Received;
    use crate::data::subscription::{LinkInfo, SubscriptionSpec};
    use crate::data::{Delivery, QosEvents};
    use crate::frame::QueueBound;
    use crate::ready::{ReadyQueue, When};

    struct Scene {
        ready: Arc<ReadyQueue>,
        group: Arc<CallbackGroup>,
        core: Arc<SubscriptionCore>,
        called: Arc<AtomicUsize>,
        from: Arc<LinkInfo>,
    }

    impl Scene {
        fn new() -> Self {
            let reactor = runnel_io::Reactor::new().unwrap();
            let ready = Arc::new(ReadyQueue::new(reactor.waker().clone()));
            let (group, called) = (Arc::new(CallbackGroup::new()), Arc::new(AtomicUsize::new(0)));
            let spec = SubscriptionSpec {
                bound: QueueBound { messages: 10, bytes: 1000 },
                deadline: None,
                keeps_all: false,
                topic: "/test".into(),
                type_name: "*".into(),
                md5: "*".into(),
                takes: None,
                fixed_len: None,
            };
            let (when, counted) = (When::Spun(Arc::clone(&ready)), Arc::clone(&called));
            let core = SubscriptionCore::in_group(
                spec,
                (when, &group),
                QosEvents::default(),
                move |_: Delivery<'_>| {
                    counted.fetch_add(1, Ordering::Relaxed);
                    Ok(())
                },
            );
            Self { ready, group, core, called, from: Arc::default() }
        }

        fn push(&self, byte: u8) {
            self.core.push_bytes(Received::Own(vec![byte]), &self.from);
        }

        fn run_due(&self) -> usize {
            while let Some(due) = self.ready.pop() {
                due.run();
            }
            self.called.load(Ordering::Relaxed)
        }

        fn take(&self) -> Option<Vec<u8>> {
            self.core.take().map(|message| message.bytes().to_vec())
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
    fn callback_gets_what_was_not_taken() {
        let scene = Scene::new();
        [1, 2].into_iter().for_each(|byte| scene.push(byte));
        assert_eq!(scene.take(), Some(vec![1]));
        scene.core.settle();
        assert_eq!((scene.ready.len(), scene.run_due()), (1, 1));
        scene.push(3);
        assert_eq!(scene.run_due(), 2);
    }

    #[test]
    fn nothing_is_due_once_all_was_taken_and_what_comes_later_is() {
        let scene = Scene::new();
        scene.push(1);
        assert_eq!(scene.take(), Some(vec![1]));
        scene.core.settle();
        assert_eq!((scene.ready.len(), scene.run_due()), (0, 0));
        scene.push(2);
        assert_eq!((scene.ready.len(), scene.run_due()), (1, 1));
    }

    #[test]
    fn expired_message_is_not_taken() {
        let scene = Scene::new();
        let from = Arc::new(LinkInfo { lifespan: Some(Duration::ZERO), ..LinkInfo::default() });
        scene.core.push_bytes(Received::Own(vec![1]), &from);
        scene.push(2);
        assert_eq!([scene.take(), scene.take()], [Some(vec![2]), None]);
    }

    #[test]
    fn taken_message_that_cannot_be_read_counts_as_malformed() {
        let scene = Scene::new();
        scene.push(1);
        let message = scene.core.take().unwrap();
        scene.core.refuse(&message, runnel_core::wire::DecodeError::from(DecodeErrorKind::NotUtf8));
        assert_eq!(scene.core.malformed(), 1);
    }

    #[test]
    fn callback_waits_while_another_of_its_group_runs_or_takes() {
        let (scene, called) = (Scene::new(), Arc::new(AtomicUsize::new(0)));
        let spec = SubscriptionSpec {
            bound: QueueBound { messages: 10, bytes: 1000 },
            ..scene.core.options.clone()
        };
        let (when, counted) = (When::Spun(Arc::clone(&scene.ready)), Arc::clone(&called));
        let beside = SubscriptionCore::in_group(
            spec,
            (when, &scene.group),
            QosEvents::default(),
            move |_: Delivery<'_>| {
                counted.fetch_add(1, Ordering::Relaxed);
                Ok(())
            },
        );
        beside.push_bytes(Received::Own(vec![1]), &scene.from);
        let entered = scene.group.try_enter().ok().unwrap();
        assert_eq!((scene.run_due(), called.load(Ordering::Relaxed)), (0, 0));
        drop(entered);
        scene.run_due();
        assert_eq!(called.load(Ordering::Relaxed), 1);
    }
}
