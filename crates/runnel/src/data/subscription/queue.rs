//! What waits for the callback of a subscription.

use std::collections::VecDeque;
use std::mem;
use std::sync::Arc;

use runnel_core::time::Instant;
use runnel_io::clock;

use super::link_info::LinkInfo;
use super::spares::Spares;
use crate::data::kept::Kept;
use crate::data::received::{Received, SharedMessage};
use crate::frame::QueueBound;
use crate::sync::Mutex;

/// One message that waits.
pub(super) enum Item {
    Bytes {
        bytes: Received,
        from: Arc<LinkInfo>,
    },
    Shared(SharedMessage),
    /// One that is for nobody any more from then on.
    Expiring {
        until: Instant,
        item: Box<Item>,
    },
}

/// What waits for a callback.
#[derive(Default)]
pub(crate) struct Queue {
    waiting: VecDeque<Item>,
    /// Bytes of those.
    bytes: usize,
    spares: Spares,
    /// The subscription stands in the ready queue, or its callback runs.
    scheduled: bool,
    ended: bool,
}

impl Item {
    /// A message of a link that has come now. As its publisher's clock may be another, its life is counted from here on.
    pub(super) fn of(from: &Arc<LinkInfo>, bytes: Received) -> Self {
        let until = from.lifespan.map(|lifespan| clock::monotonic() + lifespan);
        Self::Bytes { bytes, from: Arc::clone(from) }.until(until)
    }

    /// Bytes that it takes in the queue; what is shared is the publisher's.
    fn bytes(&self) -> usize {
        match self {
            Self::Bytes { bytes, .. } => bytes.bytes().len(),
            Self::Shared(_) => 0,
            Self::Expiring { item, .. } => item.bytes(),
        }
    }

    /// One that is for nobody any more from then on, if it has an end.
    pub(super) fn until(self, until: Option<Instant>) -> Self {
        match until {
            Some(until) => Self::Expiring { until, item: Box::new(self) },
            None => self,
        }
    }

    /// True if it is for nobody any more.
    pub(super) fn has_expired(&self) -> bool {
        matches!(self, Self::Expiring { until, .. } if *until <= clock::monotonic())
    }

    /// The message for whoever takes it, unless it has expired or is shared.
    pub(super) fn into_kept(self, queue: &Arc<Mutex<Queue>>) -> Option<Kept> {
        let has_expired = self.has_expired();
        match self {
            Self::Bytes { mut bytes, from } => Some(Kept::take(&mut bytes, &from, queue)),
            Self::Expiring { item, .. } if !has_expired => item.into_kept(queue),
            Self::Shared(_) | Self::Expiring { .. } => None,
        }
    }

    /// The buffer that it lies in, if that is the subscription's.
    pub(super) fn into_spare(self) -> Option<Vec<u8>> {
        match self {
            Self::Bytes { bytes: Received::Own(bytes), .. } => Some(bytes),
            Self::Expiring { item, .. } => item.into_spare(),
            _ => None,
        }
    }
}

impl Queue {
    /// True once the user has dropped the subscription: what comes is for nobody.
    pub(super) fn has_ended(&self) -> bool {
        self.ended
    }

    /// Takes nothing more, and gives back what waited.
    pub(super) fn end(&mut self) -> VecDeque<Item> {
        self.ended = true;
        self.bytes = 0;
        mem::take(&mut self.waiting)
    }

    /// How many messages wait.
    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// How many bytes wait.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// True if `item` as one more is too much. One is always held, however long.
    pub(super) fn is_full_for(&self, item: &Item, bound: QueueBound) -> bool {
        let waiting = self.waiting.len();
        waiting > 0 && (waiting >= bound.messages || self.bytes + item.bytes() > bound.bytes)
    }

    /// Has one more message wait. True if the subscription is to stand in line for that.
    pub(super) fn put(&mut self, item: Item) -> bool {
        self.bytes += item.bytes();
        self.waiting.push_back(item);
        !mem::replace(&mut self.scheduled, true)
    }

    /// The next message, and whether more wait behind it.
    pub(super) fn take(&mut self) -> (Option<Item>, bool) {
        let item = self.waiting.pop_front();
        self.bytes -= item.as_ref().map_or(0, Item::bytes);
        if self.waiting.is_empty() {
            // The next one goes to the same place again, which is at hand.
            self.waiting.clear();
        }
        (item, !self.waiting.is_empty())
    }

    /// Makes room; a shared message is given back.
    pub(super) fn drop_oldest(&mut self) -> Option<SharedMessage> {
        let mut oldest = self.take().0?;
        while let Item::Expiring { item, .. } = oldest {
            oldest = *item;
        }
        match oldest {
            Item::Shared(message) => Some(message),
            other => {
                other.into_spare().into_iter().for_each(|spare| self.spares.keep(spare));
                None
            }
        }
    }

    /// A callback has ended. True if the subscription is to stand in line again.
    pub(super) fn rest(&mut self) -> bool {
        self.scheduled = !self.waiting.is_empty();
        self.scheduled
    }

    /// A buffer to write a message into, whatever it holds.
    pub(super) fn spare(&mut self) -> Vec<u8> {
        self.spares.take()
    }

    /// The same for a message of so many bytes.
    pub(super) fn spare_for(&mut self, len: usize) -> Vec<u8> {
        self.spares.take_for(len)
    }

    /// Has a buffer used again.
    pub(in crate::data) fn give_back(&mut self, spare: Vec<u8>) {
        self.spares.keep(spare);
    }
}
