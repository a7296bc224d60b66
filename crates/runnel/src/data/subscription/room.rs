//! Room for messages that reliable publishers hold back until there is some: they wait for a subscription that keeps all.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use super::{Queue, SubscriptionCore};
use crate::frame::QueueBound;
use crate::rtps::Rtps;
use crate::sync::lock;

/// So many times what there is room for may wait beside it.
const BEYOND_ROOM: usize = 15;

/// Who is asked for more when there is room again.
#[derive(Default)]
pub(super) struct Room {
    rtps: OnceLock<Arc<Rtps>>,
    /// Its reader has given what there was room for.
    starved: AtomicBool,
}

impl SubscriptionCore {
    /// True if publishers that keep all are to wait when there is no room.
    pub(crate) fn keeps_all(&self) -> bool {
        self.options.keeps_all
    }

    /// True if a publisher that keeps all is to wait.
    pub(crate) fn is_full(&self) -> bool {
        self.keeps_all() && self.room() == 0
    }

    /// How many messages more may wait: none if what waits takes half of the bytes that it may, since nobody knows how long the
    /// next ones are.
    pub(crate) fn room(&self) -> usize {
        self.room_in(&lock(&self.queue))
    }

    fn room_in(&self, queue: &Queue) -> usize {
        let bound = self.options.bound;
        if queue.bytes() > bound.bytes / 2 { 0 } else { bound.messages.saturating_sub(queue.len()) }
    }

    /// What waits at most before the oldest is dropped. Publishers of other processes that were promised room find it, also if
    /// those of this process have filled it meanwhile, or if they are gone and all that came of them is to be had. A link of ROS 1
    /// does not wait for room, and may bring many at once that RTPS had not delivered.
    pub(super) fn most_waiting(&self) -> QueueBound {
        let QueueBound { messages, bytes } = self.options.bound;
        let promised = if self.room.rtps.get().is_some() { messages.saturating_mul(BEYOND_ROOM) } else { 0 };
        QueueBound { messages: messages.saturating_add(promised), bytes }
    }

    /// It is told when there is room for what a reader holds back.
    pub(crate) fn takes_from(&self, rtps: &Arc<Rtps>) {
        drop(self.room.rtps.set(Arc::clone(rtps)));
    }

    /// Its reader has given what there was room for: how many messages more it may give now, if any. If not, it is asked
    /// for when there is room again.
    pub(crate) fn starve(&self) -> Option<usize> {
        let queue = lock(&self.queue);
        let room = self.room_in(&queue);
        let starved = !self.has_much(&queue);
        self.room.starved.store(starved, Ordering::Relaxed);
        (!starved).then_some(room)
    }

    /// A message has been taken out.
    pub(super) fn make_room(&self, queue: &Queue) {
        if self.room.starved.load(Ordering::Relaxed) && self.has_much(queue) {
            self.room.starved.store(false, Ordering::Relaxed);
            self.room.rtps.get().into_iter().for_each(|rtps| rtps.ask_for_more());
        }
    }

    /// It pays to have more sent: half of what may wait does not.
    fn has_much(&self, queue: &Queue) -> bool {
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
    use crate::ready::{NodeQueue, ReadyQueue, When};
    use runnel_io::Reactor;

    #[test]
    fn what_waits_may_be_many_messages_or_long_ones() {
        let (topic, type_name, md5) = ("/data".into(), "a/B".into(), "1".into());
        let bound = QueueBound { messages: 10, bytes: 1000 };
        let core = SubscriptionCore::new(
            SubscriptionSpec {
                topic,
                type_name,
                md5,
                bound,
                deadline: None,
                wants_info: false,
                keeps_all: true,
                takes: None,
                fixed_len: None,
            },
            When::Spun(NodeQueue::new(Arc::new(ReadyQueue::new(Reactor::new().unwrap().waker().clone())))),
            QosEvents::default(),
            |_| Ok(()),
        );
        let from = Arc::new(LinkInfo::default());
        for (length, room) in [(10, Some(9)), (300, None), (300, None)] {
            core.push_bytes(Received::Own(vec![0; length]), &from, SampleInfo::default());
            assert_eq!(core.starve(), room, "after {length} bytes more");
        }
        assert!(core.is_full());
        assert_eq!(core.dropped(), 0);
    }
}
