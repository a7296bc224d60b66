//! Pool of receive buffers of a subscription.

use std::cell::Cell;

/// Limit of long buffers in a pool.
const KEPT: usize = 4;

/// Limit of short buffers: as many messages as may arrive before the first callback runs.
const SHORT_KEPT: usize = 256;

/// A buffer longer than this leaves the pool once this many messages in a row were much shorter.
const LONG: usize = 1 << 20;
const MAX_SHORT_MESSAGES: u32 = 64;

/// Longest capacity of a short buffer.
const SHORT: usize = 512;

thread_local! {
    /// A short buffer for the messages of all topics, or an empty one. It stays in the cache, however many topics
    /// there are.
    static THREAD_BUFFER: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// The free buffers of a subscription.
#[derive(Default)]
pub(crate) struct BufferPool {
    short: Vec<Vec<u8>>,
    long: Vec<Vec<u8>>,
    /// Messages in a row that were much shorter than a long buffer.
    short_messages: u32,
}

impl BufferPool {
    /// A free buffer, or an empty one.
    pub(super) fn take(&mut self) -> Vec<u8> {
        self.long.pop().or_else(|| self.short.pop()).unwrap_or_else(take_thread_buffer)
    }

    /// Like [`take`](Self::take), for a message of `len` bytes. A short message gets this thread's buffer.
    pub(super) fn take_for(&mut self, len: usize) -> Vec<u8> {
        if len > SHORT {
            return self.long.pop().unwrap_or_default();
        }
        let thread_buffer = take_thread_buffer();
        if thread_buffer.capacity() > 0 { thread_buffer } else { self.short.pop().unwrap_or_default() }
    }

    /// Puts a buffer back, which still holds the last message.
    pub(super) fn keep(&mut self, spare: Vec<u8>) {
        if spare.capacity() > LONG {
            self.short_messages =
                if spare.len() < spare.capacity() / 4 { self.short_messages + 1 } else { 0 };
            if self.short_messages > MAX_SHORT_MESSAGES {
                return;
            }
        }
        let (spare, kept, most) = match spare.capacity() {
            ..=SHORT => (set_thread_buffer(spare), &mut self.short, SHORT_KEPT),
            _ => (spare, &mut self.long, KEPT),
        };
        if spare.capacity() > 0 && kept.len() < most {
            kept.push(spare);
        }
    }
}

/// This thread's buffer, or an empty one.
fn take_thread_buffer() -> Vec<u8> {
    // Thread-local storage is gone while a thread ends.
    THREAD_BUFFER.try_with(Cell::take).unwrap_or_default()
}

/// Makes this the thread's buffer if it has none. Otherwise returns it.
fn set_thread_buffer(buffer: Vec<u8>) -> Vec<u8> {
    let put = |place: &Cell<Vec<u8>>| {
        let there = place.take();
        let (kept, back) = if there.capacity() > 0 { (there, buffer) } else { (buffer, there) };
        place.set(kept);
        back
    };
    THREAD_BUFFER.try_with(put).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_buffer_is_shared_by_subscriptions_of_thread() {
        let (mut one, mut other) = (BufferPool::default(), BufferPool::default());
        let buffer = Vec::with_capacity(SHORT);
        let place = buffer.as_ptr();
        one.keep(buffer);
        assert_eq!(one.short.len(), 0);
        let taken = other.take_for(SHORT);
        assert_eq!(taken.as_ptr(), place);
        assert_eq!(other.take_for(SHORT).capacity(), 0, "it is in use");
    }

    #[test]
    fn long_message_takes_no_short_buffer() {
        let mut spares = BufferPool::default();
        spares.keep(Vec::with_capacity(SHORT));
        assert_eq!(spares.take_for(SHORT + 1).capacity(), 0);
        let long = Vec::with_capacity(SHORT + 1);
        let place = long.as_ptr();
        spares.keep(long);
        let taken = spares.take_for(SHORT + 1);
        assert_eq!(taken.as_ptr(), place);
    }

    #[test]
    fn pool_keeps_limited_buffers() {
        let mut spares = BufferPool::default();
        (0..2 * KEPT).for_each(|_| spares.keep(Vec::with_capacity(SHORT + 1)));
        assert_eq!(spares.long.len(), KEPT);
        let mut spares = BufferPool::default();
        (0..2 * SHORT_KEPT).for_each(|_| spares.keep(Vec::with_capacity(SHORT)));
        assert_eq!(spares.short.len(), SHORT_KEPT);
    }

    #[test]
    fn oversized_buffer_is_freed_after_short_messages() {
        let mut spares = BufferPool::default();
        spares.keep(vec![0; 4 * LONG]);
        let use_for = |spares: &mut BufferPool, length: usize| {
            let mut buffer = spares.take_for(LONG);
            let is_long = buffer.capacity() >= 4 * LONG;
            buffer.resize(length, 0);
            spares.keep(buffer);
            is_long
        };
        assert!((0..MAX_SHORT_MESSAGES).all(|_| use_for(&mut spares, LONG - 1)));
        assert!(use_for(&mut spares, 2 * LONG), "a long one among them keeps it");
        assert!((0..=MAX_SHORT_MESSAGES).all(|_| use_for(&mut spares, LONG - 1)));
        assert!(!use_for(&mut spares, LONG - 1));
    }

    #[test]
    fn empty_buffer_does_not_displace_thread_buffer() {
        let (mut one, mut other) = (BufferPool::default(), BufferPool::default());
        let buffer = Vec::with_capacity(SHORT);
        let place = buffer.as_ptr();
        one.keep(buffer);
        other.keep(Vec::new());
        other.keep(Vec::with_capacity(SHORT));
        assert_eq!(other.short.len(), 1);
        let taken = one.take();
        assert_eq!(taken.as_ptr(), place);
    }

    #[test]
    fn short_buffers_do_not_displace_long_ones() {
        let mut spares = BufferPool::default();
        (0..SHORT_KEPT).for_each(|_| spares.keep(Vec::with_capacity(SHORT)));
        spares.keep(Vec::with_capacity(SHORT + 1));
        assert_eq!(spares.take().capacity(), SHORT + 1);
    }
}
