//! Result of one run: the stamps of both ends, joined by message number.

use std::collections::{HashMap, HashSet};

use runnel_floor::{Stamp, Trial};

use super::failure::Failure;
use super::plan::{Exchange, Figure, Task};
use super::usage::Cost;

/// The stamps of both ends in one run.
#[derive(Debug, Default)]
pub struct RunStamps {
    /// When the first end sent each message.
    pub sent: Vec<Stamp>,
    /// When the other end received each message (not for calls).
    pub arrived: Vec<Stamp>,
    /// When the first end had each message back or answered (not for one-way exchanges).
    pub back: Vec<Stamp>,
    /// How late each message was sent, where messages have a rate.
    pub late: Vec<Stamp>,
}

impl RunStamps {
    /// Stamps of sent messages, with their lateness if they have a rate. The first message was on time.
    pub fn sent(sent: Vec<Stamp>, rate: Option<u32>) -> Self {
        let first = sent.iter().min_by_key(|stamp| stamp.number).copied();
        let late = |stamp: &Stamp| {
            let (first, rate) = (first?, u64::from(rate?));
            let due = first.nanos + (stamp.number - first.number).saturating_mul(1_000_000_000) / rate;
            Some(Stamp { nanos: stamp.nanos.saturating_sub(due), ..*stamp })
        };
        let late = sent.iter().filter_map(late).collect();
        Self { sent, late, ..Self::default() }
    }

    /// Time from `at` to the first message.
    pub fn first_after(&self, at: u64) -> Option<u64> {
        let first = self.arrived.iter().map(|stamp| stamp.nanos).filter(|nanos| *nanos >= at).min();
        first.map(|nanos| nanos - at)
    }

    /// The stamps of each case of a task, renumbered from 0: one case per exchange that takes turns, or per size.
    pub fn parts(&self, task: &Task) -> Vec<Self> {
        let turns = task.exchange.by_turns().len() as u64;
        if turns > 1 {
            return (0..turns).map(|turn| self.of(|number| (number % turns, number / turns), turn)).collect();
        }
        let sizes = task.sizes.len() as u64;
        let each = if sizes > 1 { task.count } else { u64::MAX };
        (0..sizes).map(|size| self.of(|number| (number / each, number % each), size)).collect()
    }

    /// The stamps of one part, where `place` gives each message its part and its number in the part.
    fn of(&self, place: impl Fn(u64) -> (u64, u64), part: u64) -> Self {
        let one = |stamps: &[Stamp]| {
            let placed = stamps.iter().map(|stamp| (place(stamp.number), stamp.nanos));
            let of_part = placed.filter(|((of, _), _)| *of == part);
            of_part.map(|((_, number), nanos)| Stamp { number, nanos }).collect()
        };
        Self {
            sent: one(&self.sent),
            arrived: one(&self.arrived),
            back: one(&self.back),
            late: one(&self.late),
        }
    }
}

/// When each message had reached the last of several ends. A message that misses an end counts as lost.
pub fn last_of(mut ends: Vec<Vec<Stamp>>) -> Vec<Stamp> {
    if ends.len() == 1 {
        return ends.remove(0);
    }
    let mut last = HashMap::<u64, (usize, u64)>::new();
    let mut doubled = Vec::new();
    for end in &ends {
        let mut here = HashSet::new();
        for stamp in end {
            if !here.insert(stamp.number) {
                doubled.push(*stamp);
                continue;
            }
            let (count, nanos) = last.entry(stamp.number).or_default();
            (*count, *nanos) = (*count + 1, stamp.nanos.max(*nanos));
        }
    }
    let everywhere = last.into_iter().filter(|(_, (count, _))| *count == ends.len());
    let mut all: Vec<Stamp> = everywhere.map(|(number, (_, nanos))| Stamp { number, nanos }).collect();
    all.sort_unstable_by_key(|stamp| stamp.number);
    // The first arrival counts; duplicates are only counted.
    all.extend(doubled);
    all
}

/// Result of one run. All times are nanoseconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Messages sent, without the warm-up.
    pub sent: u64,
    /// Messages that did not arrive or come back, and calls without a correct answer.
    pub lost: u64,
    /// Messages that arrived or came back more than once.
    pub doubled: u64,
    /// Messages that arrived after a later one (first arrivals only).
    pub out_of_order: u64,
    /// From sending to receiving, in ping-pong both ways (not for calls).
    pub one_way: Vec<u64>,
    /// From sending to the answer, in the order of sending (not for one-way exchanges).
    pub round_trip: Vec<u64>,
    /// How late messages were sent, where they have a rate.
    pub late: Vec<u64>,
    /// From the first sending to the last arrival; 0 for calls.
    pub span: u64,
    /// From the network's return to the first message, after a blackout.
    pub healed: Option<u64>,
    /// Cost of the ends, where it is measured.
    pub costs: Option<Costs>,
}

/// Cost of both ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Costs {
    /// The end that receives.
    pub receiver: Cost,
    /// The end that sends.
    pub sender: Cost,
}

impl Outcome {
    /// Joins the stamps of a run.
    ///
    /// # Errors
    /// When they do not belong to the same messages, or a message arrived before it was sent.
    pub fn of(exchange: Exchange, trial: Trial, run_stamps: &RunStamps) -> Result<Self, Failure> {
        let sent = Times::of(&run_stamps.sent, trial)?;
        let arrived = Times::of(&run_stamps.arrived, trial)?;
        let back = Times::of(&run_stamps.back, trial)?;
        let one_way = delays(&sent, &arrived)?;
        let round_trip = delays(&sent, &back)?;
        let answered = exchange.figure() == Figure::RoundTrip;
        let came = if answered { round_trip.len() } else { one_way.len() };
        let mut outcome = Self {
            sent: sent.count(),
            lost: sent.count() - came as u64,
            doubled: arrived.doubled + back.doubled,
            out_of_order: overtaken(&run_stamps.arrived),
            one_way,
            round_trip,
            late: run_stamps.late.iter().map(|stamp| stamp.nanos).collect(),
            span: span(&run_stamps.sent, &run_stamps.arrived),
            healed: None,
            costs: None,
        };
        if answered && !exchange.is_call() {
            outcome.one_way.extend(delays(&arrived, &back)?);
        }
        Ok(outcome)
    }

    /// Adds the result of another group of the same run.
    pub fn join(&mut self, other: Self) {
        self.sent += other.sent;
        self.lost += other.lost;
        self.doubled += other.doubled;
        self.out_of_order += other.out_of_order;
        self.one_way.extend(other.one_way);
        self.round_trip.extend(other.round_trip);
        self.late.extend(other.late);
        self.span = self.span.max(other.span);
        self.healed = self.healed.max(other.healed);
        self.costs = self.costs.or(other.costs);
    }

    /// Messages a second, from the first sending to the last arrival.
    pub fn messages_per_second(&self) -> Option<f64> {
        let received = self.sent.checked_sub(self.lost)?;
        (self.span > 0).then(|| received as f64 * 1e9 / self.span as f64)
    }
}

/// When each message of a trial was first stamped.
struct Times {
    at: Vec<Option<u64>>,
    doubled: u64,
}

impl Times {
    fn of(stamps: &[Stamp], trial: Trial) -> Result<Self, Failure> {
        let mut times = Self { at: vec![None; trial.count as usize], doubled: 0 };
        for stamp in stamps {
            let index = stamp.number.checked_sub(trial.warm_up).and_then(|index| usize::try_from(index).ok());
            let place = index.and_then(|index| times.at.get_mut(index));
            let unknown =
                || Failure::Contradiction(format!("message {} is not part of the trial", stamp.number));
            match place.ok_or_else(unknown)? {
                Some(_) => times.doubled += 1,
                place => *place = Some(stamp.nanos),
            }
        }
        Ok(times)
    }

    fn count(&self) -> u64 {
        self.at.iter().flatten().count() as u64
    }
}

/// Delay of each message that is in both.
fn delays(from: &Times, to: &Times) -> Result<Vec<u64>, Failure> {
    let pairs = from.at.iter().zip(&to.at);
    let delay = |(number, (from, to)): (usize, (&Option<u64>, &Option<u64>))| match (from, to) {
        (_, None) => None,
        (Some(from), Some(to)) if from <= to => Some(Ok(to - from)),
        (None, Some(_)) => {
            Some(Err(Failure::Contradiction(format!("message {number} arrived and was not sent"))))
        }
        _ => Some(Err(Failure::Contradiction(format!("message {number} arrived before it was sent")))),
    };
    pairs.enumerate().filter_map(delay).collect()
}

/// How many messages arrived after one with a higher number.
fn overtaken(arrived: &[Stamp]) -> u64 {
    let mut seen = HashSet::new();
    let mut highest = 0;
    let mut overtaken = 0;
    for stamp in arrived.iter().filter(|stamp| seen.insert(stamp.number)) {
        overtaken += u64::from(stamp.number < highest);
        highest = highest.max(stamp.number);
    }
    overtaken
}

fn span(sent: &[Stamp], arrived: &[Stamp]) -> u64 {
    let first = sent.iter().map(|stamp| stamp.nanos).min();
    let last = arrived.iter().map(|stamp| stamp.nanos).max();
    first.zip(last).map_or(0, |(first, last)| last.saturating_sub(first))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamps(pairs: &[(u64, u64)]) -> Vec<Stamp> {
        pairs.iter().map(|&(number, nanos)| Stamp { number, nanos }).collect()
    }

    fn trial(count: u64, warm_up: u64) -> Trial {
        Trial { size: 10, count, warm_up }
    }

    #[test]
    fn ping_pong_has_latencies_and_round_trips() {
        let run_stamps = RunStamps {
            sent: stamps(&[(5, 100), (6, 200)]),
            arrived: stamps(&[(5, 103), (6, 204)]),
            back: stamps(&[(5, 110), (6, 206)]),
            ..RunStamps::default()
        };
        let outcome = Outcome::of(Exchange::PingPong, trial(2, 5), &run_stamps).unwrap();
        assert_eq!(outcome.one_way, [3, 4, 7, 2]);
        assert_eq!(outcome.round_trip, [10, 6]);
        assert_eq!((outcome.sent, outcome.lost, outcome.doubled), (2, 0, 0));
    }

    #[test]
    fn burst_rate_covers_its_whole_span() {
        let run_stamps = RunStamps {
            sent: stamps(&[(0, 0), (1, 10)]),
            arrived: stamps(&[(0, 500), (1, 1000)]),
            ..RunStamps::default()
        };
        let outcome = Outcome::of(Exchange::Queue, trial(2, 0), &run_stamps).unwrap();
        assert_eq!((outcome.one_way.as_slice(), outcome.span), (&[500, 990][..], 1000));
        assert_eq!(outcome.messages_per_second(), Some(2e6));
    }

    #[test]
    fn lost_and_doubled_messages_are_counted() {
        let run_stamps = RunStamps {
            sent: stamps(&[(0, 0), (1, 0), (2, 0)]),
            arrived: stamps(&[(0, 5), (2, 6), (2, 7)]),
            ..RunStamps::default()
        };
        let outcome = Outcome::of(Exchange::Queue, trial(3, 0), &run_stamps).unwrap();
        assert_eq!((outcome.sent, outcome.lost, outcome.doubled), (3, 1, 1));
        assert_eq!(outcome.out_of_order, 0, "a duplicate is not out of order");
        let run_stamps = RunStamps { back: stamps(&[(0, 9)]), ..run_stamps };
        assert_eq!(Outcome::of(Exchange::PingPong, trial(3, 0), &run_stamps).unwrap().lost, 2);
    }

    #[test]
    fn overtaken_messages_are_counted() {
        let arrived = stamps(&[(1, 5), (0, 6), (4, 7), (2, 8), (3, 9), (4, 10), (5, 11)]);
        assert_eq!(overtaken(&arrived), 3);
    }

    #[test]
    fn network_heals_with_its_first_message() {
        let run_stamps = RunStamps { arrived: stamps(&[(0, 5), (1, 30), (2, 20)]), ..RunStamps::default() };
        assert_eq!((run_stamps.first_after(6), run_stamps.first_after(31)), (Some(14), None));
    }

    #[test]
    fn call_has_only_a_round_trip() {
        let run_stamps = RunStamps {
            sent: stamps(&[(5, 100), (6, 200)]),
            back: stamps(&[(5, 107)]),
            ..RunStamps::default()
        };
        let outcome = Outcome::of(Exchange::CallOnce, trial(2, 5), &run_stamps).unwrap();
        assert_eq!((outcome.sent, outcome.lost, outcome.round_trip.as_slice()), (2, 1, &[7][..]));
        assert_eq!((outcome.one_way.len(), outcome.messages_per_second()), (0, None));
    }

    #[test]
    fn turns_are_separated_by_message_number() {
        let run_stamps = RunStamps {
            sent: stamps(&[(2, 10), (3, 20), (4, 30), (5, 40)]),
            back: stamps(&[(2, 11), (3, 22), (4, 33), (5, 44)]),
            ..RunStamps::default()
        };
        let trips = |run_stamps: &RunStamps| {
            Outcome::of(Exchange::SetParam, trial(2, 1), run_stamps).unwrap().round_trip
        };
        let task = |exchange| Task::of(exchange, 10, 2, 1);
        let parts = run_stamps.parts(&task(Exchange::SetParam));
        assert_eq!(parts.iter().map(trips).collect::<Vec<_>>(), [[1, 3], [2, 4]]);
        let parts = run_stamps.parts(&task(Exchange::CallOnce));
        assert_eq!((parts.len(), &parts[0].sent), (1, &run_stamps.sent));
    }

    #[test]
    fn each_size_has_its_own_stamps() {
        let sent = stamps(&[(0, 1000), (1, 1_001_500), (2, 2_001_000), (3, 3_000_900)]);
        let arrived = stamps(&[(0, 1010), (1, 1_001_520), (3, 3_000_940)]);
        let run_stamps = RunStamps { arrived, ..RunStamps::sent(sent, Some(1000)) };
        let task = Task { sizes: vec![10, 20], ..Task::of(Exchange::Rates, 20, 2, 0) };
        let of = |run_stamps: &RunStamps| Outcome::of(Exchange::Rates, task.trial(), run_stamps).unwrap();
        let [small, large] = [0, 1].map(|part| of(&run_stamps.parts(&task)[part]));
        assert_eq!((small.one_way.as_slice(), small.late.as_slice()), (&[10, 20][..], &[0, 500][..]));
        assert_eq!((small.sent, small.lost, large.sent, large.lost), (2, 0, 2, 1));
        // A message that is sent early is not late.
        assert_eq!((large.one_way, large.late), (vec![40], vec![0, 0]));
    }

    #[test]
    fn message_to_many_arrives_with_the_last() {
        let ends = [&[(0, 5), (1, 9)][..], &[(0, 7), (1, 8), (2, 3)], &[(0, 6), (0, 9), (1, 10)]];
        let last = last_of(ends.map(stamps).to_vec());
        assert_eq!(last, stamps(&[(0, 7), (1, 10), (0, 9)]), "2 did not come to all, 0 came twice to one");
        assert_eq!(last_of(vec![stamps(&[(3, 1)])]), stamps(&[(3, 1)]));
    }

    #[test]
    fn results_of_pairs_are_joined() {
        let one = |trip: u64, lost| Outcome {
            sent: 2,
            lost,
            one_way: vec![trip / 2],
            round_trip: vec![trip],
            late: vec![1],
            span: trip,
            doubled: 1,
            ..Outcome::default()
        };
        let mut both = one(10, 0);
        both.join(one(30, 1));
        assert_eq!((both.sent, both.lost, both.doubled, both.span), (4, 1, 2, 30));
        assert_eq!((both.one_way, both.round_trip, both.late), (vec![5, 15], vec![10, 30], vec![1, 1]));
    }

    #[test]
    fn impossible_stamps_are_refused() {
        let of = |sent, arrived| {
            let run_stamps =
                RunStamps { sent: stamps(sent), arrived: stamps(arrived), ..RunStamps::default() };
            Outcome::of(Exchange::Queue, trial(2, 1), &run_stamps).map_err(|failure| failure.to_string())
        };
        assert!(of(&[(0, 1)], &[]).unwrap_err().contains("not part of the trial"));
        assert!(of(&[(3, 1)], &[]).unwrap_err().contains("not part of the trial"));
        assert!(of(&[(1, 10)], &[(1, 9)]).unwrap_err().contains("before it was sent"));
        assert!(of(&[(1, 10)], &[(2, 11)]).unwrap_err().contains("was not sent"));
    }
}
