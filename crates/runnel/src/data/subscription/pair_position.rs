//! Position of RTPS, or shared memory in its place, in the messages of a writer for a subscription that a ROS 1 link
//! can serve instead.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// See the module's documentation. Only the driver writes it.
#[derive(Debug, Default)]
pub(crate) struct PairPosition {
    served_by_link: AtomicBool,
    /// RTPS keeps the samples that it has of the pair.
    is_paused: AtomicBool,
    /// The number after the last message that was given.
    next: AtomicU64,
    /// No message before this number is due: the link or shared memory has delivered it.
    passed: AtomicU64,
}

impl PairPosition {
    /// Whether a ROS 1 link of the same node serves the subscription instead.
    #[inline]
    pub(crate) fn is_served_by_link(&self) -> bool {
        self.served_by_link.load(Ordering::Relaxed)
    }

    pub(crate) fn set_served_by_link(&self, is_served: bool) {
        self.served_by_link.store(is_served, Ordering::Relaxed);
    }

    /// RTPS keeps the samples that it has of the pair, or no longer does. Whether that is news to it.
    pub(crate) fn set_paused(&self, is_paused: bool) -> bool {
        self.is_paused.swap(is_paused, Ordering::Relaxed) != is_paused
    }

    /// Whether the subscription is to get the message of this number.
    #[inline]
    pub(crate) fn takes(&self, number: u64) -> bool {
        !self.is_served_by_link() && number >= self.passed.load(Ordering::Relaxed)
    }

    /// Like [`takes`](Self::takes), and marks the message as delivered.
    #[inline]
    pub(crate) fn take(&self, number: u64) -> bool {
        let takes = self.takes(number);
        // Lost messages behind it may have been counted before.
        if takes && number >= self.next() {
            self.next.store(number.saturating_add(1), Ordering::Relaxed);
        }
        takes
    }

    /// Counts lost messages behind the last one.
    pub(crate) fn lose(&self, count: u64) {
        let next = self.next();
        if next > 0 {
            self.next.store(next.saturating_add(count), Ordering::Relaxed);
        }
    }

    /// Marks all messages before this number as delivered by the link or by shared memory.
    pub(crate) fn pass(&self, number: u64) {
        self.passed.fetch_max(number, Ordering::Relaxed);
        self.next.fetch_max(number, Ordering::Relaxed);
    }

    /// The number after the last message that was delivered or lost; 0 if there is none.
    pub(crate) fn next(&self) -> u64 {
        self.next.load(Ordering::Relaxed)
    }
}
