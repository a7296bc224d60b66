//! Published figures from other machines. They are shown next to ours, never compared with them.

use serde::Serialize;

use super::plan::{Case, Exchange};

const KIB: usize = 1024;

/// A published average.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Published {
    /// The exchange.
    #[serde(rename = "scenario")]
    pub exchange: Exchange,
    /// Bytes of payload.
    pub size: usize,
    /// Messages a second, where that was varied.
    #[serde(rename = "rate_hz")]
    pub rate: Option<u32>,
    /// The system that was measured.
    #[serde(rename = "who")]
    pub system: &'static str,
    /// One-way, or a round trip where messages come back, in nanoseconds.
    pub mean_ns: f64,
}

/// The evaluation of ROS 2, Cyber RT and Isaac; the slides on aibo, on an x86 machine; the paper on the FPGA
/// component, which has two figures for its software.
pub const PUBLISHED: [Published; 13] = [
    of(Exchange::PingPong, 10, "ROS 2", 1_250_000.0),
    of(Exchange::PingPong, 10, "Cyber RT", 231_000.0),
    of(Exchange::PingPong, 10, "Isaac", 12_000.0),
    at_1000(1536 * KIB, "ROS 2", 1_881_000_000.0),
    at_1000(1536 * KIB, "Cyber RT", 1_810_000.0),
    at_1000(1536 * KIB, "Isaac", 1_190_000.0),
    of(Exchange::Ipc, 10, "aibo, Unix", 1820.0),
    of(Exchange::Ipc, 10, "aibo, TCP", 3140.0),
    of(Exchange::Hello, HELLO, "aibo, Unix", 64_800.0),
    of(Exchange::Hello, HELLO, "aibo, TCP", 70_400.0),
    of(Exchange::Chain, 8, "FPGA", 500_000.0),
    of(Exchange::Chain, 8, "software, least", 900_000.0),
    of(Exchange::Chain, 8, "software, most", 1_000_000.0),
];

/// Bytes of the longest text.
pub const HELLO: usize = "hello world 999".len();

const fn of(exchange: Exchange, size: usize, system: &'static str, mean_ns: f64) -> Published {
    Published { exchange, size, rate: None, system, mean_ns }
}

const fn at_1000(size: usize, system: &'static str, mean_ns: f64) -> Published {
    Published { rate: Some(1000), ..of(Exchange::Rates, size, system, mean_ns) }
}

/// The published figures of a case.
pub fn of_case(case: Case) -> impl Iterator<Item = &'static Published> {
    PUBLISHED.iter().filter(move |published| {
        (published.exchange, published.size, published.rate) == (case.exchange, case.size, case.rate)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::bench::plan::{Amount, Placement};

    #[test]
    fn every_published_figure_matches_a_case() {
        for published in PUBLISHED {
            let tasks = published.exchange.tasks(Amount::FULL, &[10]);
            let mut cases = tasks.iter().flat_map(|task| task.cases(Placement::OneCore));
            assert!(cases.any(|case| of_case(case).any(|one| *one == published)), "{published:?}");
        }
    }
}
