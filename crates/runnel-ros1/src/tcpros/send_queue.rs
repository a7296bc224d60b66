//! What a subscriber has not taken yet.

use std::collections::VecDeque;

use runnel_core::wire::{NoMemory, try_reserve};

/// How much a link may hold for a subscriber that does not take it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueBound {
    /// Messages.
    pub messages: usize,
    /// Bytes; one message is always held, however long.
    pub bytes: usize,
}

impl QueueBound {
    /// What holds as much as either.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        Self { messages: self.messages.max(other.messages), bytes: self.bytes.max(other.bytes) }
    }
}

/// The messages that wait for one subscriber, framed, as whatever holds their bytes. The first may have been sent in part.
#[derive(Debug)]
#[repr(C)]
pub struct SendQueue<F = Vec<u8>> {
    /// The first of all, since each message looks whether another waits.
    frames: VecDeque<F>,
    bound: QueueBound,
    /// Bytes of the first frame that are sent.
    sent: usize,
    bytes: usize,
    /// The first frame is no message but what goes before them all.
    preamble: bool,
}

/// What a queue sends next.
#[derive(Debug)]
pub enum Front<'a, F> {
    /// What is left of bytes that are no message of their own.
    Preamble(&'a [u8]),
    /// A message, and how many of its bytes are sent.
    Message(&'a F, usize),
}

impl<F: AsRef<[u8]> + From<Vec<u8>>> SendQueue<F> {
    /// An empty queue.
    pub fn new(bound: QueueBound) -> Self {
        Self { bound, frames: VecDeque::new(), sent: 0, bytes: 0, preamble: false }
    }

    /// A queue behind bytes that go before all messages: the rest of a connection header. They are never dropped and
    /// count as no message.
    pub fn behind(preamble: Vec<u8>, bound: QueueBound) -> Self {
        let mut queue = Self::new(bound);
        if !preamble.is_empty() {
            queue.bytes = preamble.len();
            queue.frames.push_back(preamble.into());
            queue.preamble = true;
        }
        queue
    }

    /// Frames at the front that are not to be dropped: the stream would break.
    fn fixed(&self) -> usize {
        usize::from(self.preamble || self.sent > 0)
    }

    /// Changes how much it may hold, from the next message on.
    pub fn set_bound(&mut self, bound: QueueBound) {
        self.bound = bound;
    }

    /// True if nothing waits: a message may be sent at once.
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// Frames that wait, the preamble counted.
    pub fn len(&self) -> usize {
        self.frames.len()
    }

    /// True if one more message of `bytes` bytes would push out another.
    pub fn is_full(&self, bytes: usize) -> bool {
        let waiting = self.frames.len().saturating_sub(self.fixed());
        waiting > 0 && (waiting >= self.bound.messages || self.bytes + bytes > self.bound.bytes)
    }

    /// Adds a frame. `sent` bytes of it went out already; it counts only when the queue is empty. Returns how many older
    /// messages were dropped for it; one sent in part stays, since the stream would break.
    pub fn push(&mut self, frame: F, sent: usize) -> u64 {
        if self.frames.is_empty() {
            self.sent = sent;
        }
        let mut dropped = 0;
        while self.is_full(frame.as_ref().len()) {
            let oldest = self.frames.remove(self.fixed());
            self.bytes -= oldest.map_or(0, |old| old.as_ref().len());
            dropped += 1;
        }
        self.bytes += frame.as_ref().len();
        self.frames.push_back(frame);
        dropped
    }

    /// What is to be sent next.
    pub fn front(&self) -> Option<Front<'_, F>> {
        let frame = self.frames.front()?;
        let rest = || frame.as_ref().get(self.sent..).unwrap_or(&[]);
        Some(if self.preamble { Front::Preamble(rest()) } else { Front::Message(frame, self.sent) })
    }

    /// Puts bytes before all that waits: what was sent already and has to be sent again. A message that was sent in part
    /// counts as sent with them. Returns how many messages do.
    ///
    /// # Errors
    /// When there is no memory for these bytes with those of that message. The queue is as before then, and the stream has a
    /// hole.
    pub fn send_again(&mut self, mut bytes: Vec<u8>) -> Result<u64, NoMemory> {
        let mut completed = 0;
        let begun = self.frames.front().filter(|_| self.fixed() > 0);
        let rest = begun.map_or(0, |front| front.as_ref().len().saturating_sub(self.sent));
        try_reserve(&mut bytes, rest)?;
        if self.fixed() > 0
            && let Some(front) = self.frames.pop_front()
        {
            bytes.extend_from_slice(front.as_ref().get(self.sent..).unwrap_or(&[]));
            self.bytes -= front.as_ref().len();
            completed = u64::from(!self.preamble);
        }
        (self.sent, self.preamble) = (0, !bytes.is_empty());
        if self.preamble {
            self.bytes += bytes.len();
            self.frames.push_front(bytes.into());
        }
        Ok(completed)
    }

    /// What is to be sent next, in slices of whole or begun frames, oldest first.
    pub fn slices(&self) -> impl Iterator<Item = &[u8]> {
        self.frames.iter().enumerate().map(|(index, frame)| {
            let start = if index == 0 { self.sent } else { 0 };
            frame.as_ref().get(start..).unwrap_or(&[])
        })
    }

    /// Notes that `count` bytes of [`SendQueue::slices`] went out. Returns how many messages that completed.
    pub fn advance(&mut self, count: usize) -> u64 {
        self.sent += count;
        let mut completed = 0;
        while let Some(first) = self.frames.front() {
            let length = first.as_ref().len();
            if self.sent < length {
                break;
            }
            self.sent -= length;
            self.bytes -= length;
            self.frames.pop_front();
            completed += u64::from(!std::mem::take(&mut self.preamble));
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

    #[test]
    fn a_full_queue_drops_the_oldest_whole_message() {
        let mut queue = queue(2, 1000);
        let frames: Vec<_> = ["a", "b", "c", "d"].iter().map(|text| framed(text)).collect();
        assert_eq!(queue.push(frames[0].clone(), 3), 0);
        assert_eq!(queue.push(frames[1].clone(), 0), 0);
        assert_eq!(queue.push(frames[2].clone(), 0), 0);
        assert_eq!(queue.push(frames[3].clone(), 0), 1, "b goes, the begun a stays");
        let rest: Vec<u8> = queue.slices().flatten().copied().collect();
        assert_eq!(rest, [&frames[0][3..], &frames[2], &frames[3]].concat());
    }

    #[test]
    fn the_rest_of_a_header_goes_before_all_messages_and_is_never_dropped() {
        let mut queue = SendQueue::behind(b"header".to_vec(), QueueBound { messages: 1, bytes: 10 });
        let frames: Vec<_> = ["a", "b"].iter().map(|text| framed(text)).collect();
        assert_eq!((queue.push(frames[0].clone(), 0), queue.push(frames[1].clone(), 0)), (0, 1));
        let rest: Vec<u8> = queue.slices().flatten().copied().collect();
        assert_eq!(rest, [b"header", &frames[1][..]].concat());
        assert_eq!((queue.advance(3), queue.advance(3)), (0, 0), "a header is no message");
        assert_eq!((queue.advance(frames[1].len()), queue.is_empty()), (1, true));
    }

    #[test]
    fn bytes_bound_a_queue_but_one_message_always_fits() {
        let mut queue = queue(100, 12);
        assert_eq!(queue.push(vec![0; 50], 0), 0);
        assert_eq!(queue.push(vec![0; 6], 0), 1);
        assert_eq!(queue.push(vec![0; 6], 0), 0);
        assert_eq!(queue.push(vec![0; 6], 0), 1);
        assert_eq!(queue.len(), 2);
    }

    #[test]
    fn what_went_out_is_forgotten_message_by_message() {
        let mut queue = queue(10, 1000);
        for text in ["ab", "cd", "ef"] {
            queue.push(framed(text), 0);
        }
        assert_eq!(queue.advance(6 + 2), 1);
        assert_eq!(queue.slices().map(<[u8]>::len).collect::<Vec<_>>(), [4, 6]);
        assert_eq!(queue.advance(10), 2);
        assert!(queue.is_empty());
    }
}
