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

    /// How much it may hold.
    pub fn bound(&self) -> QueueBound {
        self.bound
    }

    /// True if what comes next was sent in part, or is a preamble.
    pub fn is_begun(&self) -> bool {
        self.fixed() > 0
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

    /// Puts bytes before all messages that wait and behind one that was sent in part, which counts as sent with them. They are
    /// never dropped and count as no message. Returns how many messages count as sent.
    ///
    /// # Errors
    /// When there is no memory for these bytes with those of that message. The queue is as before then.
    pub fn put_first(&mut self, bytes: &[u8]) -> Result<u64, NoMemory> {
        let begun = self.frames.front().filter(|_| self.fixed() > 0);
        let rest = begun.and_then(|front| front.as_ref().get(self.sent..)).unwrap_or(&[]);
        let mut preamble = Vec::new();
        try_reserve(&mut preamble, rest.len() + bytes.len())?;
        preamble.extend_from_slice(rest);
        preamble.extend_from_slice(bytes);
        let mut completed = 0;
        if self.fixed() > 0
            && let Some(front) = self.frames.pop_front()
        {
            self.bytes -= front.as_ref().len();
            completed = u64::from(!self.preamble);
        }
        (self.sent, self.preamble) = (0, !preamble.is_empty());
        if self.preamble {
            self.bytes += preamble.len();
            self.frames.push_front(preamble.into());
        }
        Ok(completed)
    }

    /// Messages that wait whole.
    pub fn unsent(&self) -> usize {
        self.frames.len() - self.fixed()
    }

    /// Those, oldest first.
    pub fn iter_unsent(&self) -> impl Iterator<Item = &F> {
        self.frames.iter().skip(self.fixed())
    }

    /// Forgets them: they go by another way.
    pub fn forget_unsent(&mut self) {
        self.frames.truncate(self.fixed());
        self.bytes = self.frames.iter().map(|frame| frame.as_ref().len()).sum();
    }

    /// Bytes of the preamble that are still to go.
    pub fn preamble_left(&self) -> usize {
        let preamble = self.frames.front().filter(|_| self.preamble);
        preamble.map_or(0, |preamble| preamble.as_ref().len() - self.sent)
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
    fn bytes_put_first_follow_a_message_that_is_begun_and_precede_all_others() {
        let mut queue = queue(2, 1000);
        let frames: Vec<_> = ["a", "b", "c"].iter().map(|text| framed(text)).collect();
        queue.push(frames[0].clone(), 2);
        queue.push(frames[1].clone(), 0);
        assert_eq!((queue.unsent(), queue.put_first(b"xy")), (1, Ok(1)));
        assert_eq!((queue.unsent(), queue.put_first(b"z"), queue.preamble_left()), (1, Ok(0), 6));
        queue.push(frames[2].clone(), 0);
        let rest: Vec<u8> = queue.slices().flatten().copied().collect();
        assert_eq!(rest, [&frames[0][2..], b"xyz", &frames[1], &frames[2]].concat());
        assert_eq!(queue.advance(4), 0);
        assert!(queue.iter_unsent().eq(&frames[1..]));
        queue.forget_unsent();
        assert_eq!((queue.unsent(), queue.preamble_left()), (0, 2));
        assert_eq!((queue.advance(2), queue.is_empty()), (0, true));
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
