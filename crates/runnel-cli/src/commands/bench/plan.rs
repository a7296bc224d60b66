//! What is measured: scenarios, sizes, counts, placements.

use runnel_floor::Trial;
use serde::Serialize;

/// What `runnel bench` can measure. The letters are those of the published evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Scenario {
    /// Ping-pong: 10 B there and back, again and again
    #[value(name = "C")]
    PingPong,
    /// Queue processing: a burst of 5000 messages of 50 B, then of 60 000 B
    #[value(name = "A")]
    Queue,
    /// Memory, threads and wake-ups of idle programs; time to a first message
    #[value(name = "footprint")]
    Footprint,
}

/// A scenario in which two ends exchange messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Exchange {
    /// One message at a time, there and back.
    #[serde(rename = "C")]
    PingPong,
    /// All messages at once, one way.
    #[serde(rename = "A")]
    Queue,
}

impl Exchange {
    /// The letter.
    pub fn letter(self) -> &'static str {
        match self {
            Self::PingPong => "C",
            Self::Queue => "A",
        }
    }

    /// Bytes of payload of the messages that are exchanged, one series each.
    pub fn sizes(self) -> &'static [usize] {
        match self {
            Self::PingPong => &[10],
            Self::Queue => &[50, 60_000],
        }
    }

    /// Messages that queues hold on either side.
    pub fn depth(self) -> usize {
        match self {
            Self::PingPong => 10,
            Self::Queue => 5000,
        }
    }

    /// The real-time priority that both ends should have.
    pub fn priority(self) -> Option<i32> {
        match self {
            Self::PingPong => None,
            Self::Queue => Some(99),
        }
    }

    /// What is exchanged.
    pub fn trial(self, size: usize, amount: Amount) -> Trial {
        match self {
            Self::PingPong => Trial { size, count: amount.pings, warm_up: amount.warm_up },
            Self::Queue => Trial { size, count: amount.burst, warm_up: 0 },
        }
    }
}

/// Where the two ends run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// Both on CPU 0.
    OneCore,
    /// One on CPU 0, the other on CPU 1.
    TwoCores,
}

impl Placement {
    /// Both.
    pub const ALL: [Self; 2] = [Self::OneCore, Self::TwoCores];

    /// The name in tables and results.
    pub fn name(self) -> &'static str {
        match self {
            Self::OneCore => "one-core",
            Self::TwoCores => "two-cores",
        }
    }

    /// The CPUs of the end that answers and of the end that begins.
    pub fn cpus(self) -> [usize; 2] {
        match self {
            Self::OneCore => [0, 0],
            Self::TwoCores => [1, 0],
        }
    }
}

/// How much is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Amount {
    /// Turns that each contestant has in each placement.
    pub rounds: u32,
    /// Ping-pongs that count in one turn.
    pub pings: u64,
    /// Ping-pongs before those.
    pub warm_up: u64,
    /// Messages of one burst.
    pub burst: u64,
    /// Seconds that an idle program is watched for.
    pub idle_seconds: u64,
}

impl Amount {
    /// As published.
    pub const FULL: Self = Self { rounds: 5, pings: 10_000, warm_up: 1000, burst: 5000, idle_seconds: 10 };
    /// Enough to see that everything works.
    pub const QUICK: Self = Self { rounds: 2, pings: 1000, warm_up: 100, burst: 500, idle_seconds: 2 };
}
