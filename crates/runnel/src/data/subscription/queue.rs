//! What waits for the callback of a subscription.

use std::collections::VecDeque;
use std::mem;
use std::sync::Arc;

use runnel_core::time::Instant;
use runnel_io::clock;

use super::link_info::LinkInfo;
use super::spares::Spares;
use crate::data::SampleInfo;
use crate::data::received::{Received, SharedMessage};
use crate::frame::QueueBound;

/// A message.
pub(crate) enum Item {
    Bytes {
        bytes: Received,
        from: Arc<LinkInfo>,
    },
    /// With its publisher, where the subscription asks for that.
    Shared {
        message: SharedMessage,
        from: Option<Arc<LinkInfo>>,
    },
}

/// One that waits.
pub(super) struct Entry {
    pub(super) item: Item,
    pub(super) info: SampleInfo,
    /// Bytes that it takes in the queue; what is shared is the publisher's.
    bytes: usize,
    /// It is for nobody any more from then on.
    until: Option<Instant>,
}

/// What waits for a callback.
#[derive(Default)]
pub(crate) struct Queue {
    waiting: VecDeque<Entry>,
    /// Bytes of those.
    bytes: usize,
    spares: Spares,
    /// The subscription stands in the ready queue, or its callback runs.
    scheduled: bool,
    ended: bool,
}

impl Entry {
    /// One that is for nobody any more from `until` on, if it has an end.
    pub(super) fn new(item: Item, info: SampleInfo, until: Option<Instant>) -> Self {
        let bytes = match &item {
            Item::Bytes { bytes, .. } => bytes.bytes().len(),
            Item::Shared { .. } => 0,
        };
        Self { item, info, bytes, until }
    }

    /// A message of a link that has come now. As its publisher's clock may be another, its life is counted from here on.
    pub(super) fn of(from: &Arc<LinkInfo>, bytes: Received, info: SampleInfo) -> Self {
        let until = from.lifespan.map(|lifespan| clock::monotonic() + lifespan);
        Self::new(Item::Bytes { bytes, from: Arc::clone(from) }, info, until)
    }

    /// True if it is for nobody any more.
    pub(super) fn has_expired(&self) -> bool {
        self.until.is_some_and(|until| until <= clock::monotonic())
    }

    /// The buffer that it lies in, if that is the subscription's.
    pub(super) fn into_spare(self) -> Option<Vec<u8>> {
        match self.item {
            Item::Bytes { bytes: Received::Own(bytes), .. } => Some(bytes),
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
    pub(super) fn end(&mut self) -> VecDeque<Entry> {
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

    /// True if `entry` as one more is too much. One is always held, however long.
    pub(super) fn is_full_for(&self, entry: &Entry, bound: QueueBound) -> bool {
        let waiting = self.waiting.len();
        waiting > 0 && (waiting >= bound.messages || self.bytes + entry.bytes > bound.bytes)
    }

    /// Has one more message wait. True if the subscription is to stand in line for that.
    pub(super) fn put(&mut self, entry: Entry) -> bool {
        self.bytes += entry.bytes;
        self.waiting.push_back(entry);
        !mem::replace(&mut self.scheduled, true)
    }

    /// The next message, and whether more wait behind it.
    pub(super) fn take(&mut self) -> (Option<Entry>, bool) {
        let Some(entry) = self.waiting.pop_front() else { return (None, false) };
        self.bytes -= entry.bytes;
        let is_last = self.waiting.is_empty();
        if is_last {
            // The next one goes to the same place again, which is at hand.
            self.waiting.clear();
        }
        (Some(entry), !is_last)
    }

    /// Makes room; a shared message is given back.
    pub(super) fn drop_oldest(&mut self) -> Option<SharedMessage> {
        let (oldest, _) = self.take();
        match oldest?.item {
            Item::Shared { message, .. } => Some(message),
            Item::Bytes { bytes: Received::Own(spare), .. } => {
                self.spares.keep(spare);
                None
            }
            Item::Bytes { .. } => None,
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
