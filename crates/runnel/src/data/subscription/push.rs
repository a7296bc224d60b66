//! Reception of messages by a subscription.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use runnel_core::time::Instant;
use runnel_core::wire::Bytes;
use runnel_io::clock;
use runnel_ros1::node::LinkStats;

use super::queue::{Entry, Item};
use super::{Deferred, LinkInfo, Queue, SubscriptionCore};
use crate::data::SampleInfo;
use crate::data::received::{Received, SharedMessage};
use crate::frame::Frame;
use crate::sync::{MutexGuard, lock};

impl SubscriptionCore {
    /// Queues a message of a publisher of this process by reference. It expires at `until`.
    pub(in crate::data) fn push_shared(
        &self,
        message: SharedMessage,
        until: Option<Instant>,
        from: &Arc<LinkInfo>,
        deferred: &mut Deferred,
    ) {
        let from = self.options.wants_info.then(|| Arc::clone(from));
        let entry = Entry::new(Item::Shared { message, from }, self.published_now(), until);
        self.push(lock(&self.queue), entry, None, deferred);
    }

    /// Queues a copy of a message. Without memory for it, the message is lost.
    pub(crate) fn push_copy(&self, bytes: Bytes<'_>, from: &Arc<LinkInfo>, info: SampleInfo) {
        let mut copy = self.spare();
        copy.clear();
        if bytes.append_to(&mut copy).is_err() {
            return self.lose(1);
        }
        self.push_bytes(Received::Own(copy), from, info);
    }

    /// Queues a message that a publisher of this process has just written. It expires at `until`.
    pub(in crate::data) fn push_frame(
        &self,
        frame: &Frame,
        until: Option<Instant>,
        from: &Arc<LinkInfo>,
        deferred: &mut Deferred,
    ) {
        self.push_frame_of(frame, until, (from, self.published_now()), deferred);
    }

    /// Queues a message that the publisher kept for late joiners.
    pub(in crate::data) fn push_kept_frame(
        &self,
        frame: &Frame,
        until: Option<Instant>,
        from: &Arc<LinkInfo>,
        deferred: &mut Deferred,
    ) {
        self.push_frame_of(frame, until, (from, SampleInfo::default()), deferred);
    }

    fn push_frame_of(
        &self,
        frame: &Frame,
        until: Option<Instant>,
        (from, info): (&Arc<LinkInfo>, SampleInfo),
        deferred: &mut Deferred,
    ) {
        let item = Item::Bytes { bytes: Received::Frame(frame.clone()), from: Arc::clone(from) };
        self.push(lock(&self.queue), Entry::new(item, info, until), Some(&from.stats), deferred);
    }

    pub(in crate::data) fn push_bytes(&self, bytes: Received, from: &Arc<LinkInfo>, info: SampleInfo) {
        let (entry, mut deferred) = (Entry::of(from, bytes, info), Deferred::default());
        self.push(lock(&self.queue), entry, Some(&from.stats), &mut deferred);
        deferred.run();
    }

    /// Queues a message of `len` bytes, which `fill` writes into a buffer of unspecified content.
    pub(in crate::data) fn push_filled(
        &self,
        len: usize,
        (from, info): (&Arc<LinkInfo>, SampleInfo),
        fill: impl FnOnce(&mut Vec<u8>),
    ) {
        let mut deferred = Deferred::default();
        let mut queue = lock(&self.queue);
        let mut bytes = queue.spare_for(len);
        fill(&mut bytes);
        let entry = Entry::of(from, Received::Own(bytes), info);
        self.push(queue, entry, Some(&from.stats), &mut deferred);
        deferred.run();
    }

    /// Metadata of a message that a publisher of this process publishes now.
    fn published_now(&self) -> SampleInfo {
        let now = self.options.wants_info.then(clock::realtime);
        SampleInfo { source: now, number: None, received: now }
    }

    fn push(
        &self,
        mut queue: MutexGuard<'_, Queue>,
        mut entry: Entry,
        stats: Option<&LinkStats>,
        deferred: &mut Deferred,
    ) {
        if queue.has_ended() {
            return;
        }
        if self.deadline.is_enabled() {
            self.deadline.record(clock::monotonic());
        }
        if self.options.wants_info {
            entry.info.received.get_or_insert_with(clock::realtime);
        }
        // Only written under this lock.
        self.received.store(self.received.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        while queue.is_full_for(&entry, self.queue_limit()) {
            self.dropped.fetch_add(1, Ordering::Relaxed);
            if let Some(stats) = stats {
                stats.count_dropped(1);
            }
            deferred.ended.extend(queue.drop_oldest());
        }
        let (is_first, is_new_entry) = (queue.len() == 0, queue.put(entry));
        drop(queue);
        if is_new_entry {
            deferred.callbacks.extend(self.scheduler.push_unless_inline());
        } else if is_first {
            // The callback runs, or is about to run on a thread that may first wait for its group.
            self.scheduler.listeners().notify();
        }
    }
}
