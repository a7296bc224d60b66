//! Send queue: messages of one subscriber that no path has taken yet.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

/// Policy for queued messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum QueuePolicy {
    /// Keep-last: beyond the depth the oldest is dropped.
    KeepLast {
        /// Maximum number of messages, at least 1.
        depth: usize,
    },
    /// Keep-all: beyond the limit a message is refused, so that its publisher waits.
    KeepAll {
        /// Maximum number of messages, at least 1.
        limit: usize,
    },
    /// Best effort: as keep-last, but no message waits for a path or is sent twice.
    BestEffort {
        /// Maximum number of messages, at least 1.
        depth: usize,
    },
}

impl QueuePolicy {
    fn depth(self) -> usize {
        let (Self::KeepLast { depth } | Self::KeepAll { limit: depth } | Self::BestEffort { depth }) = self;
        depth.max(1)
    }
}

/// A message, its number and its size in bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Numbered<M> {
    /// Number in the stream.
    pub number: u64,
    /// Size that counts against limits.
    pub bytes: usize,
    /// The message, or a handle to it.
    pub message: M,
}

/// Queue of one subscriber.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SendQueue<M> {
    policy: QueuePolicy,
    /// Maximum bytes; a single message may have more.
    max_bytes: usize,
    messages: VecDeque<Numbered<M>>,
    bytes: usize,
    dropped: u64,
}

impl<M> SendQueue<M> {
    pub(crate) fn new(policy: QueuePolicy, max_bytes: usize) -> Self {
        Self { policy, max_bytes, messages: VecDeque::new(), bytes: 0, dropped: 0 }
    }

    pub(crate) fn policy(&self) -> QueuePolicy {
        self.policy
    }

    pub(crate) fn set_policy(&mut self, policy: QueuePolicy, max_bytes: usize) {
        self.policy = policy;
        self.max_bytes = max_bytes;
    }

    pub(crate) fn len(&self) -> usize {
        self.messages.len()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn dropped(&self) -> u64 {
        self.dropped
    }

    pub(crate) fn front(&self) -> Option<&Numbered<M>> {
        self.messages.front()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Numbered<M>> {
        self.messages.iter()
    }

    /// Returns whether one more message of this size exceeds the depth or the bytes.
    fn is_full(&self, bytes: usize) -> bool {
        self.messages.len() >= self.policy.depth() || self.is_beyond_bytes(bytes)
    }

    fn is_beyond_bytes(&self, bytes: usize) -> bool {
        !self.messages.is_empty() && self.bytes.saturating_add(bytes) > self.max_bytes
    }

    /// Returns whether a message of this size is refused.
    pub(crate) fn is_refused(&self, bytes: usize) -> bool {
        matches!(self.policy, QueuePolicy::KeepAll { .. }) && self.is_full(bytes)
    }

    /// Appends a message; returns how many were dropped. Call it only if [`is_refused`](Self::is_refused) is false.
    pub(crate) fn push(&mut self, message: Numbered<M>) -> u64 {
        let before = self.dropped;
        if self.is_full(message.bytes) {
            self.make_space(message.bytes);
        }
        self.bytes = self.bytes.saturating_add(message.bytes);
        self.messages.push_back(message);
        self.dropped - before
    }

    /// Drops the oldest messages. Messages that a dead path returned may exceed the depth; each push removes one of
    /// that excess, so that the cost is spread.
    fn make_space(&mut self, bytes: usize) {
        let excess = self.messages.len().saturating_sub(self.policy.depth() - 1);
        for _ in 0..excess.min(2) {
            self.drop_oldest();
        }
        while self.is_beyond_bytes(bytes) {
            self.drop_oldest();
        }
    }

    fn drop_oldest(&mut self) {
        if self.pop().is_some() {
            self.dropped += 1;
        }
    }

    /// Puts back the first message, which a path did not take.
    pub(crate) fn push_front(&mut self, message: Numbered<M>) {
        self.bytes = self.bytes.saturating_add(message.bytes);
        self.messages.push_front(message);
    }

    pub(crate) fn pop(&mut self) -> Option<Numbered<M>> {
        let first = self.messages.pop_front()?;
        self.bytes = self.bytes.saturating_sub(first.bytes);
        Some(first)
    }

    /// Removes messages before this number, which the subscriber has.
    pub(crate) fn forget_before(&mut self, number: u64) {
        while self.front().is_some_and(|first| first.number < number) {
            self.pop();
        }
    }

    /// Drops messages before this number.
    pub(crate) fn drop_before(&mut self, number: u64) {
        while self.front().is_some_and(|first| first.number < number) {
            self.drop_oldest();
        }
    }

    /// Counts messages as dropped that are not in the queue.
    pub(crate) fn count_dropped(&mut self, count: u64) {
        self.dropped = self.dropped.saturating_add(count);
    }

    /// Puts back messages that a dead path did not deliver. They may exceed the depth, by no more than the path held.
    pub(crate) fn put_back(&mut self, mut returned: Vec<Numbered<M>>) {
        returned.extend(self.messages.drain(..));
        returned.sort_by_key(|message| message.number);
        returned.dedup_by_key(|message| message.number);
        self.bytes = returned.iter().fold(0, |sum, message| sum.saturating_add(message.bytes));
        self.messages = returned.into();
    }

    /// Returns the messages, in order.
    pub(crate) fn into_messages(self) -> Vec<Numbered<M>> {
        self.messages.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(number: u64, bytes: usize) -> Numbered<()> {
        Numbered { number, bytes, message: () }
    }

    fn queue(policy: QueuePolicy, max_bytes: usize, count: u64) -> SendQueue<()> {
        let mut queue = SendQueue::new(policy, max_bytes);
        (1..=count).for_each(|number| {
            queue.push(message(number, 10));
        });
        queue
    }

    fn numbers(queue: &SendQueue<()>) -> Vec<u64> {
        queue.iter().map(|message| message.number).collect()
    }

    #[test]
    fn keep_last_drops_and_counts_the_oldest() {
        let queue = queue(QueuePolicy::KeepLast { depth: 2 }, usize::MAX, 5);
        assert_eq!((numbers(&queue), queue.dropped(), queue.bytes()), (vec![4, 5], 3, 20));
    }

    #[test]
    fn keep_all_refuses_beyond_its_limit() {
        let queue = queue(QueuePolicy::KeepAll { limit: 2 }, usize::MAX, 2);
        assert!(queue.is_refused(0));
    }

    #[test]
    fn byte_limit_admits_one_long_message() {
        let mut last = queue(QueuePolicy::KeepLast { depth: 9 }, 25, 4);
        assert_eq!((numbers(&last), last.dropped()), (vec![3, 4], 2));
        last.push(message(5, 1000));
        assert_eq!((numbers(&last), last.bytes()), (vec![5], 1000));
        let all = queue(QueuePolicy::KeepAll { limit: 9 }, 25, 2);
        assert!(all.is_refused(10) && !all.is_refused(5));
        assert!(!queue(QueuePolicy::KeepAll { limit: 9 }, 25, 0).is_refused(1000));
    }

    #[test]
    fn excess_of_returned_messages_is_dropped_gradually() {
        let mut queue = queue(QueuePolicy::KeepLast { depth: 1 }, usize::MAX, 4);
        queue.put_back(vec![message(1, 10), message(2, 10), message(3, 10), message(4, 10)]);
        assert_eq!((numbers(&queue), queue.dropped()), (vec![1, 2, 3, 4], 3));
        queue.push(message(5, 10));
        queue.push(message(6, 10));
        assert_eq!(numbers(&queue), [5, 6]);
        queue.push(message(7, 10));
        assert_eq!((numbers(&queue), queue.bytes()), (vec![7], 10));
    }
}
