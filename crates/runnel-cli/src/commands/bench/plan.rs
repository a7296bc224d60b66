//! What is measured: scenarios, sizes, counts, placements.

use runnel_floor::Trial;
use serde::Serialize;

/// Bytes of a parameter that is an int; other sizes are those of strings.
pub const INT: usize = size_of::<i32>();

/// What `runnel bench` can measure. The letters are those of the published evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Scenario {
    /// Ping-pong: 10 B there and back, again and again
    #[value(name = "C")]
    PingPong,
    /// Queue processing: a burst of 5000 messages of 50 B, then of 60 000 B
    #[value(name = "A")]
    Queue,
    /// Calls of a service: each with its own connection, then all on one
    #[value(name = "service")]
    Service,
    /// Setting and getting a parameter: an int, then a string of 100 B
    #[value(name = "param")]
    Param,
    /// Memory, threads and wake-ups of idle programs; time to a first message
    #[value(name = "footprint")]
    Footprint,
}

impl Scenario {
    /// All, in the order in which they are measured.
    pub const ALL: [Self; 5] = [Self::PingPong, Self::Queue, Self::Service, Self::Param, Self::Footprint];

    /// What is exchanged in each run of it, one kind of run after the other.
    pub fn exchanges(self) -> &'static [Exchange] {
        match self {
            Self::PingPong => &[Exchange::PingPong],
            Self::Queue => &[Exchange::Queue],
            Self::Service => &[Exchange::CallOnce, Exchange::CallPersistent],
            Self::Param => &[Exchange::SetParam],
            Self::Footprint => &[],
        }
    }
}

/// What two ends do with each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Exchange {
    /// One message at a time, there and back.
    #[serde(rename = "C")]
    PingPong,
    /// All messages at once, one way.
    #[serde(rename = "A")]
    Queue,
    /// Calls of a service that is looked up and connected to for each.
    #[serde(rename = "service-once")]
    CallOnce,
    /// Calls of a service on one connection.
    #[serde(rename = "service-persistent")]
    CallPersistent,
    /// Setting a parameter at the master.
    #[serde(rename = "param-set")]
    SetParam,
    /// Getting it from there.
    #[serde(rename = "param-get")]
    GetParam,
}

impl Exchange {
    /// The letter or the name.
    pub fn name(self) -> &'static str {
        match self {
            Self::PingPong => "C",
            Self::Queue => "A",
            Self::CallOnce => "service-once",
            Self::CallPersistent => "service-persistent",
            Self::SetParam => "param-set",
            Self::GetParam => "param-get",
        }
    }

    /// All that is exchanged in one run that begins with this, by turns: of two, message 0 is of the first, message 1 of
    /// the other, message 2 of the first again.
    pub fn by_turns(self) -> Vec<Self> {
        match self {
            Self::SetParam => vec![Self::SetParam, Self::GetParam],
            _ => vec![self],
        }
    }

    /// Whether one end asks, each time for an answer: what one call takes tells nothing of the others.
    pub fn is_call(self) -> bool {
        !matches!(self, Self::PingPong | Self::Queue)
    }

    /// Whether the master takes part in each call, so that each contestant's own one has to run where it is told to.
    pub fn asks_master(self) -> bool {
        matches!(self, Self::CallOnce | Self::SetParam | Self::GetParam)
    }

    /// Bytes of payload of what is exchanged, one series each.
    pub fn sizes(self) -> &'static [usize] {
        match self {
            Self::PingPong => &[10],
            Self::Queue => &[50, 60_000],
            Self::CallOnce | Self::CallPersistent => &[1],
            Self::SetParam | Self::GetParam => &[INT, 100],
        }
    }

    /// Messages that queues hold on either side.
    pub fn depth(self) -> usize {
        match self {
            Self::PingPong => 10,
            Self::Queue => 5000,
            _ => 1,
        }
    }

    /// The real-time priority that both ends should have.
    pub fn priority(self) -> Option<i32> {
        match self {
            Self::Queue => Some(99),
            _ => None,
        }
    }

    /// How much is exchanged, of this alone.
    pub fn trial(self, size: usize, amount: Amount) -> Trial {
        let (count, warm_up) = match self {
            Self::PingPong | Self::CallPersistent => (amount.pings, amount.warm_up),
            Self::Queue => (amount.burst, 0),
            Self::CallOnce | Self::SetParam | Self::GetParam => (amount.calls, amount.calls / 10),
        };
        Trial { size, count, warm_up }
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
    /// Ping-pongs, or calls on one connection, that count in one turn.
    pub pings: u64,
    /// As many before those.
    pub warm_up: u64,
    /// Messages of one burst.
    pub burst: u64,
    /// Calls with the master that count in one turn.
    pub calls: u64,
    /// Seconds that an idle program is watched for.
    pub idle_seconds: u64,
}

impl Amount {
    /// As published, where that was.
    pub const FULL: Self =
        Self { rounds: 5, pings: 10_000, warm_up: 1000, burst: 5000, calls: 2000, idle_seconds: 10 };
    /// Enough to see that everything works.
    pub const QUICK: Self =
        Self { rounds: 2, pings: 1000, warm_up: 100, burst: 500, calls: 200, idle_seconds: 2 };
}
