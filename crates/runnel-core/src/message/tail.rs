//! Loans: messages whose last array is filled in place.

use crate::Message;
use crate::wire::{EncodeErrorKind, Encoding, NO_ALIGNMENT, Sink, XCDR1_ALIGNMENT, XCDR2_ALIGNMENT, cdr};
use core::fmt;
use core::ops::Range;

/// The array of numbers at the end of a message, such as the pixels of an image: the last variable-size part of its wire
/// form. A publisher can loan memory for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tail {
    /// Bytes of an element.
    pub element: usize,
    /// Bytes after the array on the wire, without alignment; constant.
    pub after: usize,
}

/// Offsets of the parts of a message written by [`write_with_tail`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WithTail {
    /// The bytes of the array's elements: little-endian numbers, at whatever alignment the message puts them.
    pub elements: Range<usize>,
    /// Total bytes of the message.
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
    /// The array is not empty.
    NotEmpty {
        /// The message's type.
        message: &'static str,
        /// How many.
        elements: usize,
    },
    /// The number of elements exceeds the wire's count or the host's address space.
    TooMany {
        /// The message's type.
        message: &'static str,
        /// The requested number.
        elements: usize,
    },
    /// The message cannot be encoded in ROS 2.
    NoForm {
        /// The message's type.
        message: &'static str,
        /// The reason.
        why: EncodeErrorKind,
    },
    /// The memory is too small.
    DoesNotFit {
        /// The message's type.
        message: &'static str,
        /// Bytes needed.
        needed: usize,
        /// Available bytes.
        available: usize,
    },
}

impl fmt::Display for TailError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoArray { message } => {
                write!(f, "{message} does not end in an array of numbers that could be filled in place")
            }
            Self::NotEmpty { message, elements } => {
                write!(
                    f,
                    "the array of {message} to be filled in place is not empty: it has {elements} elements"
                )
            }
            Self::TooMany { message, elements } => {
                write!(f, "the last array of {message} cannot have {elements} elements")
            }
            Self::NoForm { message, why } => write!(f, "{message} cannot be written: {why}"),
            Self::DoesNotFit { message, needed, available } => {
                write!(f, "{message} needs {needed} bytes, but only {available} are available")
            }
        }
    }
}

impl core::error::Error for TailError {}

/// Bytes of a message whose last array, empty now, will have this number of elements; in ROS 2, of the complete payload
/// ([`cdr`]).
///
/// # Errors
/// As [`write_with_tail`], except for lack of memory.
pub fn len_with_tail<M: Message>(
    message: &M,
    encoding: Encoding,
    elements: usize,
) -> Result<usize, TailError> {
    layout(message, encoding, elements).map(|layout| layout.len())
}

/// Writes a message into the first bytes of `out` as if its last array, empty now, had this number of elements. The bytes of
/// these elements stay unchanged: the caller fills them. In ROS 2 the complete payload ([`cdr`]) is written.
///
/// # Errors
/// If the message does not end in an array of numbers, this array is not empty, the message cannot be encoded in ROS 2, or
/// `out` is too short. Then nothing is written.
pub fn write_with_tail<M: Message>(
    message: &M,
    encoding: Encoding,
    elements: usize,
    out: &mut [u8],
) -> Result<WithTail, TailError> {
    let layout = layout(message, encoding, elements)?;
    let (needed, available) = (layout.len(), out.len());
    let (before, after) = layout.around();
    let parts = out.split_at_mut_checked(before.len()).and_then(|(header, rest)| {
        let (body, rest) = rest.split_at_mut_checked(layout.body)?;
        Some((header, body, rest.get_mut(..after.len())?))
    });
    let Some((header, body, padding)) = parts else {
        return Err(TailError::DoesNotFit { message: M::TYPE, needed, available });
    };
    header.copy_from_slice(before);
    padding.copy_from_slice(after);
    let written = layout.pass(message, body);
    let start = before.len() + written.start;
    let count = body.get_mut(..written.count_end).and_then(<[u8]>::last_chunk_mut);
    if let (Some(place), Ok(count)) = (count, u32::try_from(elements)) {
        *place = count.to_le_bytes();
    }
    Ok(WithTail { elements: start..start + layout.elements, len: needed })
}

/// Layout of the message.
struct Layout {
    encoding: Encoding,
    /// Bytes before the elements, without alignment.
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
    let put = usize::MAX - layout.pass(message, &mut []).front_missing;
    layout.front = put.saturating_sub(tail.after);
    layout.body = layout.pass(message, &mut []).position;
    if layout.len() == usize::MAX { Err(too_many()) } else { Ok(layout) }
}

impl Layout {
    /// The bytes before and after the message.
    fn around(&self) -> (&'static [u8], &'static [u8]) {
        cdr::around(self.encoding, self.body)
    }

    /// Total bytes, saturating.
    fn len(&self) -> usize {
        let (before, after) = self.around();
        self.body.saturating_add(before.len() + after.len())
    }

    /// Writes the message around its elements; bytes that do not fit are dropped.
    fn pass<M: Message>(&self, message: &M, memory: &mut [u8]) -> Passed {
        match self.encoding {
            Encoding::Ros1 => Around::<NO_ALIGNMENT>::pass(self, message, memory),
            Encoding::Xcdr1 => Around::<XCDR1_ALIGNMENT>::pass(self, message, memory),
            Encoding::Xcdr2 => Around::<XCDR2_ALIGNMENT>::pass(self, message, memory),
        }
    }
}

/// Result of writing a message.
struct Passed {
    /// Bytes from the message's first to its end.
    position: usize,
    /// Bytes still missing before the elements.
    front_missing: usize,
    /// End of the count of elements.
    count_end: usize,
    /// Start of the elements.
    start: usize,
}

/// Sink that writes the parts before and after the elements.
struct Around<'a, const ALIGNMENT: u8> {
    layout: &'a Layout,
    memory: &'a mut [u8],
    passed: Passed,
}

impl<'a, const ALIGNMENT: u8> Around<'a, ALIGNMENT> {
    fn pass<M: Message>(layout: &'a Layout, message: &M, memory: &'a mut [u8]) -> Passed {
        let passed = Passed { position: 0, front_missing: layout.front, count_end: 0, start: 0 };
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

    /// Leaves available for the elements, whose count was the last to be written.
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
        // The elements follow once the front is complete.
        let missing = self.passed.front_missing;
        self.passed.front_missing = missing.saturating_sub(bytes.len());
        if missing > 0 && self.passed.front_missing == 0 {
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
