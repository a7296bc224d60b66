//! What the ends of one run are told to do, and what of it is told apart in the results.

use std::fmt;
use std::time::Duration;

use runnel_floor::{Touch, Trial};
use serde::{Serialize, Serializer};

use super::{Exchange, Placement};
use crate::commands::bench::faults::Fault;
use crate::commands::bench::usage::SETTLING;
use crate::output::counted;

/// How often the memory of a message exists at most: in the sender's queue, the kernel, and the receiver's queue.
const COPIES: u64 = 3;

/// How long two processes may take to be joined by one of many topics.
const TOPIC: Duration = Duration::from_millis(20);

/// How long one of many ends may take to be there.
const END: Duration = Duration::from_millis(500);

/// One kind of run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// What is exchanged first.
    pub exchange: Exchange,
    /// Bytes of payload: so many messages of each, one size after the other.
    pub sizes: Vec<usize>,
    /// Messages of each size, and of each that takes turns, that count.
    pub count: u64,
    /// Messages before those.
    pub warm_up: u64,
    /// Messages a second; as soon as they may be sent if `None`.
    pub rate: Option<u32>,
    /// Messages that may be unanswered, where no answer is waited for.
    pub watermark: Option<u64>,
    /// What is done with the payload, where that is told apart.
    pub touch: Option<Touch>,
    /// Pairs that do so at once, where there may be several.
    pub pairs: Option<usize>,
    /// Topics there, where there may be several.
    pub topics: Option<usize>,
    /// Ends that receive, where there may be several.
    pub subscribers: Option<usize>,
    /// How long the ends are watched for, where that is what is measured: before the first message, if there is no rate.
    pub watched: Option<Duration>,
    /// What is done to the network meanwhile.
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

    /// What the ends do in all: they know nothing of turns but that numbers go on.
    pub fn whole_trial(&self) -> Trial {
        let parts = (self.sizes.len() * self.exchange.by_turns().len()) as u64;
        let Trial { size, count, warm_up } = self.trial();
        Trial { size, count: count * parts, warm_up: warm_up * parts }
    }

    /// What is told apart in the results of one run, in the order of the parts of its stamps.
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

    /// Percent of the datagrams, where that is varied.
    fn lost_datagrams(&self) -> Option<u32> {
        match self.fault {
            Some(Fault::Lossy(percent)) => Some(percent),
            _ => None,
        }
    }

    /// The rate, where there are several: none at all is 0 then.
    fn varied_rate(&self) -> Option<u32> {
        match self.watched {
            Some(_) => Some(self.rate.unwrap_or(0)),
            None => self.rate.filter(|_| self.sizes.len() > 1),
        }
    }

    /// How long it takes at least: its messages if none is late, the time that its ends are watched for, and as long as
    /// the slowest contestant should need to join all that are many.
    pub fn duration(&self) -> Duration {
        let messages = self.rate.map_or(0.0, |rate| self.whole_trial().total() as f64 / f64::from(rate));
        let joining = TOPIC * self.topics.unwrap_or(0) as u32 + END * self.subscribers.unwrap_or(0) as u32;
        Duration::from_secs_f64(messages)
            + self.watched.map_or(Duration::ZERO, |span| SETTLING + span)
            + joining
    }

    /// How long ends may take beyond that: what may be lost need not be waited for.
    pub fn patience(&self) -> Duration {
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

    /// What ends are told beside how much.
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

/// The name in results of what is done with the payload.
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

/// What is exchanged, and where: what is told apart in the results.
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
    /// What is done with the payload, where that is told apart.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "payload_by_name")]
    pub payload: Option<Touch>,
    /// Pairs that do so at once.
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
    /// One in which nothing else is varied.
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

/// As progress names it.
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
    fn ends_are_told_of_what_differs_from_one_message_after_the_other() {
        let plain = Task::of(Exchange::PingPong, 10, 5, 1);
        assert!(plain.options().is_empty());
        let tasks = Exchange::FlowPairs.tasks(Amount::QUICK, &[]);
        let told = "--rate 400 --watermark 50 --sizes 128,524288,1048576,1572864";
        assert_eq!(tasks[2].options().join(" "), told);
        let tasks = Exchange::Subscribers.tasks(Amount::QUICK, &[]);
        assert_eq!(tasks[1].options().join(" "), "--rate 100 --subscribers 4");
        let tasks = Exchange::Sizes.tasks(Amount::QUICK, &[]);
        assert!(tasks[1].options().join(" ").ends_with(" --touch write"));
    }

    #[test]
    fn a_case_is_named_by_all_that_is_varied() {
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
    fn what_takes_turns_is_a_case_of_its_own() {
        let task = &Exchange::SetParam.tasks(Amount::QUICK, &[])[0];
        let cases: Vec<Exchange> = task.cases(Placement::OneCore).iter().map(|case| case.exchange).collect();
        assert_eq!(cases, [Exchange::SetParam, Exchange::GetParam]);
        assert_eq!((task.whole_trial().count, task.whole_trial().warm_up), (400, 40));
    }

    #[test]
    fn slow_rates_and_crowds_are_given_their_time() {
        let of = |exchange: Exchange, index: usize| exchange.tasks(Amount::FULL, &[10])[index].duration();
        assert_eq!(of(Exchange::PingPong, 0), Duration::ZERO);
        assert_eq!(of(Exchange::Rates, 0), Duration::from_secs(40));
        assert_eq!(of(Exchange::Topics, 3), Duration::from_secs(20));
        assert_eq!(of(Exchange::Idle, 3), Duration::from_secs(2 + 10 + 20));
        assert_eq!(of(Exchange::Subscribers, 6), Duration::from_secs(3 + 32));
    }

    #[test]
    fn memory_is_bounded_by_queues_and_by_what_is_sent() {
        let of = |exchange: Exchange, amount| exchange.tasks(amount, &[]).last().unwrap().memory();
        assert_eq!(of(Exchange::Queue, Amount::FULL), 5000 * 60_000 * 3);
        assert_eq!(of(Exchange::Queue, Amount::QUICK), 500 * 60_000 * 3);
        assert_eq!(of(Exchange::Flow, Amount::FULL), 100 * 1_835_008 * 3);
        assert_eq!(of(Exchange::Subscribers, Amount::FULL), 100 * 10 * 3 * 64);
    }
}
