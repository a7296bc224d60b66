//! Room for messages that reliable publishers hold back until there is some: they wait for a subscription that keeps all.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use super::{Queue, SubscriptionCore};
use crate::rtps::Rtps;
use crate::sync::lock;

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

    /// How many messages more may wait.
    pub(crate) fn room(&self) -> usize {
        self.options.bound.messages.saturating_sub(lock(&self.queue).len())
    }

    /// It is told when there is room for what a reader holds back.
    pub(crate) fn takes_from(&self, rtps: &Arc<Rtps>) {
        drop(self.room.rtps.set(Arc::clone(rtps)));
    }

    /// Its reader has given what there was room for: how many messages more it may give now, if any. If not, it is asked
    /// for when there is room again.
    pub(crate) fn starve(&self) -> Option<usize> {
        let queue = lock(&self.queue);
        let room = self.options.bound.messages.saturating_sub(queue.len());
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
        queue.len() <= self.options.bound.messages / 2
    }
}
