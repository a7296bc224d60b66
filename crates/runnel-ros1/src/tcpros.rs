//! TCPROS framing: after the headers, every message is led by its 32-bit little-endian length.
//!
//! [`FrameReader`] cuts a stream into messages and keeps to the rule that no length from a peer reserves memory: room
//! grows as bytes arrive. Between messages there may be statements, of nodes of Runnel that say so in both headers
//! (`runnel_delivery=1`). [`SendQueue`] holds what a slow subscriber has not taken, up to a bound, oldest dropped
//! first.

mod frame;
mod response;
mod send_queue;

pub use frame::{
    AcceptedLength, FrameError, FrameReader, IncompleteFrame, Part, frame, length_of, try_frame,
};
pub use response::{Response, ResponseReader, response, response_head};
pub use send_queue::SendQueue;

/// Bytes of the length that leads a message.
pub const LENGTH: usize = 4;

/// What stands in place of a length before a statement of two ends that agree on such: no message is so long.
pub const STATEMENT_MARK: u32 = u32::MAX;

/// Bytes of a statement behind that.
pub const STATEMENT: usize = 24;
