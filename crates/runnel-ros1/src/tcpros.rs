//! TCPROS framing: after the headers, every message is led by its 32-bit little-endian length.
//!
//! [`FrameReader`] cuts a stream into messages and keeps to the rule that no length from a peer reserves memory: room
//! grows as bytes arrive. [`SendQueue`] holds what a slow subscriber has not taken, up to a bound, oldest dropped
//! first.

use std::collections::VecDeque;
use std::fmt;

/// Longest message that is accepted, in bytes; roscpp's limit as well.
pub const MAX_MESSAGE: usize = 1_000_000_000;

/// Bytes of the length that leads a message.
pub const LENGTH: usize = 4;

/// Room that is made for a message before any of it has arrived.
const FIRST_ROOM: usize = 64 * 1024;

/// A peer announced a message or header longer than is accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LengthBeyondLimit {
    /// Bytes announced.
    pub claimed: usize,
    /// Bytes accepted.
    pub limit: usize,
}

impl LengthBeyondLimit {
    /// Passes a length that is accepted.
    ///
    /// # Errors
    /// When it is not.
    pub fn check(claimed: usize, limit: usize) -> Result<(), Self> {
        if claimed > limit { Err(Self { claimed, limit }) } else { Ok(()) }
    }
}

impl fmt::Display for LengthBeyondLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a length of {} bytes was announced, at most {} are accepted", self.claimed, self.limit)
    }
}

impl std::error::Error for LengthBeyondLimit {}

/// Cuts a stream into length-led pieces.
#[derive(Debug)]
pub struct FrameReader {
    limit: usize,
    state: State,
}

#[derive(Debug)]
enum State {
    ExpectLength {
        have: [u8; LENGTH],
        count: usize,
    },
    /// `body` may be longer than what has arrived: room, or what a buffer held before.
    ExpectBody {
        body: Vec<u8>,
        arrived: usize,
        length: usize,
    },
}

const START: State = State::ExpectLength { have: [0; LENGTH], count: 0 };

impl FrameReader {
    /// A reader at the start of a stream that refuses pieces longer than `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self { limit, state: START }
    }

    /// Takes bytes from the front of `input` until a piece is complete or the input is used up. `spare` is asked
    /// for a buffer to use again when a piece begins; what it holds does not matter.
    ///
    /// # Errors
    /// When a length is beyond the limit; the stream cannot be read further.
    pub fn take(
        &mut self,
        input: &mut &[u8],
        spare: impl FnOnce() -> Vec<u8>,
    ) -> Result<Option<Vec<u8>>, LengthBeyondLimit> {
        if let Some(length) = self.take_length(input)? {
            self.state = State::ExpectBody { body: spare(), arrived: 0, length };
        }
        let State::ExpectBody { body, arrived, length } = &mut self.state else { return Ok(None) };
        let (now, later) = input.split_at(input.len().min(*length - *arrived));
        let end = *arrived + now.len();
        make_room(body, end);
        body[*arrived..end].copy_from_slice(now);
        *input = later;
        Ok(self.arrived(now.len()))
    }

    /// Room for what is next of a long message, to receive into without another copy; `None` when there is
    /// no message under way.
    pub fn room(&mut self) -> Option<&mut [u8]> {
        let State::ExpectBody { body, arrived, length } = &mut self.state else { return None };
        let end = (*length).min((*arrived * 2).max(FIRST_ROOM));
        make_room(body, end);
        body.get_mut(*arrived..end)
    }

    /// Notes that `count` bytes were received into [`FrameReader::room`], and gives the message if it is complete.
    pub fn arrived(&mut self, count: usize) -> Option<Vec<u8>> {
        let State::ExpectBody { body, arrived, length } = &mut self.state else { return None };
        *arrived = (*arrived + count).min(*length);
        if *arrived < *length {
            return None;
        }
        let mut whole = std::mem::take(body);
        whole.truncate(*length);
        self.state = START;
        Some(whole)
    }

    /// True if the next byte is the first of a piece.
    pub fn is_between_pieces(&self) -> bool {
        matches!(self.state, State::ExpectLength { count: 0, .. })
    }

    /// Bytes reserved for the message under way.
    #[cfg(test)]
    pub(crate) fn reserved(&self) -> usize {
        match &self.state {
            State::ExpectLength { .. } => 0,
            State::ExpectBody { body, .. } => body.capacity(),
        }
    }

    /// The length of the piece that begins, once it is known; `None` within a piece or when more is needed.
    fn take_length(&mut self, input: &mut &[u8]) -> Result<Option<usize>, LengthBeyondLimit> {
        let State::ExpectLength { have, count } = &mut self.state else { return Ok(None) };
        while *count < LENGTH {
            let Some((byte, rest)) = input.split_first() else { return Ok(None) };
            have[*count] = *byte;
            *count += 1;
            *input = rest;
        }
        let claimed = u32::from_le_bytes(*have) as usize;
        LengthBeyondLimit::check(claimed, self.limit)?;
        Ok(Some(claimed))
    }
}

fn make_room(body: &mut Vec<u8>, end: usize) {
    if body.len() < end {
        body.resize(end, 0);
    }
}

/// Appends a message to `out` with its length before it; `write` appends the message itself.
pub fn frame(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&[0; LENGTH]);
    write(out);
    let length = (out.len() - start - LENGTH) as u32;
    out[start..start + LENGTH].copy_from_slice(&length.to_le_bytes());
}

/// Appends a service's response to `out`: whether it succeeded, then the response or, if it did not, why.
pub fn response(out: &mut Vec<u8>, succeeded: bool, write: impl FnOnce(&mut Vec<u8>)) {
    out.push(u8::from(succeeded));
    frame(out, write);
}

/// Cuts a service's responses from what comes on its connection.
#[derive(Debug)]
pub struct ResponseReader {
    succeeded: Option<bool>,
    body: FrameReader,
}

/// What a service answered: the response, or why there is none.
pub type Response = Result<Vec<u8>, String>;

impl ResponseReader {
    /// A reader that accepts responses of at most `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self { succeeded: None, body: FrameReader::new(limit) }
    }

    /// Takes from `input` as far as the end of the next response, which it gives if it is whole by then.
    ///
    /// # Errors
    /// When a length goes beyond the limit; the stream is then of no use any more.
    pub fn take(&mut self, input: &mut &[u8]) -> Result<Option<Response>, LengthBeyondLimit> {
        let succeeded = match self.succeeded {
            Some(succeeded) => succeeded,
            None => {
                let Some((first, rest)) = input.split_first() else { return Ok(None) };
                *input = rest;
                *self.succeeded.insert(*first != 0)
            }
        };
        let Some(body) = self.body.take(input, Vec::new)? else { return Ok(None) };
        self.succeeded = None;
        Ok(Some(if succeeded { Ok(body) } else { Err(String::from_utf8_lossy(&body).into_owned()) }))
    }
}

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
    pub fn send_again(&mut self, mut bytes: Vec<u8>) -> u64 {
        let mut completed = 0;
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
        completed
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
    use super::*;

    fn framed(text: &str) -> Vec<u8> {
        let mut out = Vec::new();
        frame(&mut out, |out| out.extend_from_slice(text.as_bytes()));
        out
    }

    fn read_all(reader: &mut FrameReader, mut input: &[u8]) -> Vec<Vec<u8>> {
        let mut pieces = Vec::new();
        while !input.is_empty() {
            pieces.extend(reader.take(&mut input, Vec::new).unwrap());
        }
        pieces
    }

    #[test]
    fn a_stream_is_cut_wherever_the_bytes_are_split() {
        let stream = [framed("ab"), framed(""), framed("cde")].concat();
        for step in 1..stream.len() {
            let mut reader = FrameReader::new(100);
            let pieces: Vec<_> = stream.chunks(step).flat_map(|part| read_all(&mut reader, part)).collect();
            assert_eq!(pieces, [b"ab".to_vec(), b"".to_vec(), b"cde".to_vec()], "step {step}");
        }
    }

    #[test]
    fn a_length_beyond_the_limit_is_refused() {
        let mut reader = FrameReader::new(10);
        let error = reader.take(&mut &framed("01234567890")[..], Vec::new).unwrap_err();
        assert_eq!(error, LengthBeyondLimit { claimed: 11, limit: 10 });
    }

    #[test]
    fn a_length_alone_reserves_little() {
        let mut reader = FrameReader::new(MAX_MESSAGE);
        reader.take(&mut &900_000_000u32.to_le_bytes()[..], Vec::new).unwrap();
        assert_eq!(reader.room().unwrap().len(), FIRST_ROOM);
    }

    #[test]
    fn a_long_message_is_received_into_its_own_room() {
        let message = vec![7u8; 300_000];
        let mut reader = FrameReader::new(MAX_MESSAGE);
        assert_eq!(reader.take(&mut &300_000u32.to_le_bytes()[..], || vec![1; 10]).unwrap(), None);
        let mut whole = None;
        while whole.is_none() {
            let room = reader.room().unwrap();
            room.fill(7);
            let count = room.len();
            whole = reader.arrived(count);
        }
        assert_eq!(whole.unwrap(), message);
        assert!(reader.room().is_none());
    }

    #[test]
    fn a_spare_buffer_is_used_again() {
        let spare = vec![9u8; 64];
        let place = spare.as_ptr();
        let mut reader = FrameReader::new(100);
        let message = reader.take(&mut &framed("abc")[..], || spare).unwrap().unwrap();
        assert_eq!((message.as_slice(), message.as_ptr()), (&b"abc"[..], place));
    }

    #[test]
    fn responses_are_cut_wherever_the_bytes_are_split() {
        let mut stream = Vec::new();
        response(&mut stream, true, |out| out.extend_from_slice(b"three"));
        response(&mut stream, false, |out| out.extend_from_slice(b"no"));
        response(&mut stream, true, |_| ());
        for step in 1..=stream.len() {
            let (mut reader, mut responses) = (ResponseReader::new(100), Vec::new());
            for mut part in stream.chunks(step) {
                while !part.is_empty() {
                    responses.extend(reader.take(&mut part).unwrap());
                }
            }
            assert_eq!(responses, [Ok(b"three".to_vec()), Err("no".into()), Ok(Vec::new())], "step {step}");
        }
    }

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
