//! Queue of messages that a subscriber has not read yet.

use std::collections::VecDeque;

use runnel_core::bounds::QueueBound;
use runnel_core::wire::{NoMemory, try_reserve};

use super::{LENGTH, length_prefix};

/// Messages that wait for one subscriber, in any type that holds their bytes. Each is sent after its length. The
/// first may be partly sent.
#[derive(Debug)]
#[repr(C)]
pub struct SendQueue<M = Vec<u8>> {
    /// The first field, since every publish reads it to see whether a message waits.
    messages: VecDeque<Framed<M>>,
    bound: QueueBound,
    /// Bytes already sent of the front: of the preamble, or else of the first message and its length.
    sent: usize,
    /// Bytes of the preamble, the messages and their lengths.
    bytes: usize,
    /// Bytes to be sent before all messages.
    preamble: Vec<u8>,
}

/// A message with the length that is sent before it.
#[derive(Debug)]
struct Framed<M> {
    length: [u8; LENGTH],
    message: M,
}

impl<M: AsRef<[u8]>> Framed<M> {
    fn new(message: M) -> Self {
        Self { length: length_prefix(message.as_ref()), message }
    }

    fn len(&self) -> usize {
        LENGTH + self.message.as_ref().len()
    }

    /// The length and the message without their first `sent` bytes.
    fn parts(&self, sent: usize) -> [&[u8]; 2] {
        let length = self.length.get(sent..).unwrap_or(&[]);
        [length, self.message.as_ref().get(sent.saturating_sub(LENGTH)..).unwrap_or(&[])]
    }
}

impl<M: AsRef<[u8]>> SendQueue<M> {
    /// An empty queue.
    pub fn new(bound: QueueBound) -> Self {
        Self::with_preamble(Vec::new(), bound)
    }

    /// A queue with bytes to be sent before all messages: the rest of a connection header. They are never dropped and
    /// count as no message.
    pub fn with_preamble(preamble: Vec<u8>, bound: QueueBound) -> Self {
        Self { bound, messages: VecDeque::new(), sent: 0, bytes: preamble.len(), preamble }
    }

    /// Messages at the front that must not be dropped, since the stream would break: one if it is partly sent.
    fn pinned_count(&self) -> usize {
        usize::from(self.preamble.is_empty() && self.sent > 0)
    }

    /// Changes the bound, from the next message on.
    pub fn set_bound(&mut self, bound: QueueBound) {
        self.bound = bound;
    }

    /// The bound of the queue.
    pub fn bound(&self) -> QueueBound {
        self.bound
    }

    /// Whether the front is partly sent or is a preamble.
    pub fn is_partly_sent(&self) -> bool {
        self.sent > 0 || !self.preamble.is_empty()
    }

    /// Whether nothing waits: a message may be sent immediately.
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty() && self.preamble.is_empty()
    }

    /// Waiting messages; a preamble counts as one.
    pub fn len(&self) -> usize {
        self.messages.len() + usize::from(!self.preamble.is_empty())
    }

    /// Whether one more message of `bytes` bytes would push out another.
    pub fn is_full(&self, bytes: usize) -> bool {
        let waiting = self.unsent();
        waiting > 0 && (waiting >= self.bound.messages || self.bytes + LENGTH + bytes > self.bound.bytes)
    }

    /// Adds a message. `sent` counts the bytes of its length and of itself that are already sent; it is used only if
    /// the queue is empty. Returns the number of older messages that were dropped. A partly sent message stays, since
    /// the stream would break.
    pub fn push(&mut self, message: M, sent: usize) -> u64 {
        let mut dropped = 0;
        while self.is_full(message.as_ref().len()) {
            let oldest = self.messages.remove(self.pinned_count());
            self.bytes -= oldest.map_or(0, |old| old.len());
            dropped += 1;
        }
        if self.is_empty() {
            self.sent = sent;
        }
        let framed = Framed::new(message);
        self.bytes += framed.len();
        self.messages.push_back(framed);
        dropped
    }

    /// Puts bytes before all waiting messages, after one that is partly sent; that message then counts as sent. The
    /// bytes are never dropped and count as no message. Returns the number of messages that count as sent.
    ///
    /// # Errors
    /// If there is no memory for these bytes and the rest of that message. The queue is then unchanged.
    pub fn insert_preamble(&mut self, bytes: &[u8]) -> Result<u64, NoMemory> {
        let partly_sent = self.messages.front().filter(|_| self.pinned_count() > 0);
        let [length, message] = partly_sent.map_or([&[][..]; 2], |partly_sent| partly_sent.parts(self.sent));
        let rest = self.preamble.get(self.sent..).unwrap_or(&[]);
        let mut preamble = Vec::new();
        try_reserve(&mut preamble, rest.len() + length.len() + message.len() + bytes.len())?;
        [rest, length, message, bytes].iter().for_each(|part| preamble.extend_from_slice(part));
        self.bytes -= self.preamble.len();
        let partly_sent = if self.pinned_count() > 0 { self.messages.pop_front() } else { None };
        self.bytes -= partly_sent.as_ref().map_or(0, Framed::len);
        self.bytes += preamble.len();
        self.sent = 0;
        self.preamble = preamble;
        Ok(u64::from(partly_sent.is_some()))
    }

    /// Waiting messages of which nothing is sent.
    pub fn unsent(&self) -> usize {
        self.messages.len() - self.pinned_count()
    }

    /// Waiting bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Waiting messages of which nothing is sent, oldest first.
    pub fn iter_unsent(&self) -> impl Iterator<Item = &M> {
        self.messages.iter().skip(self.pinned_count()).map(|framed| &framed.message)
    }

    /// Drops these messages: they are sent over an alternate path.
    pub fn discard_unsent(&mut self) {
        self.messages.truncate(self.pinned_count());
        self.bytes = self.preamble.len() + self.messages.iter().map(Framed::len).sum::<usize>();
    }

    /// Bytes of the preamble that are not sent yet.
    pub fn preamble_left(&self) -> usize {
        self.preamble.len().saturating_sub(self.sent)
    }

    /// The bytes to send next, oldest first: the rest of the preamble, and at most `messages` messages with their
    /// lengths. The preamble counts as a message. At most two slices for each; none is empty.
    pub fn slices(&self, messages: usize) -> impl Iterator<Item = &[u8]> {
        let is_behind = !self.preamble.is_empty();
        let preamble = self.preamble.get(self.sent..).unwrap_or(&[]);
        let sent = if is_behind { 0 } else { self.sent };
        let next = self.messages.iter().take(messages.saturating_sub(usize::from(is_behind))).enumerate();
        let parts = next.flat_map(move |(index, framed)| framed.parts(if index == 0 { sent } else { 0 }));
        std::iter::once(preamble).chain(parts).filter(|slice| !slice.is_empty())
    }

    /// Records that `count` bytes of [`SendQueue::slices`] were sent. Returns the number of messages that this
    /// completed.
    pub fn advance(&mut self, count: usize) -> u64 {
        self.sent += count;
        if self.sent < self.preamble.len() {
            return 0;
        }
        self.sent -= self.preamble.len();
        self.bytes -= self.preamble.len();
        self.preamble = Vec::new();
        let mut completed = 0;
        while let Some(length) = self.messages.front().map(Framed::len)
            && self.sent >= length
        {
            self.sent -= length;
            self.bytes -= length;
            self.messages.pop_front();
            completed += 1;
        }
        completed
    }
}

#[cfg(test)]
mod tests {
    use super::super::frame::framed;
    use super::*;

    fn queue(messages: usize, bytes: usize) -> SendQueue {
        SendQueue::new(QueueBound { messages, bytes })
    }

    /// The bytes still to be sent.
    fn rest(queue: &SendQueue) -> Vec<u8> {
        queue.slices(usize::MAX).flatten().copied().collect()
    }

    /// Messages with these texts.
    fn messages<const N: usize>(texts: [&str; N]) -> [Vec<u8>; N] {
        texts.map(|text| text.as_bytes().to_vec())
    }

    #[test]
    fn full_queue_drops_oldest_unsent_message() {
        let mut queue = queue(2, 1000);
        let [a, b, c, d] = messages(["a", "b", "c", "d"]);
        assert_eq!([queue.push(a, 3), queue.push(b, 0), queue.push(c, 0)], [0, 0, 0]);
        assert_eq!(queue.push(d, 0), 1, "b is dropped, the partly sent a stays");
        assert_eq!(rest(&queue), [&framed("a")[3..], &framed("c"), &framed("d")].concat());
    }

    #[test]
    fn preamble_precedes_messages_and_is_kept() {
        let mut queue = SendQueue::with_preamble(b"header".to_vec(), QueueBound { messages: 1, bytes: 10 });
        let [a, b] = messages(["a", "b"]);
        assert_eq!((queue.push(a, 0), queue.push(b, 0)), (0, 1));
        assert_eq!(rest(&queue), [b"header", &framed("b")[..]].concat());
        assert_eq!((queue.advance(3), queue.advance(3)), (0, 0), "a header is no message");
        assert_eq!((queue.advance(framed("b").len()), queue.is_empty()), (1, true));
    }

    #[test]
    fn inserted_preamble_follows_partly_sent_message() {
        let mut queue = queue(2, 1000);
        let [a, b, c] = messages(["a", "b", "c"]);
        queue.push(a, 2);
        queue.push(b.clone(), 0);
        assert_eq!((queue.unsent(), queue.insert_preamble(b"xy")), (1, Ok(1)));
        assert_eq!((queue.unsent(), queue.insert_preamble(b"z"), queue.preamble_left()), (1, Ok(0), 6));
        queue.push(c.clone(), 0);
        assert_eq!(rest(&queue), [&framed("a")[2..], b"xyz", &framed("b"), &framed("c")].concat());
        assert_eq!(queue.advance(4), 0);
        assert!(queue.iter_unsent().eq(&[b, c]));
        queue.discard_unsent();
        assert_eq!((queue.unsent(), queue.preamble_left()), (0, 2));
        assert_eq!((queue.advance(2), queue.is_empty()), (0, true));
    }

    #[test]
    fn queue_is_bounded_but_takes_one_message() {
        let mut queue = queue(100, 20);
        assert_eq!([50, 6, 6, 6].map(|bytes| queue.push(vec![0; bytes], 0)), [0, 1, 0, 1]);
        assert_eq!(queue.len(), 2);
    }

    #[test]
    fn sent_messages_are_removed_one_by_one() {
        let mut queue = queue(10, 1000);
        messages(["ab", "cd", "ef"]).into_iter().for_each(|message| {
            queue.push(message, 0);
        });
        assert_eq!(queue.advance(6 + 2), 1);
        assert_eq!(queue.slices(9).map(<[u8]>::len).collect::<Vec<_>>(), [2, 2, 4, 2]);
        assert_eq!(queue.slices(1).map(<[u8]>::len).collect::<Vec<_>>(), [2, 2]);
        assert_eq!(queue.advance(10), 2);
        assert!(queue.is_empty());
    }

    /// Whatever the point at which a send stops: inside a length, at its end or in the bytes after it.
    #[test]
    fn stream_is_complete_for_any_send_size() {
        let texts = ["abc", "", "d", "efghi"];
        let whole = [&b"head"[..], &texts.map(framed).concat()].concat();
        for step in 1..=whole.len() {
            let mut queue =
                SendQueue::with_preamble(b"head".to_vec(), QueueBound { messages: 10, bytes: 1000 });
            messages(texts).into_iter().for_each(|message| {
                queue.push(message, 0);
            });
            let (mut sent, mut completed) = (Vec::new(), 0);
            while !queue.is_empty() {
                let taken: Vec<u8> = queue.slices(2).flatten().copied().take(step).collect();
                completed += queue.advance(taken.len());
                sent.extend(taken);
                assert_eq!(rest(&queue), whole[sent.len()..], "step {step}");
            }
            assert_eq!((sent, completed), (whole.clone(), 4), "step {step}");
        }
    }

    /// A message is partly sent, up to any byte, before it is queued. Then another message is dropped, and a preamble
    /// is inserted.
    #[test]
    fn partly_sent_message_ends_before_inserted_preamble() {
        for sent in 1..framed("abc").len() {
            let mut queue = queue(1, 1000);
            messages(["abc", "old", "new"]).into_iter().for_each(|message| {
                queue.push(message, sent);
            });
            assert_eq!(rest(&queue), [&framed("abc")[sent..], &framed("new")].concat());
            assert_eq!(queue.insert_preamble(b"xy"), Ok(1));
            assert_eq!(rest(&queue), [&framed("abc")[sent..], b"xy", &framed("new")].concat());
        }
    }
}
