//! Frames: what links exchange within TLS.
//!
//! ```text
//! +--------+----------------------------------+-----------------
//! |  kind  |  length, 32 bits, little-endian  |  `length` bytes
//! +--------+----------------------------------+-----------------
//! ```
//! | Kind | Frame |
//! |---|---|
//! | 0 | bytes of the user |
//! | 1 | keep-alive: a number of 8 bytes, which the peer returns |
//! | 2 | the number of a keep-alive, returned |
//!
//! The decoder does not panic, and has no more than one frame in memory, whatever bytes it gets.

use std::fmt;

/// Bytes before those of the frame.
pub const HEADER: usize = 5;

const DATA: u8 = 0;
const PING: u8 = 1;
const PONG: u8 = 2;

/// Bytes for which space is reserved before they arrive.
const RESERVED: usize = 64 << 10;

/// One frame.
#[derive(Debug, PartialEq, Eq)]
pub enum Frame {
    /// Bytes of the user.
    Data(Vec<u8>),
    /// A keep-alive.
    Ping(u64),
    /// The answer to a keep-alive.
    Pong(u64),
}

impl Frame {
    /// The header, and the bytes after it.
    pub fn encode(self) -> ([u8; HEADER], Vec<u8>) {
        let (kind, body) = match self {
            Self::Data(bytes) => (DATA, bytes),
            Self::Ping(number) => (PING, number.to_le_bytes().to_vec()),
            Self::Pong(number) => (PONG, number.to_le_bytes().to_vec()),
        };
        let [a, b, c, d] = u32::try_from(body.len()).expect("frames are limited before").to_le_bytes();
        ([kind, a, b, c, d], body)
    }
}

/// What is wrong with received bytes: the end of a sentence about the sender.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FrameFault {
    /// A kind that this version does not know.
    Kind(u8),
    /// A length above the limit.
    TooLong { length: usize, limit: usize },
    /// A keep-alive that has no number.
    Number { length: usize },
}

impl fmt::Display for FrameFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kind(kind) => write!(f, "sent a frame of the unknown kind {kind}"),
            Self::TooLong { length, limit } => {
                write!(f, "sent a frame of {length} bytes: the limit is {limit}")
            }
            Self::Number { length } => write!(f, "sent a keep-alive of {length} bytes in place of 8"),
        }
    }
}

/// Finds the frames in received bytes.
#[derive(Debug)]
pub struct Decoder {
    longest: usize,
    state: State,
}

#[derive(Debug)]
enum State {
    ExpectHeader { bytes: [u8; HEADER], filled: usize },
    ExpectBody { kind: u8, length: usize, bytes: Vec<u8> },
}

impl State {
    const START: Self = Self::ExpectHeader { bytes: [0; HEADER], filled: 0 };
}

impl Decoder {
    /// For frames of at most this many bytes.
    pub fn new(longest: usize) -> Self {
        Self { longest, state: State::START }
    }

    /// Passes the frames that these bytes complete to `found`.
    ///
    /// # Errors
    /// If a frame is not valid. The decoder is then of no more use.
    pub fn decode(&mut self, mut bytes: &[u8], mut found: impl FnMut(Frame)) -> Result<(), FrameFault> {
        while !bytes.is_empty() {
            match &mut self.state {
                State::ExpectHeader { bytes: header, filled } => {
                    let taken = bytes.len().min(HEADER - *filled);
                    header[*filled..*filled + taken].copy_from_slice(&bytes[..taken]);
                    *filled += taken;
                    bytes = &bytes[taken..];
                    if *filled == HEADER {
                        self.state = body_of(*header, self.longest)?;
                    }
                }
                State::ExpectBody { length, bytes: body, .. } => {
                    let taken = bytes.len().min(*length - body.len());
                    body.extend_from_slice(&bytes[..taken]);
                    bytes = &bytes[taken..];
                }
            }
            // A frame without bytes is complete with its header.
            if let State::ExpectBody { kind, length, bytes: body } = &mut self.state
                && body.len() == *length
            {
                found(frame(*kind, std::mem::take(body)));
                self.state = State::START;
            }
        }
        Ok(())
    }
}

/// What follows a header, which is checked here.
fn body_of(header: [u8; HEADER], longest: usize) -> Result<State, FrameFault> {
    let [kind, length @ ..] = header;
    let length = usize::try_from(u32::from_le_bytes(length)).unwrap_or(usize::MAX);
    match kind {
        DATA if length > longest => Err(FrameFault::TooLong { length, limit: longest }),
        PING | PONG if length != 8 => Err(FrameFault::Number { length }),
        DATA | PING | PONG => {
            Ok(State::ExpectBody { kind, length, bytes: Vec::with_capacity(length.min(RESERVED)) })
        }
        _ => Err(FrameFault::Kind(kind)),
    }
}

/// The frame of a checked header.
fn frame(kind: u8, body: Vec<u8>) -> Frame {
    let number = |body: &[u8]| body.try_into().map_or(0, u64::from_le_bytes);
    match kind {
        PING => Frame::Ping(number(&body)),
        PONG => Frame::Pong(number(&body)),
        _ => Frame::Data(body),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(frames: impl IntoIterator<Item = Frame>) -> Vec<u8> {
        frames
            .into_iter()
            .map(Frame::encode)
            .flat_map(|(header, body)| [header.to_vec(), body].concat())
            .collect()
    }

    fn decoded(bytes: &[u8], piece: usize) -> Result<Vec<Frame>, FrameFault> {
        let (mut decoder, mut frames) = (Decoder::new(300), Vec::new());
        bytes.chunks(piece).try_for_each(|bytes| decoder.decode(bytes, |frame| frames.push(frame)))?;
        Ok(frames)
    }

    #[test]
    fn frames_have_these_bytes() {
        assert_eq!(encoded([Frame::Data(b"abc".to_vec())]), b"\x00\x03\x00\x00\x00abc");
        assert_eq!(encoded([Frame::Ping(0x102)]), b"\x01\x08\x00\x00\x00\x02\x01\x00\x00\x00\x00\x00\x00");
        assert_eq!(encoded([Frame::Pong(1)]), b"\x02\x08\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00");
    }

    #[test]
    fn frames_are_found_in_pieces_of_any_length() {
        let all = || {
            let longest = (0..300).map(|byte: u32| byte as u8).collect();
            [
                Frame::Data(vec![]),
                Frame::Ping(7),
                Frame::Data(longest),
                Frame::Pong(u64::MAX),
                Frame::Data(vec![]),
            ]
        };
        let bytes = encoded(all());
        for piece in 1..=bytes.len() {
            assert_eq!(decoded(&bytes, piece).unwrap(), all(), "pieces of {piece} bytes");
        }
    }

    #[test]
    fn malformed_frame_is_refused_at_its_header() {
        for (header, fault) in [
            (*b"\x00\x2d\x01\x00\x00", FrameFault::TooLong { length: 301, limit: 300 }),
            (*b"\x00\xff\xff\xff\xff", FrameFault::TooLong { length: 0xffff_ffff, limit: 300 }),
            (*b"\x01\x07\x00\x00\x00", FrameFault::Number { length: 7 }),
            (*b"\x02\xff\xff\xff\xff", FrameFault::Number { length: 0xffff_ffff }),
            (*b"\x03\x00\x00\x00\x00", FrameFault::Kind(3)),
        ] {
            assert_eq!(decoded(&header, 5), Err(fault));
        }
    }
}
