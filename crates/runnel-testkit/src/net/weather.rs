//! How a network carries what it is given.

use std::time::Duration;

/// What happens to every segment on its way between two programs.
#[derive(Clone, Debug)]
pub struct Weather {
    /// The shortest and the longest time that a segment is under way. Those of one connection stay in order.
    pub latency: (Duration, Duration),
    /// How what is sent at once is cut into segments.
    pub split: Split,
    /// How many of a hundred segments are held back until the one behind them has arrived, and read with it.
    pub merged: u32,
}

/// How what is sent at once is cut into segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split {
    /// Not at all.
    Whole,
    /// Every byte comes alone.
    Bytes,
    /// At up to three random places.
    Random,
}

impl Weather {
    /// A millisecond for everything, nothing split or merged.
    pub fn calm() -> Self {
        let latency = Duration::from_millis(1);
        Self { latency: (latency, latency), split: Split::Whole, merged: 0 }
    }

    /// From 0.1 to 30 ms, split at random, a third of the segments merged.
    pub fn rough() -> Self {
        let latency = (Duration::from_micros(100), Duration::from_millis(30));
        Self { latency, split: Split::Random, merged: 33 }
    }

    /// As calm as can be, but every byte comes alone.
    pub fn byte_by_byte() -> Self {
        Self { split: Split::Bytes, ..Self::calm() }
    }
}
