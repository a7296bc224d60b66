//! Loans: messages whose last array is filled in place.

use crate::Message;
use crate::wire::{EncodeErrorKind, Encoding, NO_ALIGNMENT, Sink, XCDR1_ALIGNMENT, XCDR2_ALIGNMENT, cdr};
use core::fmt;
use core::ops::Range;

/// The array of numbers that ends a message: the last thing in its wire form that varies in size, such as the pixels
/// of an image. Known so that a publisher can lend memory for that array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tail {
    /// Bytes of an element.
    pub element: usize,
    /// Bytes that follow the array on the wire, without those that only align others: always so many.
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
    /// It has no form in ROS 2.
    NoForm {
        /// The message's type.
        message: &'static str,
        /// Why not.
        why: EncodeErrorKind,
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
            Self::NoForm { message, why } => write!(f, "{message} cannot be written: {why}"),
            Self::DoesNotFit { message, needed, room } => {
                write!(f, "{message} needs {needed} bytes, but there are {room}")
            }
        }
    }
}

impl core::error::Error for TailError {}

/// How many bytes a message will take when its last array, now empty, has so many elements. In ROS 2 this is the whole
/// payload, as [`cdr`] has it.
///
/// # Errors
/// As [`write_with_tail`], but for want of memory.
pub fn len_with_tail<M: Message>(
    message: &M,
    encoding: Encoding,
    elements: usize,
) -> Result<usize, TailError> {
    layout(message, encoding, elements).map(|layout| layout.len())
}

/// Writes a message into the first bytes of `out` as if its last array, which is empty, had so many elements, and leaves
/// the bytes of these elements as they are: they are the caller's to fill. In ROS 2 the whole payload is written, as
/// [`cdr`] has it.
///
/// # Errors
/// When the message does not end in an array of numbers, when that array is not empty, when the message has no form in
/// ROS 2, and when there is no room for the whole message. Nothing is written then.
pub fn write_with_tail<M: Message>(
    message: &M,
    encoding: Encoding,
    elements: usize,
    out: &mut [u8],
) -> Result<WithTail, TailError> {
    let layout = layout(message, encoding, elements)?;
    let (needed, room) = (layout.len(), out.len());
    let (before, behind) = layout.around();
    let parts = out.split_at_mut_checked(before.len()).and_then(|(header, rest)| {
        let (body, rest) = rest.split_at_mut_checked(layout.body)?;
        Some((header, body, rest.get_mut(..behind.len())?))
    });
    let Some((header, body, padding)) = parts else {
        return Err(TailError::DoesNotFit { message: M::TYPE, needed, room });
    };
    header.copy_from_slice(before);
    padding.copy_from_slice(behind);
    let written = layout.pass(message, body);
    let start = before.len() + written.start;
    let count = body.get_mut(..written.count_end).and_then(<[u8]>::last_chunk_mut);
    if let (Some(place), Ok(count)) = (count, u32::try_from(elements)) {
        *place = count.to_le_bytes();
    }
    Ok(WithTail { elements: start..start + layout.elements, len: needed })
}

/// Where everything will lie.
struct Layout {
    encoding: Encoding,
    /// Bytes of all that lies before the elements, without those that only align.
    front: usize,
    /// Bytes of an element.
    element: usize,
    /// Bytes of all elements.
    elements: usize,
    /// Bytes of the message.
    body: usize,
}

fn layout<M: Message>(message: &M, encoding: Encoding, elements: usize) -> Result<Layout, TailError> {
    let tail = if encoding.is_ros1() { M::TAIL } else { M::ROS2_TAIL };
    let tail = tail.ok_or(TailError::NoArray { message: M::TYPE })?;
    match message.tail_len(encoding) {
        0 => {}
        elements => return Err(TailError::NotEmpty { message: M::TYPE, elements }),
    }
    if !encoding.is_ros1() {
        message.check().map_err(|error| TailError::NoForm { message: M::TYPE, why: error.kind() })?;
    }
    let too_many = || TailError::TooMany { message: M::TYPE, elements };
    let bytes = u32::try_from(elements).ok().and_then(|_| elements.checked_mul(tail.element));
    let mut layout = Layout {
        encoding,
        front: usize::MAX,
        element: tail.element,
        elements: bytes.ok_or_else(too_many)?,
        body: 0,
    };
    let put = usize::MAX - layout.pass(message, &mut []).front_left;
    layout.front = put.saturating_sub(tail.behind);
    layout.body = layout.pass(message, &mut []).position;
    if layout.len() == usize::MAX { Err(too_many()) } else { Ok(layout) }
}

impl Layout {
    /// What comes before and behind the message.
    fn around(&self) -> (&'static [u8], &'static [u8]) {
        cdr::around(self.encoding, self.body)
    }

    /// Bytes of the whole; the most there can be if that is too many.
    fn len(&self) -> usize {
        let (before, behind) = self.around();
        self.body.saturating_add(before.len() + behind.len())
    }

    /// Writes the message around its elements; what does not fit is left out.
    fn pass<M: Message>(&self, message: &M, memory: &mut [u8]) -> Passed {
        match self.encoding {
            Encoding::Ros1 => Around::<NO_ALIGNMENT>::pass(self, message, memory),
            Encoding::Xcdr1 => Around::<XCDR1_ALIGNMENT>::pass(self, message, memory),
            Encoding::Xcdr2 => Around::<XCDR2_ALIGNMENT>::pass(self, message, memory),
        }
    }
}

/// What is known when a message was passed through.
struct Passed {
    /// Bytes from the message's first to its end.
    position: usize,
    /// Bytes that should still have come before the elements.
    front_left: usize,
    /// Where the count of the elements ends.
    count_end: usize,
    /// Where the elements begin.
    start: usize,
}

/// Writes around the elements: first what lies before them, then what lies behind.
struct Around<'a, const ALIGNMENT: u8> {
    layout: &'a Layout,
    memory: &'a mut [u8],
    passed: Passed,
}

impl<'a, const ALIGNMENT: u8> Around<'a, ALIGNMENT> {
    fn pass<M: Message>(layout: &'a Layout, message: &M, memory: &'a mut [u8]) -> Passed {
        let passed = Passed { position: 0, front_left: layout.front, count_end: 0, start: 0 };
        let mut around = Self { layout, memory, passed };
        message.write(&mut around);
        around.passed
    }

    fn store(&mut self, bytes: &[u8]) {
        let start = self.passed.position;
        self.passed.position = start.saturating_add(bytes.len());
        if let Some(place) = self.memory.get_mut(start..self.passed.position) {
            place.copy_from_slice(bytes);
        }
    }

    /// Leaves room for the elements, whose count was the last to be written.
    fn pass_over_elements(&mut self) {
        self.passed.count_end = self.passed.position;
        if self.layout.elements > 0 {
            self.align(self.layout.element);
        }
        self.passed.start = self.passed.position;
        self.passed.position = self.passed.position.saturating_add(self.layout.elements);
    }
}

impl<const ALIGNMENT: u8> Sink for Around<'_, ALIGNMENT> {
    fn put(&mut self, bytes: &[u8]) {
        self.store(bytes);
        // The elements come once, where nothing is left to come before them.
        let left = self.passed.front_left;
        self.passed.front_left = left.saturating_sub(bytes.len());
        if left > 0 && self.passed.front_left == 0 {
            self.pass_over_elements();
        }
    }

    fn encoding(&self) -> Encoding {
        Encoding::aligned_by(ALIGNMENT)
    }

    fn align(&mut self, to: usize) {
        let padding = self.encoding().padding(self.passed.position, to);
        self.store(cdr::zeros(padding));
    }

    fn keeps_bytes(&self) -> bool {
        !self.memory.is_empty()
    }
}
