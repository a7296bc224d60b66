//! Length-prefixed frames of a TCPROS stream.

#[cfg(test)]
mod tests;

use std::fmt;

use super::{LENGTH, STATEMENT, STATEMENT_MARK};
use runnel_core::bounds::LengthBeyondLimit;
use runnel_core::wire::{GrowingSink, NoMemory, Sink, try_write};

/// Bytes reserved for a message before any of it has arrived.
const FIRST_STEP: usize = 64 * 1024;

/// Maximum bytes that are reserved beyond those received.
const LONGEST_STEP: usize = 4 << 20;

/// Lengths that a reader accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AcceptedLength {
    /// At most this many bytes.
    AtMost(usize),
    /// Exactly this many bytes: the size of a fixed-size message type.
    Exactly(usize),
}

/// Reason why a frame cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameError {
    /// The announced length exceeds the limit for all messages.
    BeyondLimit(LengthBeyondLimit),
    /// The announced length is not that of the fixed-size type.
    WrongLength {
        /// Bytes announced.
        announced: usize,
        /// Size of the type, in bytes.
        fixed: usize,
    },
    /// There is no memory for the received part of a message.
    NoMemory {
        /// Bytes of the whole message, as announced.
        length: usize,
        /// Bytes that have arrived.
        arrived: usize,
    },
}

impl AcceptedLength {
    /// The lengths of a message type: exactly `fixed` bytes for a type of fixed size, otherwise at most `limit`.
    pub fn of_type(fixed: Option<usize>, limit: usize) -> Self {
        fixed.filter(|fixed| *fixed <= limit).map_or(Self::AtMost(limit), Self::Exactly)
    }

    fn check(self, announced: usize) -> Result<(), FrameError> {
        match self {
            Self::AtMost(limit) => {
                LengthBeyondLimit::check(announced, limit).map_err(FrameError::BeyondLimit)
            }
            Self::Exactly(fixed) if announced != fixed => Err(FrameError::WrongLength { announced, fixed }),
            Self::Exactly(_) => Ok(()),
        }
    }
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BeyondLimit(length) => length.fmt(f),
            Self::WrongLength { announced, fixed } => write!(
                f,
                "the peer announced a message of {announced} bytes, but messages of this type have exactly {fixed}"
            ),
            Self::NoMemory { length, arrived } => {
                write!(f, "out of memory for a message of {length} bytes, after {arrived} bytes")
            }
        }
    }
}

impl std::error::Error for FrameError {}

/// A frame that has partly arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IncompleteFrame {
    /// Distinguishes it from other frames of the same stream.
    pub number: u64,
    /// Bytes of the complete frames before it in the stream.
    pub delivered: u64,
    /// Bytes that have arrived, without the length.
    pub arrived: usize,
    /// Bytes announced.
    pub length: usize,
    /// Bytes of memory reserved.
    pub reserved: usize,
}

/// Splits a stream into length-prefixed frames.
#[derive(Debug)]
pub struct FrameReader {
    accepted: AcceptedLength,
    /// Complete frames.
    completed: u64,
    /// Their bytes.
    delivered: u64,
    /// Statements may appear between frames.
    has_statements: bool,
    state: State,
}

/// The next item of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StreamItem {
    /// A message.
    Message(Vec<u8>),
    /// A statement of the peer about the messages, undecoded.
    Statement([u8; STATEMENT]),
}

#[derive(Debug)]
#[expect(clippy::enum_variant_names, reason = "each is named for what it waits for")]
enum State {
    ExpectLength {
        have: [u8; LENGTH],
        count: usize,
    },
    ExpectStatement {
        have: [u8; STATEMENT],
        count: usize,
    },
    /// `body` may be longer than `arrived`: it has spare capacity, or old bytes of a reused buffer.
    ExpectBody {
        body: Vec<u8>,
        arrived: usize,
        length: usize,
    },
}

const START: State = State::ExpectLength { have: [0; LENGTH], count: 0 };

impl FrameReader {
    /// A reader at the start of a stream that refuses frames longer than `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self::with_accepted_length(AcceptedLength::AtMost(limit))
    }

    /// A reader at the start of a stream that refuses frames of other lengths.
    pub fn with_accepted_length(accepted: AcceptedLength) -> Self {
        Self { accepted, completed: 0, delivered: 0, has_statements: false, state: START }
    }

    /// Allows statements between frames, each after [`STATEMENT_MARK`] in place of a length.
    #[must_use]
    pub fn with_statements(self, has_statements: bool) -> Self {
        Self { has_statements, ..self }
    }

    /// Changes the accepted lengths of frames whose length has not arrived yet.
    pub fn accept(&mut self, accepted: AcceptedLength) {
        self.accepted = accepted;
    }

    /// Consumes the front of `input` until a message or a statement is complete or the input is used up. `spare`
    /// supplies a buffer to reuse when a message begins; its content does not matter.
    ///
    /// # Errors
    /// If a length is not accepted, or memory is short. The stream cannot be read further.
    pub fn take_item(
        &mut self,
        input: &mut &[u8],
        spare: impl FnOnce() -> Vec<u8>,
    ) -> Result<Option<StreamItem>, FrameError> {
        let message = self.take(input, spare)?;
        Ok(message.map(StreamItem::Message).or_else(|| self.take_statement(input).map(StreamItem::Statement)))
    }

    fn take_statement(&mut self, input: &mut &[u8]) -> Option<[u8; STATEMENT]> {
        let State::ExpectStatement { have, count } = &mut self.state else { return None };
        let (now, later) = input.split_at(input.len().min(STATEMENT - *count));
        have[*count..*count + now.len()].copy_from_slice(now);
        *count += now.len();
        *input = later;
        let (have, is_whole) = (*have, *count == STATEMENT);
        if !is_whole {
            return None;
        }
        self.state = START;
        Some(have)
    }

    /// Consumes the front of `input` until a frame is complete or the input is used up. `spare` supplies a buffer to
    /// reuse when a frame begins; its content does not matter.
    ///
    /// # Errors
    /// If a length is not accepted, or memory is short. The stream cannot be read further.
    pub fn take(
        &mut self,
        input: &mut &[u8],
        spare: impl FnOnce() -> Vec<u8>,
    ) -> Result<Option<Vec<u8>>, FrameError> {
        if let Some(length) = self.take_length(input)? {
            self.begin(length, spare);
        }
        let State::ExpectBody { body, arrived, length } = &mut self.state else { return Ok(None) };
        let (now, later) = input.split_at(input.len().min(*length - *arrived));
        let end = *arrived + now.len();
        if !reserve(body, end, *length) {
            let (length, arrived) = (*length, *arrived);
            // The received part is useless, and its memory may be needed.
            self.state = START;
            return Err(FrameError::NoMemory { length, arrived });
        }
        body[*arrived..end].copy_from_slice(now);
        *input = later;
        Ok(self.advance(now.len()))
    }

    /// Begins a frame of known length whose length is not in the stream. [`FrameReader::take`] then consumes its
    /// bytes; `spare` works as there.
    ///
    /// # Errors
    /// If the length is not accepted.
    pub fn begin_unframed(
        &mut self,
        length: usize,
        spare: impl FnOnce() -> Vec<u8>,
    ) -> Result<(), FrameError> {
        self.accepted.check(length)?;
        self.begin(length, spare);
        Ok(())
    }

    fn begin(&mut self, length: usize, spare: impl FnOnce() -> Vec<u8>) {
        self.state = State::ExpectBody { body: spare(), arrived: 0, length };
    }

    /// Buffer for the next bytes of a long message, to receive into without a copy. `None` if no message is partly
    /// received, or if there is no memory for it, which [`FrameReader::take`] reports.
    pub fn receive_buffer(&mut self) -> Option<&mut [u8]> {
        let State::ExpectBody { body, arrived, length } = &mut self.state else { return None };
        let end = (*length).min(*arrived + (*arrived).clamp(FIRST_STEP, LONGEST_STEP));
        if reserve(body, end, *length) { body.get_mut(*arrived..end) } else { None }
    }

    /// Records that `count` bytes were received into [`FrameReader::receive_buffer`], and returns the message if it is
    /// complete.
    pub fn advance(&mut self, count: usize) -> Option<Vec<u8>> {
        let State::ExpectBody { body, arrived, length } = &mut self.state else { return None };
        *arrived = (*arrived + count).min(*length);
        if *arrived < *length {
            return None;
        }
        let mut whole = std::mem::take(body);
        whole.truncate(*length);
        self.state = START;
        self.completed += 1;
        self.delivered += whole.len() as u64;
        Some(whole)
    }

    /// Whether the next byte is the first of a frame.
    pub fn is_between_frames(&self) -> bool {
        matches!(self.state, State::ExpectLength { count: 0, .. })
    }

    /// The message that has partly arrived, once its length is known.
    pub fn incomplete(&self) -> Option<IncompleteFrame> {
        let State::ExpectBody { body, arrived, length } = &self.state else { return None };
        let (arrived, length, reserved) = (*arrived, *length, body.capacity());
        Some(IncompleteFrame { number: self.completed, delivered: self.delivered, arrived, length, reserved })
    }

    /// Bytes reserved for the partly received message.
    #[cfg(test)]
    pub(crate) fn reserved(&self) -> usize {
        self.incomplete().map_or(0, |frame| frame.reserved)
    }

    /// The length of the next frame, once it is known; `None` inside a frame or when more bytes are needed.
    fn take_length(&mut self, input: &mut &[u8]) -> Result<Option<usize>, FrameError> {
        let State::ExpectLength { have, count } = &mut self.state else { return Ok(None) };
        while *count < LENGTH {
            let Some((byte, rest)) = input.split_first() else { return Ok(None) };
            have[*count] = *byte;
            *count += 1;
            *input = rest;
        }
        let claimed = u32::from_le_bytes(*have);
        if self.has_statements && claimed == STATEMENT_MARK {
            self.state = State::ExpectStatement { have: [0; STATEMENT], count: 0 };
            return Ok(None);
        }
        self.accepted.check(claimed as usize)?;
        Ok(Some(claimed as usize))
    }
}

/// Extends `body` to `end` bytes; false if there is no memory. Its capacity grows by a quarter or more, since a
/// reallocation may copy, but never beyond the message's length.
fn reserve(body: &mut Vec<u8>, end: usize, length: usize) -> bool {
    if body.len() >= end {
        return true;
    }
    if body.capacity() < end {
        let capacity = end.max(body.capacity() + (body.capacity() / 4).min(LONGEST_STEP)).min(length);
        if body.try_reserve_exact(capacity - body.len()).is_err() {
            return false;
        }
    }
    body.resize(end, 0);
    true
}

/// The length that is sent before a message.
pub fn length_prefix(message: &[u8]) -> [u8; LENGTH] {
    (message.len() as u32).to_le_bytes()
}

/// Appends a frame to `out`: the length, then the message that `write` appends.
pub fn frame(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&[0; LENGTH]);
    write(out);
    let length = (out.len() - start - LENGTH) as u32;
    out[start..start + LENGTH].copy_from_slice(&length.to_le_bytes());
}

/// As [`frame`], without aborting when memory runs out.
///
/// # Errors
/// If there is no memory for the message; the error gives its size. `out` is then empty.
pub fn try_frame(out: &mut Vec<u8>, write: impl FnOnce(&mut GrowingSink)) -> Result<(), NoMemory> {
    let body = out.len() + LENGTH;
    try_write(out, |out| {
        out.put(&[0; LENGTH]);
        write(out);
    })
    .map_err(|NoMemory { bytes }| NoMemory { bytes: bytes - body })?;
    let length = (out.len() - body) as u32;
    out[body - LENGTH..body].copy_from_slice(&length.to_le_bytes());
    Ok(())
}

/// A frame with this text.
#[cfg(test)]
pub(super) fn framed(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    frame(&mut out, |out| out.extend_from_slice(text.as_bytes()));
    out
}
