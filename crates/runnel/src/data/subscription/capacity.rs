//! Capacity for messages of reliable publishers, which wait while a keep-all subscription is full.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use super::{Queue, SubscriptionCore};
use crate::frame::QueueBound;
use crate::rtps::Rtps;
use crate::sync::lock;

/// Multiple of the queue limit that may wait beyond it.
const PROMISED_FACTOR: usize = 15;

/// Requests more messages when there is capacity again.
#[derive(Default)]
pub(super) struct Capacity {
    rtps: OnceLock<Arc<Rtps>>,
    /// Its RTPS reader waits for capacity.
    starved: AtomicBool,
}

impl SubscriptionCore {
    /// True if keep-all publishers must wait while the queue is full.
    pub(crate) fn keeps_all(&self) -> bool {
        self.options.keeps_all
    }

    /// True if a keep-all publisher must wait.
    pub(crate) fn is_full(&self) -> bool {
        self.keeps_all() && self.capacity() == 0
    }

    /// How many more messages fit: none if the queue has used half of its bytes, since the length of the next messages
    /// is unknown.
    pub(crate) fn capacity(&self) -> usize {
        self.capacity_in(&lock(&self.queue))
    }

    fn capacity_in(&self, queue: &Queue) -> usize {
        let bound = self.options.bound;
        if queue.bytes() > bound.bytes / 2 { 0 } else { bound.messages.saturating_sub(queue.len()) }
    }

    /// The queue limit at which the oldest message is dropped. Publishers of other processes that were promised
    /// capacity find it, even if publishers of this process have used it, or if they have ended and everything they
    /// sent must be delivered. A ROS 1 link does not wait for capacity, and may deliver many messages at once that
    /// RTPS had not delivered.
    pub(super) fn queue_limit(&self) -> QueueBound {
        let QueueBound { messages, bytes } = self.options.bound;
        let promised =
            if self.capacity.rtps.get().is_some() { messages.saturating_mul(PROMISED_FACTOR) } else { 0 };
        QueueBound { messages: messages.saturating_add(promised), bytes }
    }

    /// Sets the participant that is notified when there is capacity for messages that a reader holds back.
    pub(crate) fn set_rtps(&self, rtps: &Arc<Rtps>) {
        drop(self.capacity.rtps.set(Arc::clone(rtps)));
    }

    /// Its reader has delivered as many messages as there was capacity for. Returns how many more it may deliver now.
    /// If none, more are requested when there is capacity again.
    pub(crate) fn capacity_or_starve(&self) -> Option<usize> {
        let queue = lock(&self.queue);
        let capacity = self.capacity_in(&queue);
        let starved = !self.has_enough_capacity(&queue);
        self.capacity.starved.store(starved, Ordering::Relaxed);
        (!starved).then_some(capacity)
    }

    /// Records that a message was taken out of the queue.
    pub(super) fn on_message_taken(&self, queue: &Queue) {
        if self.capacity.starved.load(Ordering::Relaxed) && self.has_enough_capacity(queue) {
            self.capacity.starved.store(false, Ordering::Relaxed);
            self.capacity.rtps.get().into_iter().for_each(|rtps| rtps.request_more());
        }
    }

    /// True if at least half of the capacity is free, so that it pays to request more.
    fn has_enough_capacity(&self, queue: &Queue) -> bool {
        let bound = self.options.bound;
        queue.len() <= bound.messages / 2 && queue.bytes() <= bound.bytes / 4
    }
}

#[cfg(test)]
mod tests {
    use super::super::{LinkInfo, SubscriptionSpec};
    use super::*;
    use crate::data::SampleInfo;
    use crate::data::qos_events::QosEvents;
    use crate::data::received::Received;
    use crate::ready::{Dispatch, NodeQueue, ReadyQueue};
    use runnel_io::Reactor;

    #[test]
    fn capacity_is_limited_by_count_and_bytes() {
        let (topic, type_name, md5) = ("/data".into(), "a/B".into(), "1".into());
        let bound = QueueBound { messages: 10, bytes: 1000 };
        let core = SubscriptionCore::new(
            SubscriptionSpec {
                topic,
                type_name,
                md5,
                type_hash: String::new(),
                bound,
                deadline: None,
                wants_info: false,
                keeps_all: true,
                takes: None,
                fixed_len: None,
            },
            Dispatch::Executor(NodeQueue::new(Arc::new(ReadyQueue::new(
                Reactor::new().unwrap().waker().clone(),
            )))),
            QosEvents::default(),
            |_| Ok(()),
        );
        let from = Arc::new(LinkInfo::default());
        for (length, capacity) in [(10, Some(9)), (300, None), (300, None)] {
            core.push_bytes(Received::Own(vec![0; length]), &from, SampleInfo::default());
            assert_eq!(core.capacity_or_starve(), capacity, "after {length} bytes more");
        }
        assert!(core.is_full());
        assert_eq!(core.dropped(), 0);
    }
}
