//! One-way latency of messages that carry no time stamp.
//!
//! Each process records, for every topic, the moment of the n-th message on `CLOCK_MONOTONIC`, which all processes
//! of one host share, and a digest of the message's bytes ([`Recorder`]). At its end it writes the records down
//! ([`Log::write`]); the reader of both logs joins them message by message ([`join()`]), makes the
//! usual statistics ([`Statistics`]) and prints them ([`table()`]).

mod join;
mod log;
mod recorder;
mod statistics;
mod table;

pub use join::{Joined, join};
pub use log::{Log, LogError, TopicLog};
pub use recorder::{Direction, Record, Recorder, TopicId, digest};
pub use statistics::Statistics;
pub(crate) use statistics::at_rank;
pub use table::{PUBLISHED, PUBLISHED_TOPIC, Published, Row, table};
