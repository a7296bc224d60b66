//! TCPROS framing: after the headers, every message is led by its 32-bit little-endian length.
//!
//! [`FrameReader`] cuts a stream into messages and keeps to the rule that no length from a peer reserves memory: room
//! grows as bytes arrive. [`SendQueue`] holds what a slow subscriber has not taken, up to a bound, oldest dropped
//! first.

mod frame;
mod response;
mod send_queue;

pub use frame::{
    AcceptedLength, FrameError, FrameReader, IncompleteFrame, LengthBeyondLimit, frame, try_frame,
};
pub use response::{Response, ResponseReader, response, response_head};
pub use send_queue::{Front, QueueBound, SendQueue};

/// Longest message that is accepted, in bytes; roscpp's limit as well.
pub const MAX_MESSAGE: usize = 1_000_000_000;

/// Bytes of the length that leads a message.
pub const LENGTH: usize = 4;
