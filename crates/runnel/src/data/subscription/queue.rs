//! Queue of a subscription: messages that wait for the callback.

use std::collections::VecDeque;
use std::mem;
use std::sync::Arc;

use runnel_core::time::Instant;
use runnel_io::clock;

use super::buffer_pool::BufferPool;
use super::link_info::LinkInfo;
use crate::data::SampleInfo;
use crate::data::received::{Received, SharedMessage};
use crate::frame::QueueBound;

/// A message.
pub(crate) enum Item {
    Bytes {
        bytes: Received,
        from: Arc<LinkInfo>,
    },
    /// With its publisher, if the subscription requests that.
    Shared {
        message: SharedMessage,
        from: Option<Arc<LinkInfo>>,
    },
}

/// A queued message.
pub(super) struct Entry {
    pub(super) item: Item,
    pub(super) info: SampleInfo,
    /// Bytes that it occupies in the queue; a shared message occupies none.
    bytes: usize,
    /// When it expires.
    until: Option<Instant>,
}

/// The messages that wait for a callback.
#[derive(Default)]
pub(crate) struct Queue {
    waiting: VecDeque<Entry>,
    /// Bytes of the waiting messages.
    bytes: usize,
    buffers: BufferPool,
    /// The subscription is in the ready queue, or its callback runs.
    scheduled: bool,
    ended: bool,
}

impl Entry {
    /// A message that expires at `until`.
    pub(super) fn new(item: Item, info: SampleInfo, until: Option<Instant>) -> Self {
        let bytes = match &item {
            Item::Bytes { bytes, .. } => bytes.bytes().len(),
            Item::Shared { .. } => 0,
        };
        Self { item, info, bytes, until }
    }

    /// A message that a link has just received. Its lifespan begins now, since the publisher's clock may differ.
    pub(super) fn of(from: &Arc<LinkInfo>, bytes: Received, info: SampleInfo) -> Self {
        let until = from.lifespan.map(|lifespan| clock::monotonic() + lifespan);
        Self::new(Item::Bytes { bytes, from: Arc::clone(from) }, info, until)
    }

    /// True if it has expired.
    pub(super) fn has_expired(&self) -> bool {
        self.until.is_some_and(|until| until <= clock::monotonic())
    }

    /// Its buffer, if that belongs to the subscription.
    pub(super) fn into_spare(self) -> Option<Vec<u8>> {
        match self.item {
            Item::Bytes { bytes: Received::Own(bytes), .. } => Some(bytes),
            _ => None,
        }
    }
}

impl Queue {
    /// True once the user has dropped the subscription.
    pub(super) fn has_ended(&self) -> bool {
        self.ended
    }

    /// Refuses further messages, and returns the waiting ones.
    pub(super) fn end(&mut self) -> VecDeque<Entry> {
        self.ended = true;
        self.bytes = 0;
        mem::take(&mut self.waiting)
    }

    /// Number of waiting messages.
    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Bytes of the waiting messages.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// True if `entry` exceeds the limit. An empty queue accepts any message.
    pub(super) fn is_full_for(&self, entry: &Entry, bound: QueueBound) -> bool {
        let waiting = self.waiting.len();
        waiting > 0 && (waiting >= bound.messages || self.bytes + entry.bytes > bound.bytes)
    }

    /// Queues a message. True if the subscription must enter the ready queue.
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
            // The next message uses the same place, which is in the cache.
            self.waiting.clear();
        }
        (Some(entry), !is_last)
    }

    /// Drops the oldest message. A shared message is returned.
    pub(super) fn drop_oldest(&mut self) -> Option<SharedMessage> {
        let (oldest, _) = self.take();
        match oldest?.item {
            Item::Shared { message, .. } => Some(message),
            Item::Bytes { bytes: Received::Own(spare), .. } => {
                self.buffers.keep(spare);
                None
            }
            Item::Bytes { .. } => None,
        }
    }

    /// Records that a callback has ended. True if the subscription must enter the ready queue again.
    pub(super) fn finish_callback(&mut self) -> bool {
        self.scheduled = !self.waiting.is_empty();
        self.scheduled
    }

    /// A buffer for a message, with unspecified content.
    pub(super) fn spare(&mut self) -> Vec<u8> {
        self.buffers.take()
    }

    /// Like [`spare`](Self::spare), for a message of `len` bytes.
    pub(super) fn spare_for(&mut self, len: usize) -> Vec<u8> {
        self.buffers.take_for(len)
    }

    /// Returns a buffer to the pool.
    pub(in crate::data) fn recycle(&mut self, spare: Vec<u8>) {
        self.buffers.keep(spare);
    }
}
