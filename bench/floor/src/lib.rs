//! The floor of the bench: the same exchanges as every contestant's, with nothing between them and the operating
//! system. What a middleware adds is the distance to it.
//!
//! It shares no code with the runtime that is measured against it. Times are nanoseconds of `CLOCK_MONOTONIC`, which
//! all processes of one host read alike.
#![forbid(unsafe_code)]

mod stamps;
mod tcp;

pub use stamps::{NUMBER, Stamp, Stamps, now, number, set_number};
pub use tcp::{Connections, Tcp};

/// What is exchanged: numbered messages from 0 on, each with its number in the first [`NUMBER`] bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trial {
    /// Bytes of one message, at least [`NUMBER`].
    pub size: usize,
    /// Messages that count.
    pub count: u64,
    /// Messages before those, whose times are not kept.
    pub warm_up: u64,
}

impl Trial {
    /// Messages in all.
    pub fn total(&self) -> u64 {
        self.warm_up.saturating_add(self.count)
    }

    /// A message with the number 0.
    pub fn message(&self) -> Vec<u8> {
        vec![0; self.size.max(NUMBER)]
    }
}
