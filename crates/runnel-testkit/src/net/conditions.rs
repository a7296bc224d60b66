//! Delay and segmentation of a network.

use std::time::Duration;

/// Delay and segmentation of the bytes between two programs.
#[derive(Clone, Debug)]
pub struct Conditions {
    /// Shortest and longest delay of a segment. Segments of one connection stay in order.
    pub latency: (Duration, Duration),
    /// How bytes of one write are split into segments.
    pub split: Split,
    /// Percentage of segments that are held back until the next one has arrived, and read together with it.
    pub merged: u32,
}

/// How bytes of one write are split into segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split {
    /// Not split.
    Whole,
    /// One byte per segment.
    Bytes,
    /// At up to three random places.
    Random,
}

impl Conditions {
    /// One millisecond of delay, no splitting or merging.
    pub fn calm() -> Self {
        let latency = Duration::from_millis(1);
        Self { latency: (latency, latency), split: Split::Whole, merged: 0 }
    }

    /// 0.1 to 30 ms of delay, random splitting, a third of the segments merged.
    pub fn rough() -> Self {
        let latency = (Duration::from_micros(100), Duration::from_millis(30));
        Self { latency, split: Split::Random, merged: 33 }
    }

    /// As [`calm`](Self::calm), but one byte per segment.
    pub fn byte_by_byte() -> Self {
        Self { split: Split::Bytes, ..Self::calm() }
    }
}
