//! Instructions for the ends of one run, and the cases that its results are split into.

use std::fmt;
use std::time::Duration;

use runnel_floor::{Touch, Trial};
use serde::{Serialize, Serializer};

use super::{Exchange, Placement};
use crate::commands::bench::faults::Fault;
use crate::commands::bench::usage::SETTLING;
use crate::output::counted;

/// Copies of a message in memory at most: in the sender's queue, the kernel, and the receiver's queue.
const COPIES: u64 = 3;

/// How long two processes may take to connect by one of many topics.
const TOPIC: Duration = Duration::from_millis(20);

/// How long one of many ends may take to start.
const END: Duration = Duration::from_millis(500);

/// One kind of run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// The first exchange.
    pub exchange: Exchange,
    /// Bytes of payload: so many messages of each size, one size after the other.
    pub sizes: Vec<usize>,
    /// Messages that count, of each size and each exchange that takes turns.
    pub count: u64,
    /// Messages before those.
    pub warm_up: u64,
    /// Messages a second; as fast as allowed if `None`.
    pub rate: Option<u32>,
    /// Messages that may be unanswered, where the sender does not wait for answers.
    pub watermark: Option<u64>,
    /// What is done with the payload, where that is a case of its own.
    pub touch: Option<Touch>,
    /// Pairs at once, where there may be several.
    pub pairs: Option<usize>,
    /// Topics, where there may be several.
    pub topics: Option<usize>,
    /// Ends that receive, where there may be several.
    pub subscribers: Option<usize>,
    /// How long the ends are watched, where that is measured: before the first message, if there is no rate.
    pub watched: Option<Duration>,
    /// Fault of the network during the run.
    pub fault: Option<Fault>,
}

impl Task {
    /// Messages of one size.
    pub fn of(exchange: Exchange, size: usize, count: u64, warm_up: u64) -> Self {
        Self {
            exchange,
            sizes: vec![size],
            count,
            warm_up,
            rate: None,
            watermark: None,
            touch: None,
            pairs: None,
            topics: None,
            subscribers: None,
            watched: None,
            fault: None,
        }
    }

    /// The greatest size.
    pub fn largest(&self) -> usize {
        self.sizes.iter().copied().max().unwrap_or_default()
    }

    /// How much of each case is exchanged.
    pub fn trial(&self) -> Trial {
        Trial { size: self.largest(), count: self.count, warm_up: self.warm_up }
    }

    /// What the ends do in all: to them, cases are only a range of message numbers.
    pub fn whole_trial(&self) -> Trial {
        let parts = (self.sizes.len() * self.exchange.by_turns().len()) as u64;
        let Trial { size, count, warm_up } = self.trial();
        Trial { size, count: count * parts, warm_up: warm_up * parts }
    }

    /// The cases of one run, in the order of the parts of its stamps.
    pub fn cases(&self, placement: Placement) -> Vec<Case> {
        let case = |size: usize| {
            let case = move |exchange| Case { exchange, size, placement, ..self.case() };
            self.exchange.by_turns().into_iter().map(case)
        };
        self.sizes.iter().flat_map(|size| case(*size)).collect()
    }

    fn case(&self) -> Case {
        Case {
            rate: self.varied_rate(),
            payload: self.touch,
            pairs: self.pairs,
            topics: self.topics,
            subscribers: self.subscribers,
            loss: self.lost_datagrams(),
            ..Case::of(self.exchange, 0, Placement::OneCore)
        }
    }

    /// Percent of lost datagrams, where that is varied.
    fn lost_datagrams(&self) -> Option<u32> {
        match self.fault {
            Some(Fault::Lossy(percent)) => Some(percent),
            _ => None,
        }
    }

    /// The rate, where it is varied: 0 if there is none.
    fn varied_rate(&self) -> Option<u32> {
        match self.watched {
            Some(_) => Some(self.rate.unwrap_or(0)),
            None => self.rate.filter(|_| self.sizes.len() > 1),
        }
    }

    /// Least duration: its messages if none is late, the time of the watch, and the time that the slowest contestant
    /// should need to connect.
    pub fn duration(&self) -> Duration {
        let messages = self.rate.map_or(0.0, |rate| self.whole_trial().total() as f64 / f64::from(rate));
        let joining = TOPIC * self.topics.unwrap_or(0) as u32 + END * self.subscribers.unwrap_or(0) as u32;
        Duration::from_secs_f64(messages)
            + self.watched.map_or(Duration::ZERO, |span| SETTLING + span)
            + joining
    }

    /// How long ends may take beyond that. Messages that may be lost need no long wait.
    pub fn timeout(&self) -> Duration {
        match self.exchange {
            Exchange::Large => Duration::from_secs(8),
            _ => Duration::from_secs(30),
        }
    }

    /// Bytes that its messages may take when queues are full.
    pub fn memory(&self) -> u64 {
        let all = self.sizes.iter().map(|size| *size as u64).sum::<u64>().saturating_mul(self.count);
        let queued = self.largest() as u64 * self.exchange.depth() as u64;
        let ends = self.pairs.unwrap_or(1).max(self.subscribers.unwrap_or(1)) as u64;
        all.min(queued).saturating_mul(COPIES * ends)
    }

    /// Further arguments of the ends.
    pub fn options(&self) -> Vec<String> {
        let sizes = (self.sizes.len() > 1).then(|| {
            let sizes: Vec<String> = self.sizes.iter().map(usize::to_string).collect();
            sizes.join(",")
        });
        let options = [
            ("--rate", self.rate.map(|rate| rate.to_string())),
            ("--watermark", self.watermark.map(|count| count.to_string())),
            ("--sizes", sizes),
            ("--topics", self.topics.map(|count| count.to_string())),
            ("--subscribers", self.subscribers.map(|count| count.to_string())),
            ("--qos", self.exchange.quality().map(str::to_owned)),
            ("--touch", self.touch.map(|touch| touch.name().to_owned())),
        ];
        let given = options.into_iter().filter_map(|(name, value)| Some([name.to_owned(), value?]));
        given.flatten().collect()
    }
}

/// The name of a payload operation in results.
fn payload_name(touch: Touch) -> &'static str {
    match touch {
        Touch::None => "hand-over",
        Touch::Write => "write",
        Touch::Read => "read",
    }
}

fn payload_by_name<S: Serializer>(touch: &Option<Touch>, serializer: S) -> Result<S::Ok, S::Error> {
    touch.map(payload_name).serialize(serializer)
}

/// A case in the results: an exchange and its conditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Case {
    /// What is exchanged.
    #[serde(rename = "scenario")]
    pub exchange: Exchange,
    /// Bytes of payload.
    pub size: usize,
    /// Where the ends run.
    pub placement: Placement,
    /// Messages a second, where that is varied.
    #[serde(rename = "rate_hz", skip_serializing_if = "Option::is_none")]
    pub rate: Option<u32>,
    /// What is done with the payload, where that is a case of its own.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "payload_by_name")]
    pub payload: Option<Touch>,
    /// Pairs at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pairs: Option<usize>,
    /// Topics there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub topics: Option<usize>,
    /// Ends that receive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subscribers: Option<usize>,
    /// Percent of the datagrams that are lost, where that is varied.
    #[serde(rename = "loss_percent", skip_serializing_if = "Option::is_none")]
    pub loss: Option<u32>,
}

impl Case {
    /// A case in which nothing else is varied.
    pub fn of(exchange: Exchange, size: usize, placement: Placement) -> Self {
        Self {
            exchange,
            size,
            placement,
            rate: None,
            payload: None,
            pairs: None,
            topics: None,
            subscribers: None,
            loss: None,
        }
    }
}

/// As in lines of progress.
impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} B ", self.exchange.name(), self.size)?;
        if let Some(rate) = self.rate {
            write!(f, "{rate}/s ")?;
        }
        if let Some(loss) = self.loss {
            write!(f, "{loss}% lost ")?;
        }
        if let Some(payload) = self.payload {
            write!(f, "{} ", payload_name(payload))?;
        }
        for (count, what) in [(self.pairs, "pair"), (self.topics, "topic"), (self.subscribers, "subscriber")]
        {
            if let Some(count) = count {
                write!(f, "{} ", counted(count, what))?;
            }
        }
        f.write_str(self.placement.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::bench::plan::Amount;

    #[test]
    fn options_name_what_differs_from_the_default() {
        let plain = Task::of(Exchange::PingPong, 10, 5, 1);
        assert!(plain.options().is_empty());
        let tasks = Exchange::FlowPairs.tasks(Amount::QUICK, &[]);
        let expected = "--rate 400 --watermark 50 --sizes 128,524288,1048576,1572864";
        assert_eq!(tasks[2].options().join(" "), expected);
        let tasks = Exchange::Subscribers.tasks(Amount::QUICK, &[]);
        assert_eq!(tasks[1].options().join(" "), "--rate 100 --subscribers 4");
        let tasks = Exchange::Sizes.tasks(Amount::QUICK, &[]);
        assert!(tasks[1].options().join(" ").ends_with(" --touch write"));
    }

    #[test]
    fn case_name_lists_varied_properties() {
        let name = |exchange: Exchange, index: usize| {
            let task = &exchange.tasks(Amount::QUICK, &[])[index];
            task.cases(Placement::OneCore)[0].to_string()
        };
        assert_eq!(name(Exchange::PingPong, 0), "C 10 B one-core");
        assert_eq!(name(Exchange::Rates, 0), "B 128 B 200/s one-core");
        assert_eq!(name(Exchange::FlowPairs, 1), "D-pairs 128 B 400/s 2 pairs one-core");
        assert_eq!(name(Exchange::Topics, 0), "scale-topics 10 B 1 topic one-core");
        assert_eq!(name(Exchange::Idle, 1), "idle 10 B 0/s 10 topics one-core");
        assert_eq!(name(Exchange::Idle, 2), "idle 10 B 100/s 1 topic one-core");
        assert_eq!(name(Exchange::Sizes, 0), "sizes 10 B 50/s hand-over one-core");
    }

    #[test]
    fn each_exchange_in_turns_is_a_case() {
        let task = &Exchange::SetParam.tasks(Amount::QUICK, &[])[0];
        let cases: Vec<Exchange> = task.cases(Placement::OneCore).iter().map(|case| case.exchange).collect();
        assert_eq!(cases, [Exchange::SetParam, Exchange::GetParam]);
        assert_eq!((task.whole_trial().count, task.whole_trial().warm_up), (400, 40));
    }

    #[test]
    fn duration_covers_slow_rates_and_crowds() {
        let of = |exchange: Exchange, index: usize| exchange.tasks(Amount::FULL, &[10])[index].duration();
        assert_eq!(of(Exchange::PingPong, 0), Duration::ZERO);
        assert_eq!(of(Exchange::Rates, 0), Duration::from_secs(40));
        assert_eq!(of(Exchange::Topics, 3), Duration::from_secs(20));
        assert_eq!(of(Exchange::Idle, 3), Duration::from_secs(2 + 10 + 20));
        assert_eq!(of(Exchange::Subscribers, 6), Duration::from_secs(3 + 32));
    }

    #[test]
    fn memory_is_bounded_by_queues_and_messages() {
        let of = |exchange: Exchange, amount| exchange.tasks(amount, &[]).last().unwrap().memory();
        assert_eq!(of(Exchange::Queue, Amount::FULL), 5000 * 60_000 * 3);
        assert_eq!(of(Exchange::Queue, Amount::QUICK), 500 * 60_000 * 3);
        assert_eq!(of(Exchange::Flow, Amount::FULL), 100 * 1_835_008 * 3);
        assert_eq!(of(Exchange::Subscribers, Amount::FULL), 100 * 10 * 3 * 64);
    }
}
