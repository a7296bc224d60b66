//! One-way latency of messages without a time stamp.
//!
//! For every topic, each process records ([`Recorder`]) the time of the n-th message on `CLOCK_MONOTONIC`, which all
//! processes of one host share, and a digest of the message's bytes. When it ends it writes its records
//! ([`Log::write`]). The reader of both logs joins them message by message ([`join()`]), computes the usual
//! statistics ([`Statistics`]) and prints them ([`table()`]).

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
