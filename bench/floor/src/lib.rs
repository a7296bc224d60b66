//! The floor of the bench: the same exchanges as every contestant's, with nothing between them and the operating
//! system. What a middleware adds is the distance to it.
//!
//! It shares no code with the runtime that is measured against it. Times are nanoseconds of `CLOCK_MONOTONIC`, which all
//! processes of one host read alike.
#![deny(unsafe_code)]

mod chain;
mod cut;
mod flow;
#[expect(unsafe_code, reason = "it maps memory that two processes share")]
mod futex;
mod pace;
mod packets;
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

    /// A message with the number 0, whose payload was written, so that it has memory of its own: all pages of zeros that
    /// nobody has written are one, which fits any cache.
    pub fn message(&self) -> Vec<u8> {
        let mut message = vec![1; self.size.max(NUMBER)];
        set_number(&mut message, 0);
        message
    }
}

/// A trial, and how its messages are sent.
#[derive(Clone, Debug)]
pub struct Course {
    /// How many; of what size if there are no others.
    pub trial: Trial,
    /// Of what sizes.
    pub sizes: Sizes,
    /// When each is due.
    pub pace: Pace,
    /// What is done with the payload.
    pub touch: Touch,
}

impl Course {
    /// Messages of one size, each as soon as it may be, whose payload nobody touches.
    pub fn plain(trial: Trial) -> Self {
        Self { trial, sizes: Sizes::of(trial, &[]), pace: Pace::new(None), touch: Touch::None }
    }
}
