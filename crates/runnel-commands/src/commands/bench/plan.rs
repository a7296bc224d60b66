//! The plan of measurements: scenarios, placements, amounts.

mod exchange;
mod task;

use serde::{Serialize, Serializer};

pub use exchange::{BEFORE_CUT, Exchange, Figure};
pub use task::{Case, Task};

/// Bytes of an int parameter; other sizes are strings.
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
    /// Sizes from 128 B to 1.75 MiB at 20 to 1000 messages a second
    #[value(name = "B")]
    Rates,
    /// Ping-pong at a rate, without waiting for each answer; then by several pairs at once
    #[value(name = "D")]
    Flow,
    /// The operating system's own transports between two processes: ping-pong of `--size`
    #[value(name = "ipc")]
    Ipc,
    /// A text, a hundred times a second
    #[value(name = "hello")]
    Hello,
    /// Two integers from the first node to the second, which adds, to the third
    #[value(name = "chain")]
    Chain,
    /// 10 B to 8 MiB: handed over, also written, also read
    #[value(name = "sizes")]
    Sizes,
    /// Two processes joined by 1 to 1000 topics; one topic of 1 to 64 subscribers
    #[value(name = "scale")]
    Scale,
    /// CPU time of two processes joined by 1 to 1000 topics: without messages, then with a message every 10 ms on one
    #[value(name = "idle")]
    Idle,
    /// Calls of a service: each with its own connection, then all on one
    #[value(name = "service")]
    Service,
    /// Calls of a ROS 2 service
    #[value(name = "service-ros2")]
    Ros2Service,
    /// Ping-pong from ROS 1 to ROS 2 and back through the bridge, and within each graph
    #[value(name = "bridge")]
    Bridge,
    /// Setting and getting a parameter: an int, then a string of 100 B
    #[value(name = "param")]
    Param,
    /// The wire of ROS 2 over UDP: ping-pong, reliable and best effort
    #[value(name = "udp")]
    Udp,
    /// 1 kB at 250 a second while datagrams are lost, doubled and reordered
    #[value(name = "loss")]
    Loss,
    /// 2 MiB at 30 a second, best effort
    #[value(name = "large")]
    Large,
    /// A minute without network: how soon messages arrive again
    #[value(name = "blackout")]
    Blackout,
    /// Memory, threads and wake-ups of idle programs; time to a first message
    #[value(name = "footprint")]
    Footprint,
}

impl Scenario {
    /// All, in the order in which they are measured.
    pub const ALL: [Self; 19] = [
        Self::PingPong,
        Self::Queue,
        Self::Rates,
        Self::Flow,
        Self::Ipc,
        Self::Hello,
        Self::Chain,
        Self::Sizes,
        Self::Scale,
        Self::Idle,
        Self::Service,
        Self::Ros2Service,
        Self::Bridge,
        Self::Param,
        Self::Udp,
        Self::Loss,
        Self::Large,
        Self::Blackout,
        Self::Footprint,
    ];

    /// The exchanges of the scenario, one after the other.
    pub fn exchanges(self) -> &'static [Exchange] {
        match self {
            Self::PingPong => &[Exchange::PingPong],
            Self::Queue => &[Exchange::Queue],
            Self::Rates => &[Exchange::Rates],
            Self::Flow => &[Exchange::Flow, Exchange::FlowPairs],
            Self::Ipc => &[Exchange::Ipc],
            Self::Hello => &[Exchange::Hello],
            Self::Chain => &[Exchange::Chain],
            Self::Sizes => &[Exchange::Sizes],
            Self::Scale => &[Exchange::Topics, Exchange::Subscribers],
            Self::Idle => &[Exchange::Idle],
            Self::Service => &[Exchange::CallOnce, Exchange::CallPersistent],
            Self::Ros2Service => &[Exchange::Ros2Call],
            Self::Bridge => &[Exchange::Bridge],
            Self::Param => &[Exchange::SetParam],
            Self::Udp => &[Exchange::Reliable, Exchange::BestEffort],
            Self::Loss => &[Exchange::Loss],
            Self::Large => &[Exchange::Large],
            Self::Blackout => &[Exchange::Blackout],
            Self::Footprint => &[],
        }
    }
}

/// Where the two ends run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

impl Serialize for Placement {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// How much is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Amount {
    /// Turns that each contestant has in each placement.
    pub rounds: u32,
    /// Rounds of exchanges that take minutes.
    pub long_rounds: u32,
    /// Ping-pongs, or calls on one connection, that count per turn.
    pub pings: u64,
    /// Ping-pongs before those.
    pub warm_up: u64,
    /// Messages of one burst.
    pub burst: u64,
    /// Calls that involve the master, per turn.
    pub calls: u64,
    /// Messages a second.
    pub rates: &'static [u32],
    /// Messages of each size at one rate, one way.
    pub of_size: u64,
    /// Messages of each size at one rate, in both directions.
    pub answered: u64,
    /// Messages per turn at a hundred per second.
    pub paced: u64,
    /// Messages per turn at the same rate to many subscribers.
    pub to_many: u64,
    /// Topics that join two processes.
    pub topics: &'static [usize],
    /// Subscribers of one topic.
    pub subscribers: &'static [usize],
    /// Seconds for which idle programs are watched.
    pub idle_seconds: u64,
    /// Seconds without network.
    pub blackout_seconds: u64,
}

impl Amount {
    /// The published amounts, where there are any.
    pub const FULL: Self = Self {
        rounds: 5,
        long_rounds: 2,
        pings: 10_000,
        warm_up: 1000,
        burst: 5000,
        calls: 2000,
        rates: &[20, 40, 100, 200, 400, 1000],
        of_size: 100,
        answered: 300,
        paced: 1000,
        to_many: 300,
        topics: &[1, 10, 100, 1000],
        subscribers: &[1, 2, 4, 8, 16, 32, 64],
        idle_seconds: 10,
        blackout_seconds: 60,
    };
    /// Enough to see that everything works.
    pub const QUICK: Self = Self {
        rounds: 2,
        long_rounds: 1,
        pings: 1000,
        warm_up: 100,
        burst: 500,
        calls: 200,
        rates: &[200, 1000],
        of_size: 10,
        answered: 10,
        paced: 30,
        to_many: 30,
        topics: &[1, 10],
        subscribers: &[1, 4],
        idle_seconds: 2,
        blackout_seconds: 2,
    };
}
