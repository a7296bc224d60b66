//! Limits of what requests of other programs can make a node answer and keep. Answers are made while the driver is locked.

use std::fmt;

use runnel_msgs::rcl_interfaces::msg::ParameterDescriptor;

/// Parameters in one request.
pub(super) const MOST_NAMES: usize = 20_000;

/// Prefixes in a request for names: each is compared with each name.
pub(super) const MOST_PREFIXES: usize = 1000;

/// Bytes of an answer of several elements. A single element may be longer.
pub(super) const MOST_BYTES: usize = 16 << 20;

/// Bytes of a reason in an answer.
pub(super) const LONGEST_REASON: usize = 512;

/// Bytes of the name of a parameter that another program sets without a declaration.
pub(super) const LONGEST_NAME: usize = 1024;

/// Parameters that other programs set without a declaration.
pub(super) const MOST_IMPLICIT: usize = 10_000;

/// Bytes of all their values.
pub(super) const MOST_IMPLICIT_BYTES: usize = 64 << 20;

/// Why a request gets no whole answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OverLimit {
    /// The request names more parameters.
    Names { count: usize, limit: usize },
    /// The request names more prefixes.
    Prefixes { count: usize, limit: usize },
    /// The answer would be longer.
    Bytes { limit: usize },
}

impl fmt::Display for OverLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Names { count, limit } => {
                write!(f, "the request is for {count} parameters, and the limit is {limit}")
            }
            Self::Prefixes { count, limit } => {
                write!(f, "the request has {count} prefixes, and the limit is {limit}")
            }
            Self::Bytes { limit } => write!(f, "the answer would be longer than {limit} bytes"),
        }
    }
}

/// Checks the number of parameters in a request.
///
/// # Errors
/// If there are too many.
pub(super) fn check_names(count: usize) -> Result<(), OverLimit> {
    if count <= MOST_NAMES { Ok(()) } else { Err(OverLimit::Names { count, limit: MOST_NAMES }) }
}

/// Adds up the bytes of an answer.
#[derive(Default)]
pub(super) struct AnswerSize {
    bytes: usize,
    elements: usize,
}

impl AnswerSize {
    /// Adds an element.
    ///
    /// # Errors
    /// If the answer is then too long.
    pub(super) fn add(&mut self, bytes: usize) -> Result<(), OverLimit> {
        (self.bytes, self.elements) = (self.bytes.saturating_add(bytes), self.elements + 1);
        let is_over = self.bytes > MOST_BYTES && self.elements > 1;
        if is_over { Err(OverLimit::Bytes { limit: MOST_BYTES }) } else { Ok(()) }
    }
}

/// Approximate size of a descriptor in bytes.
pub(super) fn size_of_descriptor(descriptor: &ParameterDescriptor) -> usize {
    let ParameterDescriptor { name, description, additional_constraints, .. } = descriptor;
    size_of::<ParameterDescriptor>() + name.len() + description.len() + additional_constraints.len()
}

/// A reason of limited length.
pub(super) fn shortened(mut reason: String) -> String {
    if reason.len() > LONGEST_REASON {
        reason.truncate(reason.floor_char_boundary(LONGEST_REASON));
        reason.push_str("..");
    }
    reason
}
