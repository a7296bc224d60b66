//! TCPROS framing: after the headers, each message follows its length, a 32-bit little-endian number.
//!
//! [`FrameReader`] splits a stream into messages. It never reserves memory for a length that a peer only announced:
//! buffers grow as bytes arrive. Runnel nodes that agree on it in both headers (`runnel_delivery=1`) may put
//! statements between messages. [`SendQueue`] holds the messages that a slow subscriber has not read, up to a bound,
//! and drops the oldest first.

mod frame;
mod response;
mod send_queue;

pub use frame::{
    AcceptedLength, FrameError, FrameReader, IncompleteFrame, StreamItem, frame, length_prefix, try_frame,
};
pub use response::{Response, ResponseReader, append_response, response_prefix};
pub use send_queue::SendQueue;

/// Bytes of the length before a message.
pub const LENGTH: usize = 4;

/// Marks a statement where a length is expected. No message is this long.
pub const STATEMENT_MARK: u32 = u32::MAX;

/// Bytes of a statement after the mark.
pub const STATEMENT: usize = 24;
