//! Messages whose one big array is filled in place.

use crate::Message;
use crate::wire::{Sink, SliceSink};
use core::fmt;
use core::ops::Range;

/// The array of numbers that ends a message: the last thing in its wire form that varies in size, such as the pixels
/// of an image. Known so that a publisher can lend memory for that array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tail {
    /// Bytes of an element.
    pub element: usize,
    /// Bytes that follow the array on the wire, which are always so many.
    pub behind: usize,
}

/// Where the parts of a message lie that [`write_with_tail`] wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WithTail {
    /// The bytes of the array's elements: little-endian numbers, at whatever alignment the message puts them.
    pub elements: Range<usize>,
    /// Bytes of the whole message, from the start.
    pub len: usize,
}

/// A message cannot be written for its last array to be filled in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TailError {
    /// It does not end in an array of numbers: [`Message::TAIL`] is `None`.
    NoArray {
        /// The message's type.
        message: &'static str,
    },
    /// The array holds elements already.
    NotEmpty {
        /// The message's type.
        message: &'static str,
        /// How many.
        elements: usize,
    },
    /// The wire has no count, or the host no address, for so many elements.
    TooMany {
        /// The message's type.
        message: &'static str,
        /// How many were asked for.
        elements: usize,
    },
    /// The memory is too small.
    DoesNotFit {
        /// The message's type.
        message: &'static str,
        /// Bytes needed.
        needed: usize,
        /// Bytes there are.
        room: usize,
    },
}

impl fmt::Display for TailError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoArray { message } => {
                write!(f, "{message} does not end in an array of numbers that could be filled in place")
            }
            Self::NotEmpty { message, elements } => {
                write!(f, "the array of {message} to be filled in place holds {elements} elements already")
            }
            Self::TooMany { message, elements } => {
                write!(f, "the last array of {message} cannot hold {elements} elements")
            }
            Self::DoesNotFit { message, needed, room } => {
                write!(f, "{message} needs {needed} bytes, but there are {room}")
            }
        }
    }
}

impl core::error::Error for TailError {}

/// How many bytes a message will take when its last array, now empty, has so many elements.
///
/// # Errors
/// As [`write_with_tail`], but for want of memory.
pub fn len_with_tail<M: Message>(message: &M, elements: usize) -> Result<usize, TailError> {
    layout(message, elements).map(|layout| layout.len)
}

/// Writes the wire form of a message into the first bytes of `out` as if its last array, which is empty, had so many
/// elements, and leaves the bytes of these elements as they are: they are the caller's to fill.
///
/// # Errors
/// When the message does not end in an array of numbers, when that array is not empty, and when there is no room for
/// the whole message. Nothing is written then.
pub fn write_with_tail<M: Message>(
    message: &M,
    elements: usize,
    out: &mut [u8],
) -> Result<WithTail, TailError> {
    let layout = layout(message, elements)?;
    let (needed, room) = (layout.len, out.len());
    let parts = out.get_mut(..needed).and_then(|whole| layout.split(whole));
    let Some((front, behind)) = parts else {
        return Err(TailError::DoesNotFit { message: M::TYPE, needed, room });
    };
    let mut around =
        Around { front_left: front.len(), front: SliceSink::new(front), behind: SliceSink::new(behind) };
    message.write(&mut around);
    let count = out.get_mut(..layout.elements.start).and_then(<[u8]>::last_chunk_mut);
    if let (Some(place), Ok(count)) = (count, u32::try_from(elements)) {
        *place = count.to_le_bytes();
    }
    Ok(layout)
}

/// Where everything will lie.
fn layout<M: Message>(message: &M, elements: usize) -> Result<WithTail, TailError> {
    let tail = M::TAIL.ok_or(TailError::NoArray { message: M::TYPE })?;
    match message.tail_len() {
        0 => {}
        elements => return Err(TailError::NotEmpty { message: M::TYPE, elements }),
    }
    let empty = message.wire_len();
    let start = empty.saturating_sub(tail.behind);
    let end =
        u32::try_from(elements).ok().and_then(|_| elements.checked_mul(tail.element)?.checked_add(start));
    let len = end.and_then(|end| end.checked_add(tail.behind));
    match (end, len) {
        (Some(end), Some(len)) => Ok(WithTail { elements: start..end, len }),
        _ => Err(TailError::TooMany { message: M::TYPE, elements }),
    }
}

impl WithTail {
    /// The bytes before the elements and those behind them.
    fn split<'a>(&self, whole: &'a mut [u8]) -> Option<(&'a mut [u8], &'a mut [u8])> {
        let (before, behind) = whole.split_at_mut_checked(self.elements.end)?;
        Some((before.get_mut(..self.elements.start)?, behind))
    }
}

/// Writes around the elements: first what lies before them, then what lies behind.
struct Around<'a> {
    front: SliceSink<'a>,
    /// Bytes that still lie before the elements.
    front_left: usize,
    behind: SliceSink<'a>,
}

impl Sink for Around<'_> {
    fn put(&mut self, bytes: &[u8]) {
        let (before, behind) = bytes.split_at(bytes.len().min(self.front_left));
        self.front_left -= before.len();
        self.front.put(before);
        self.behind.put(behind);
    }
}
