//! What the ends of a run do with each other.

use std::time::Duration;

use runnel_floor::Touch;
use serde::{Serialize, Serializer};

use super::{Amount, INT, Placement, Task};
use crate::commands::bench::faults::Fault;
use crate::commands::bench::published::HELLO;
use crate::commands::bench::usage::SETTLING;

const KIB: usize = 1024;

/// The sizes of the published evaluation: seven steps of 256 KiB.
const SIZES: [usize; 8] =
    [128, 256 * KIB, 512 * KIB, 768 * KIB, 1024 * KIB, 1280 * KIB, 1536 * KIB, 1792 * KIB];

/// Those of its pairs.
const PAIR_SIZES: [usize; 4] = [128, 512 * KIB, 1024 * KIB, 1536 * KIB];

/// Sizes for which handing over, writing and reading are separate cases.
const PART_SIZES: [usize; 8] = [10, KIB, 16 * KIB, 64 * KIB, 256 * KIB, 1024 * KIB, 2048 * KIB, 8192 * KIB];

/// Messages that may be unanswered, as published.
const WATERMARK: u64 = 50;

/// Messages a second of the published pairs.
const PAIR_RATE: u32 = 400;

/// Messages a second where each comes alone.
const CALM: u32 = 100;

/// The same for messages of up to 8 MiB.
const CALMER: u32 = 50;

/// Sizes of ping-pong over UDP, each one datagram.
const UDP_SIZES: [usize; 2] = [10, 1000];

/// Percent of datagrams lost in each direction.
const LOSSES: [u32; 4] = [0, 10, 30, 50];

/// Messages a second of a camera.
const VIDEO: u32 = 30;

/// Time with messages before the network is cut, and after that.
pub const BEFORE_CUT: Duration = Duration::from_secs(3);
const AFTER_CUT: Duration = Duration::from_secs(12);

/// What two or more ends do with each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exchange {
    /// One message at a time in both directions.
    PingPong,
    /// All messages at once, one way.
    Queue,
    /// Messages of growing size at a rate, one way.
    Rates,
    /// Messages of growing size at a rate, in both directions.
    Flow,
    /// The same by several pairs at once.
    FlowPairs,
    /// One message at a time in both directions, of any size.
    Ipc,
    /// Texts.
    Hello,
    /// Three ends in a row.
    Chain,
    /// Messages of growing size whose payload is handed over, written or read.
    Sizes,
    /// One message at a time, on one of many topics and back.
    Topics,
    /// One message to many.
    Subscribers,
    /// Few or no messages on one of many topics.
    Idle,
    /// Service calls with a look-up and a connection each.
    CallOnce,
    /// Calls of a service on one connection.
    CallPersistent,
    /// Calls of a ROS 2 service.
    Ros2Call,
    /// One message at a time in both directions, from ROS 1 to ROS 2 or within one of them.
    Bridge,
    /// Setting a parameter at the master.
    SetParam,
    /// Getting a parameter from the master.
    GetParam,
    /// Ping-pong over UDP, reliable.
    Reliable,
    /// Ping-pong over UDP, best effort.
    BestEffort,
    /// Reliable messages at a rate over a network that loses datagrams.
    Loss,
    /// Large best-effort messages at a rate.
    Large,
    /// Messages at a rate over a network that fails for a while.
    Blackout,
}

/// The figure by which contestants are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// Messages a second: more is better.
    Rate,
    /// From sending to the (last) callback.
    OneWay,
    /// From sending to the callback with the answer.
    RoundTrip,
    /// CPU time of the end that receives.
    Cpu,
}

impl Exchange {
    /// The letter or the name.
    pub fn name(self) -> &'static str {
        match self {
            Self::PingPong => "C",
            Self::Queue => "A",
            Self::Rates => "B",
            Self::Flow => "D",
            Self::FlowPairs => "D-pairs",
            Self::Ipc => "ipc",
            Self::Hello => "hello",
            Self::Chain => "chain",
            Self::Sizes => "sizes",
            Self::Topics => "scale-topics",
            Self::Subscribers => "scale-subscribers",
            Self::Idle => "idle",
            Self::CallOnce => "service-once",
            Self::CallPersistent => "service-persistent",
            Self::Ros2Call => "service-ros2",
            Self::Bridge => "bridge",
            Self::SetParam => "param-set",
            Self::GetParam => "param-get",
            Self::Reliable => "udp-reliable",
            Self::BestEffort => "udp-best-effort",
            Self::Loss => "loss",
            Self::Large => "large",
            Self::Blackout => "blackout",
        }
    }

    /// The exchanges of one run that begins with this one, which take turns: of two, message 0 belongs to the first,
    /// message 1 to the second, message 2 to the first again.
    pub fn by_turns(self) -> Vec<Self> {
        match self {
            Self::SetParam => vec![Self::SetParam, Self::GetParam],
            _ => vec![self],
        }
    }

    /// The figure by which it is compared.
    pub fn figure(self) -> Figure {
        match self {
            Self::Queue => Figure::Rate,
            Self::Idle => Figure::Cpu,
            Self::Rates | Self::Hello | Self::Chain | Self::Sizes | Self::Subscribers => Figure::OneWay,
            Self::Loss | Self::Large | Self::Blackout => Figure::OneWay,
            _ => Figure::RoundTrip,
        }
    }

    /// Whether one end calls and waits for an answer: a lost call does not affect the others.
    pub fn is_call(self) -> bool {
        matches!(
            self,
            Self::CallOnce | Self::CallPersistent | Self::Ros2Call | Self::SetParam | Self::GetParam
        )
    }

    /// Whether the master takes part in each call, so that each contestant needs its own master on a given CPU.
    pub fn uses_master(self) -> bool {
        matches!(self, Self::CallOnce | Self::SetParam | Self::GetParam)
    }

    /// Whether only contestants with the ROS 2 wire take part.
    pub fn is_ros2(self) -> bool {
        matches!(self, Self::Reliable | Self::BestEffort | Self::Ros2Call) || self.counts_faults()
    }

    /// Whether lost messages are counted, and turns with losses count.
    pub fn counts_faults(self) -> bool {
        matches!(self, Self::Loss | Self::Large | Self::Blackout)
    }

    /// The quality of service, where it is not the ends' default.
    pub fn quality(self) -> Option<&'static str> {
        match self {
            Self::BestEffort | Self::Large => Some("best-effort"),
            Self::Loss => Some("keep-all"),
            _ => None,
        }
    }

    /// Messages that queues hold on either side.
    pub fn depth(self) -> usize {
        match self {
            Self::Queue => 5000,
            Self::Rates | Self::Hello | Self::Chain => 1000,
            Self::Flow | Self::FlowPairs | Self::Subscribers | Self::Idle => 100,
            Self::Sizes => 20,
            Self::PingPong | Self::Ipc | Self::Topics | Self::Bridge => 10,
            Self::Reliable | Self::BestEffort | Self::Large | Self::Blackout => 10,
            Self::Loss => 1000,
            _ => 1,
        }
    }

    /// The real-time priority that all ends should have.
    pub fn priority(self) -> Option<i32> {
        match self {
            Self::Queue | Self::Rates | Self::Flow | Self::FlowPairs => Some(99),
            _ => None,
        }
    }

    /// Where it is measured.
    pub fn placements(self) -> &'static [Placement] {
        match self {
            // CPU time of each process is counted, so a shared CPU gives the most exact figure.
            Self::Idle => &[Placement::OneCore],
            // What the bridge adds is the cost of its own work.
            Self::Bridge => &[Placement::OneCore],
            // These wait for timers, not for a CPU.
            Self::Loss | Self::Blackout => &[Placement::OneCore],
            _ => &Placement::ALL,
        }
    }

    /// Rounds of the exchange.
    pub fn rounds(self, amount: Amount) -> u32 {
        match self {
            Self::Rates | Self::Flow | Self::FlowPairs | Self::Sizes | Self::Subscribers | Self::Idle => {
                amount.long_rounds
            }
            Self::Loss | Self::Large => amount.long_rounds,
            Self::Blackout => 1,
            _ => amount.rounds,
        }
    }

    /// All tasks of the exchange. Ping-pong of any size has the sizes `asked`.
    pub fn tasks(self, amount: Amount, asked: &[usize]) -> Vec<Task> {
        let pings = |size: usize| Task::of(self, size, amount.pings, amount.warm_up);
        match self {
            Self::PingPong => vec![pings(10)],
            Self::CallPersistent => vec![pings(1)],
            Self::Ros2Call | Self::Bridge => vec![pings(10)],
            Self::Ipc => asked.iter().map(|size| pings(*size)).collect(),
            Self::Topics => {
                amount.topics.iter().map(|topics| Task { topics: Some(*topics), ..pings(10) }).collect()
            }
            Self::Queue => [50, 60_000].map(|size| Task::of(self, size, amount.burst, 0)).to_vec(),
            Self::CallOnce => vec![self.calls(1, amount)],
            Self::SetParam | Self::GetParam => [INT, 100].map(|size| self.calls(size, amount)).to_vec(),
            Self::Hello => vec![self.paced(HELLO, amount.paced)],
            Self::Chain => vec![self.paced(8, amount.paced)],
            Self::Subscribers => self.to_many(amount),
            Self::Idle => self.quiet(amount),
            Self::Rates => self.at_rates(&SIZES, amount.of_size, amount.rates),
            Self::Sizes => self.touched(amount),
            Self::Flow => self.answered(&SIZES, amount, amount.rates),
            Self::FlowPairs => self.of_pairs(amount),
            Self::Reliable | Self::BestEffort => UDP_SIZES.map(pings).to_vec(),
            Self::Loss => LOSSES.map(|percent| self.lossy(percent, amount)).to_vec(),
            Self::Large => {
                let count = amount.of_size * 3;
                vec![Task { rate: Some(VIDEO), ..Task::of(self, 2 * KIB * KIB, count, 0) }]
            }
            Self::Blackout => vec![self.cut(Duration::from_secs(amount.blackout_seconds))],
        }
    }

    /// A network that loses this percentage, and messages for six seconds.
    fn lossy(self, percent: u32, amount: Amount) -> Task {
        let fault = Some(Fault::Lossy(percent));
        Task { rate: Some(250), fault, ..Task::of(self, 1000, amount.of_size * 15, 0) }
    }

    /// Messages before the network fails, while it is away, and after that.
    fn cut(self, away: Duration) -> Task {
        let rate = CALM / 4;
        let seconds = (BEFORE_CUT + away + AFTER_CUT).as_secs();
        let fault = Some(Fault::Cut(away));
        Task { rate: Some(rate), fault, ..Task::of(self, 1000, u64::from(rate) * seconds, 0) }
    }

    fn calls(self, size: usize, amount: Amount) -> Task {
        Task::of(self, size, amount.calls, amount.calls / 10)
    }

    fn paced(self, size: usize, count: u64) -> Task {
        Task { rate: Some(CALM), ..Task::of(self, size, count, 0) }
    }

    fn to_many(self, amount: Amount) -> Vec<Task> {
        let task = self.paced(10, amount.to_many);
        let to = |subscribers: &usize| Task { subscribers: Some(*subscribers), ..task.clone() };
        amount.subscribers.iter().map(to).collect()
    }

    /// First without messages, then with few.
    fn quiet(self, amount: Amount) -> Vec<Task> {
        let of = |rate| amount.topics.iter().map(move |topics| self.watched(*topics, rate, amount));
        [None, Some(CALM)].into_iter().flat_map(of).collect()
    }

    /// So many topics, and messages on one of them until the watch ends, and one second longer. Without a rate there
    /// is one message after the watch, which shows that the ends are still connected.
    fn watched(self, topics: usize, rate: Option<u32>, amount: Amount) -> Task {
        let count = rate.map_or(1, |rate| u64::from(rate) * (SETTLING.as_secs() + amount.idle_seconds + 1));
        let watched = Some(Duration::from_secs(amount.idle_seconds));
        Task { topics: Some(topics), rate, watched, ..Task::of(self, 10, count, 0) }
    }

    fn touched(self, amount: Amount) -> Vec<Task> {
        let tasks = self.at_rates(&PART_SIZES, amount.of_size / 2, &[CALMER]);
        let touched = |touch| tasks.iter().map(move |task| Task { touch: Some(touch), ..task.clone() });
        [Touch::None, Touch::Write, Touch::Read].into_iter().flat_map(touched).collect()
    }

    fn of_pairs(self, amount: Amount) -> Vec<Task> {
        let tasks = self.answered(&PAIR_SIZES, amount, &[PAIR_RATE]);
        let of = |pairs| tasks.iter().map(move |task| Task { pairs: Some(pairs), ..task.clone() });
        [1, 2, 3].into_iter().flat_map(of).collect()
    }

    /// In both directions, with at most the published number of unanswered messages.
    fn answered(self, sizes: &[usize], amount: Amount, rates: &[u32]) -> Vec<Task> {
        let tasks = self.at_rates(sizes, amount.answered, rates);
        tasks.into_iter().map(|task| Task { watermark: Some(WATERMARK), ..task }).collect()
    }

    /// So many messages of each size in one run, for each rate.
    fn at_rates(self, sizes: &[usize], count: u64, rates: &[u32]) -> Vec<Task> {
        let at = |rate: &u32| Task {
            sizes: sizes.to_vec(),
            rate: Some(*rate),
            ..Task::of(self, sizes.iter().copied().max().unwrap_or_default(), count, 0)
        };
        rates.iter().map(at).collect()
    }
}

impl Serialize for Exchange {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_and_sizes_match_the_publication() {
        let tasks = Exchange::Rates.tasks(Amount::FULL, &[]);
        let rates: Vec<u32> = tasks.iter().filter_map(|task| task.rate).collect();
        assert_eq!(rates, [20, 40, 100, 200, 400, 1000]);
        for task in &tasks {
            assert_eq!((task.whole_trial().total(), task.whole_trial().size), (800, 1_835_008));
            assert!(task.sizes[1..].windows(2).all(|pair| pair[1] - pair[0] == 256 * 1024));
        }
    }

    #[test]
    fn pairs_flow_at_one_rate() {
        let tasks = Exchange::FlowPairs.tasks(Amount::FULL, &[]);
        let of: Vec<_> = tasks.iter().map(|task| (task.pairs, task.rate, task.watermark)).collect();
        assert_eq!(of, [1, 2, 3].map(|pairs| (Some(pairs), Some(400), Some(50))));
        assert!(Exchange::Flow.depth() as u64 > WATERMARK, "the queue holds all unanswered messages");
    }

    #[test]
    fn crowds_have_fewer_turns_and_messages() {
        let task = &Exchange::Subscribers.tasks(Amount::FULL, &[])[6];
        assert_eq!((Exchange::Subscribers.rounds(Amount::FULL), task.count), (2, 300));
        for exchange in [Exchange::Hello, Exchange::Chain] {
            assert_eq!(
                (exchange.rounds(Amount::FULL), exchange.tasks(Amount::FULL, &[])[0].count),
                (5, 1000)
            );
        }
    }

    #[test]
    fn ends_are_watched_without_and_with_messages() {
        let tasks = Exchange::Idle.tasks(Amount::FULL, &[]);
        let of: Vec<_> = tasks.iter().map(|task| (task.topics, task.rate, task.count)).collect();
        assert_eq!((of[3], of[4]), ((Some(1000), None, 1), (Some(1), Some(100), 1300)));
        assert_eq!((of.len(), tasks[0].watched), (8, Some(Duration::from_secs(10))));
        assert_eq!(Exchange::Idle.placements(), [Placement::OneCore]);
    }

    #[test]
    fn ipc_ping_pong_uses_the_requested_sizes() {
        let tasks = Exchange::Ipc.tasks(Amount::QUICK, &[10, 4096]);
        assert_eq!(tasks.iter().map(|task| task.sizes.clone()).collect::<Vec<_>>(), [[10], [4096]]);
    }
}
