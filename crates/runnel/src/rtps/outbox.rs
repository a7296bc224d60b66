//! Outbox: datagrams from the participant or a writer for the sockets. They are put in while the source is locked, and
//! sent when it is not.
//!
//! Datagrams stay in order, since one thread at a time sends. Threads that put in datagrams meanwhile leave them to
//! it and continue, unless the outbox is full. The next thread relieves one that has sent for others for
//! long.

use std::mem;

use runnel_io::udp::MOST_AT_ONCE;
use runnel_rtps::{Lend, Outgoing};

use crate::sync::{Class, Condvar, Mutex, MutexGuard, lock};

/// Bytes after which a batch is full, not counting payloads in their owner's memory.
const MOST_BYTES: usize = 64 << 10;

/// Batches that a thread sends before another one relieves it.
const MAX_BATCHES: u32 = 64;

/// See the module's documentation.
pub(super) struct Outbox<P> {
    queue: Mutex<Queue<P>>,
    /// Signalled when a batch has been sent, or no thread sends any more.
    changed: Condvar,
}

struct Queue<P> {
    filled: Batch<P>,
    /// Memory for the next batch.
    spare: Batch<P>,
    /// Batches that the sending thread has sent; `None` if no thread sends.
    sent_by_thread: Option<u32>,
    /// Batches sent since the beginning.
    sent: u64,
    /// Threads that wait for a change.
    waiting: usize,
}

impl<P: Lend> Outbox<P> {
    pub(super) fn new() -> Self {
        let (filled, spare) = (Batch::default(), Batch::default());
        let queue = Queue { filled, spare, sent_by_thread: None, sent: 0, waiting: 0 };
        Self { queue: Mutex::new(Class::RtpsOutbox, queue), changed: Condvar::new() }
    }

    /// Puts in datagrams until `take` has none left or the batch is full. The caller has locked their source.
    pub(super) fn fill(&self, take: impl FnMut(&mut Outgoing<P>) -> bool) {
        lock(&self.queue).filled.fill(take);
    }

    /// Makes this thread the one that sends, and takes the first batch. `None` if there is nothing to send, or another
    /// thread sends it.
    pub(super) fn begin_sending(&self) -> Option<Batch<P>> {
        let mut queue = lock(&self.queue);
        while queue.needs_relief() {
            queue = self.wait(queue);
        }
        if queue.sent_by_thread.is_some() || queue.filled.is_empty() {
            return None;
        }
        queue.sent_by_thread = Some(0);
        let spare = mem::take(&mut queue.spare);
        Some(mem::replace(&mut queue.filled, spare))
    }

    /// Returns a sent batch, and takes the next one. `None` if there is none, or another thread relieves this
    /// one, which then sends no more.
    pub(super) fn next_batch(&self, sent: Batch<P>) -> Option<Batch<P>> {
        let mut queue = lock(&self.queue);
        queue.sent += 1;
        queue.sent_by_thread = queue.sent_by_thread.map(|sent| sent + 1);
        let is_relieved = queue.waiting > 0 && queue.needs_relief();
        if queue.waiting > 0 {
            self.changed.notify_all();
        }
        if queue.filled.is_empty() {
            // The same memory is filled next, so that an outbox used by few threads has memory for one batch only.
            queue.spare = mem::replace(&mut queue.filled, sent);
            queue.sent_by_thread = None;
            return None;
        }
        if is_relieved {
            queue.spare = sent;
            queue.sent_by_thread = None;
            return None;
        }
        Some(mem::replace(&mut queue.filled, sent))
    }

    /// Waits until the batch that another thread sends has been sent. True if there is nothing more to send.
    pub(super) fn wait_until_sent(&self) -> bool {
        let mut queue = lock(&self.queue);
        let before = queue.sent;
        while queue.sent_by_thread.is_some() && queue.sent == before {
            queue = self.wait(queue);
        }
        queue.sent_by_thread.is_none() && queue.filled.is_empty()
    }

    fn wait<'a>(&self, mut queue: MutexGuard<'a, Queue<P>>) -> MutexGuard<'a, Queue<P>> {
        queue.waiting += 1;
        // The sending thread locks no class before this one to end.
        let mut queue = self.changed.wait_for(queue, Class::Rtps);
        queue.waiting -= 1;
        queue
    }
}

impl<P> Queue<P> {
    fn needs_relief(&self) -> bool {
        self.sent_by_thread.is_some_and(|sent| sent >= MAX_BATCHES)
    }
}

/// Datagrams for one system call, with reusable memory.
pub(super) struct Batch<P> {
    datagrams: Vec<Outgoing<P>>,
    filled: usize,
    bytes: usize,
}

impl<P> Default for Batch<P> {
    fn default() -> Self {
        Self { datagrams: Vec::new(), filled: 0, bytes: 0 }
    }
}

impl<P: Lend> Batch<P> {
    fn fill(&mut self, mut take: impl FnMut(&mut Outgoing<P>) -> bool) {
        while !self.is_full() {
            if self.filled == self.datagrams.len() {
                if self.filled == 0 {
                    // There may be thousands of writers, most of which send one datagram at a time.
                    self.datagrams.reserve_exact(1);
                }
                self.datagrams.push(Outgoing::default());
            }
            let next = &mut self.datagrams[self.filled];
            if !take(next) {
                break;
            }
            let [head, _, tail] = next.transmit().parts;
            self.bytes += head.len() + tail.len();
            self.filled += 1;
        }
    }

    /// True if the source may have more datagrams that did not fit.
    pub(super) fn is_full(&self) -> bool {
        self.filled >= MOST_AT_ONCE || self.bytes >= MOST_BYTES
    }

    fn is_empty(&self) -> bool {
        self.filled == 0
    }

    pub(super) fn datagrams(&self) -> &[Outgoing<P>] {
        &self.datagrams[..self.filled]
    }

    /// Releases the payloads of sent datagrams.
    pub(super) fn release(&mut self) {
        self.datagrams[..self.filled].iter_mut().for_each(Outgoing::release);
        (self.filled, self.bytes) = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtps::CdrFrame;

    fn put(outbox: &Outbox<CdrFrame>) {
        let mut is_there = true;
        outbox.fill(|_| mem::take(&mut is_there));
    }

    fn is_awaited(outbox: &Outbox<CdrFrame>) -> bool {
        lock(&outbox.queue).waiting > 0
    }

    /// Sends a batch, while another thread puts in a datagram.
    fn send(outbox: &Outbox<CdrFrame>, mut batch: Batch<CdrFrame>) -> Option<Batch<CdrFrame>> {
        batch.release();
        put(outbox);
        outbox.next_batch(batch)
    }

    #[test]
    fn one_thread_at_a_time_has_the_turn() {
        let outbox = Outbox::<CdrFrame>::new();
        assert!(outbox.begin_sending().is_none());
        put(&outbox);
        let mut batch = outbox.begin_sending().unwrap();
        put(&outbox);
        assert!(outbox.begin_sending().is_none());
        for _ in 0..2 {
            assert_eq!(batch.datagrams().len(), 1);
            batch.release();
            let Some(next) = outbox.next_batch(batch) else { break };
            batch = next;
        }
        assert!(outbox.begin_sending().is_none() && outbox.wait_until_sent());
        put(&outbox);
        assert!(outbox.begin_sending().is_some());
    }

    #[test]
    fn next_thread_relieves_long_sender() {
        let outbox = Outbox::<CdrFrame>::new();
        put(&outbox);
        let mut batch = outbox.begin_sending().unwrap();
        for _ in 0..2 * MAX_BATCHES {
            batch = send(&outbox, batch).expect("no other thread takes over");
        }
        std::thread::scope(|scope| {
            let next = scope.spawn(|| outbox.begin_sending().map(|batch| batch.datagrams().len()));
            while !is_awaited(&outbox) {
                std::thread::yield_now();
            }
            assert!(send(&outbox, batch).is_none());
            assert_eq!(next.join().unwrap(), Some(1));
        });
    }

    #[test]
    fn batch_is_bounded_in_datagrams() {
        let outbox = Outbox::<CdrFrame>::new();
        outbox.fill(|_| true);
        outbox.fill(|_| panic!("it is full"));
        assert_eq!(outbox.begin_sending().unwrap().datagrams().len(), MOST_AT_ONCE);
    }
}
