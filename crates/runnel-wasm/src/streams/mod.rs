//! The messages that a subscription receives at two hosts while its guest moves from one to the other: which of them the
//! guest gets, so that it gets each once and in order. Without I/O.
//!
//! | Module | Holds |
//! |---|---|
//! | `joining` | what the target does with the messages that it receives, and those that the source passes on |
//! | `passing` | what the source does with the messages that it still receives |
//! | `meeting` | where two streams of one ROS 1 publisher meet |
mod joining;
mod meeting;
mod passing;

pub use joining::{Arrived, Joining, Positions, Publisher, Step};
pub use meeting::{Tail, digest};
pub use passing::{Passed, Passing};
