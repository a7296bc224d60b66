//! What came of one run: the stamps of both ends, joined by message number.

use runnel_floor::{Stamp, Trial};

use super::failure::Failure;
use super::plan::Exchange;

/// The stamps that both ends took in one run.
#[derive(Debug, Default)]
pub struct Taken {
    /// By the end that begins: when it sent each message.
    pub sent: Vec<Stamp>,
    /// By the other end: when it received each message (not of calls).
    pub arrived: Vec<Stamp>,
    /// By the end that begins: when it had each message back or answered (not of bursts).
    pub back: Vec<Stamp>,
}

impl Taken {
    /// Of messages that are exchanged by so many turns, those of each turn, numbered as if there were no others.
    pub fn turns(&self, turns: usize) -> Vec<Self> {
        let count = turns as u64;
        let one = |stamps: &[Stamp], turn: u64| {
            let of_turn = stamps.iter().filter(|stamp| stamp.number % count == turn);
            of_turn.map(|stamp| Stamp { number: stamp.number / count, ..*stamp }).collect()
        };
        let taken = |turn| Self {
            sent: one(&self.sent, turn),
            arrived: one(&self.arrived, turn),
            back: one(&self.back, turn),
        };
        (0..count).map(taken).collect()
    }
}

/// One run. All times are nanoseconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Messages that were sent and count.
    pub sent: u64,
    /// Messages that did not arrive or come back, calls that were not answered, or wrongly.
    pub lost: u64,
    /// Messages that arrived or came back more than once.
    pub doubled: u64,
    /// From sending to receiving, in ping-pong both ways (not of calls).
    pub one_way: Vec<u64>,
    /// From sending to having it back or answered, in the order of sending (not of bursts).
    pub round_trip: Vec<u64>,
    /// From the first message's sending to the last one's arrival; 0 of calls.
    pub span: u64,
}

impl Outcome {
    /// Joins the stamps of a run.
    ///
    /// # Errors
    /// When they do not belong to the same messages, or a message arrived before it was sent.
    pub fn of(exchange: Exchange, trial: Trial, taken: &Taken) -> Result<Self, Failure> {
        let sent = Times::of(&taken.sent, trial)?;
        let arrived = Times::of(&taken.arrived, trial)?;
        let back = Times::of(&taken.back, trial)?;
        let one_way = delays(&sent, &arrived)?;
        let round_trip = delays(&sent, &back)?;
        let came = if exchange == Exchange::Queue { one_way.len() } else { round_trip.len() };
        let mut outcome = Self {
            sent: sent.count(),
            lost: sent.count() - came as u64,
            doubled: arrived.doubled + back.doubled,
            one_way,
            round_trip,
            span: span(&taken.sent, &taken.arrived),
        };
        if exchange == Exchange::PingPong {
            outcome.one_way.extend(delays(&arrived, &back)?);
        }
        Ok(outcome)
    }

    /// Messages a second, from the first one's sending to the last one's arrival.
    pub fn messages_per_second(&self) -> Option<f64> {
        let received = self.sent.checked_sub(self.lost)?;
        (self.span > 0).then(|| received as f64 * 1e9 / self.span as f64)
    }
}

/// When each message of a trial was stamped first.
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
            let unknown = || Failure::Contradiction(format!("message {} was never to be sent", stamp.number));
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

/// How long each message that is in both took from the one to the other.
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
    fn a_ping_pong_has_latencies_both_ways_and_round_trips() {
        let taken = Taken {
            sent: stamps(&[(5, 100), (6, 200)]),
            arrived: stamps(&[(5, 103), (6, 204)]),
            back: stamps(&[(5, 110), (6, 206)]),
        };
        let outcome = Outcome::of(Exchange::PingPong, trial(2, 5), &taken).unwrap();
        assert_eq!(outcome.one_way, [3, 4, 7, 2]);
        assert_eq!(outcome.round_trip, [10, 6]);
        assert_eq!((outcome.sent, outcome.lost, outcome.doubled), (2, 0, 0));
    }

    #[test]
    fn a_burst_has_a_rate_over_its_whole_span() {
        let taken = Taken {
            sent: stamps(&[(0, 0), (1, 10)]),
            arrived: stamps(&[(0, 500), (1, 1000)]),
            ..Taken::default()
        };
        let outcome = Outcome::of(Exchange::Queue, trial(2, 0), &taken).unwrap();
        assert_eq!((outcome.one_way.as_slice(), outcome.span), (&[500, 990][..], 1000));
        assert_eq!(outcome.messages_per_second(), Some(2e6));
    }

    #[test]
    fn what_is_lost_or_doubled_is_counted() {
        let taken = Taken {
            sent: stamps(&[(0, 0), (1, 0), (2, 0)]),
            arrived: stamps(&[(0, 5), (2, 6), (2, 7)]),
            ..Taken::default()
        };
        let outcome = Outcome::of(Exchange::Queue, trial(3, 0), &taken).unwrap();
        assert_eq!((outcome.sent, outcome.lost, outcome.doubled), (3, 1, 1));
        let taken = Taken { back: stamps(&[(0, 9)]), ..taken };
        assert_eq!(Outcome::of(Exchange::PingPong, trial(3, 0), &taken).unwrap().lost, 2);
    }

    #[test]
    fn a_call_has_a_round_trip_alone() {
        let taken =
            Taken { sent: stamps(&[(5, 100), (6, 200)]), back: stamps(&[(5, 107)]), ..Taken::default() };
        let outcome = Outcome::of(Exchange::CallOnce, trial(2, 5), &taken).unwrap();
        assert_eq!((outcome.sent, outcome.lost, outcome.round_trip.as_slice()), (2, 1, &[7][..]));
        assert_eq!((outcome.one_way.len(), outcome.messages_per_second()), (0, None));
    }

    #[test]
    fn what_takes_turns_is_told_apart_by_its_number() {
        let taken = Taken {
            sent: stamps(&[(2, 10), (3, 20), (4, 30), (5, 40)]),
            back: stamps(&[(2, 11), (3, 22), (4, 33), (5, 44)]),
            ..Taken::default()
        };
        let trips = |taken: &Taken| Outcome::of(Exchange::SetParam, trial(2, 1), taken).unwrap().round_trip;
        assert_eq!(taken.turns(2).iter().map(trips).collect::<Vec<_>>(), [[1, 3], [2, 4]]);
        assert_eq!(taken.turns(1)[0].sent, taken.sent);
    }

    #[test]
    fn stamps_that_cannot_be_are_refused() {
        let of = |sent, arrived| {
            let taken = Taken { sent: stamps(sent), arrived: stamps(arrived), ..Taken::default() };
            Outcome::of(Exchange::Queue, trial(2, 1), &taken).map_err(|failure| failure.to_string())
        };
        assert!(of(&[(0, 1)], &[]).unwrap_err().contains("never to be sent"));
        assert!(of(&[(3, 1)], &[]).unwrap_err().contains("never to be sent"));
        assert!(of(&[(1, 10)], &[(1, 9)]).unwrap_err().contains("before it was sent"));
        assert!(of(&[(1, 10)], &[(2, 11)]).unwrap_err().contains("was not sent"));
    }
}
