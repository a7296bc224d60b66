//! The floor of the bench: every contestant's exchanges with nothing between them and the operating system. The
//! difference to it is a middleware's overhead.
//!
//! It shares no code with the measured runtime. Times are nanoseconds of `CLOCK_MONOTONIC`, which is the same for all
//! processes of one host.
#![deny(unsafe_code)]

mod chain;
mod flow;
#[expect(unsafe_code, reason = "it maps memory that two processes share")]
mod futex;
mod pace;
mod packets;
mod splitter;
mod stamps;
mod streams;
mod touch;
mod transport;
mod words;

pub use chain::Chain;
pub use pace::{Pace, Sizes};
pub use packets::{PacketKind, Packets};
pub use stamps::{NUMBER, Stamp, Stamps, now, number, set_number};
pub use streams::{Connections, Streams};
pub use touch::{Touch, sum};
pub use transport::Transport;
pub use words::{Waiting, Words};

/// Messages of an exchange: numbered from 0, each with its number in the first [`NUMBER`] bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trial {
    /// Bytes of one message, at least [`NUMBER`].
    pub size: usize,
    /// Messages that are measured.
    pub count: u64,
    /// Messages of the warm-up, whose times are not kept.
    pub warm_up: u64,
}

impl Trial {
    /// Total number of messages.
    pub fn total(&self) -> u64 {
        self.warm_up.saturating_add(self.count)
    }

    /// A message with the number 0 and a written payload, so that it has its own memory: untouched pages of zeros all
    /// share one page, which fits any cache.
    pub fn message(&self) -> Vec<u8> {
        let mut message = vec![1; self.size.max(NUMBER)];
        set_number(&mut message, 0);
        message
    }
}

/// A trial, and how its messages are sent.
#[derive(Clone, Debug)]
pub struct Course {
    /// Number and default size.
    pub trial: Trial,
    /// Sizes.
    pub sizes: Sizes,
    /// Deadlines.
    pub pace: Pace,
    /// Use of the payload.
    pub touch: Touch,
}

impl Course {
    /// Messages of one size, sent without pauses, whose payload is not touched.
    pub fn plain(trial: Trial) -> Self {
        Self { trial, sizes: Sizes::of(trial, &[]), pace: Pace::new(None), touch: Touch::None }
    }
}
