//! The streams of a subscription that moves: what the guest gets of the messages that both hosts receive.
//!
//! The source has received up to some message of each publisher when the guest is suspended there. The target has received
//! messages of its own since its links stand, and the source passes on what it receives later. In ROS 2, numbers show
//! which messages are the same; in ROS 1, [`Meeting`] does. Nothing is lost, doubled or reordered if the links of the target
//! stand before the guest is suspended, or if the source still receives what the target has missed.

use std::collections::{BTreeMap, VecDeque};

use runnel::core::time::Instant;
use serde::{Deserialize, Serialize};

use super::meeting::{Meeting, Tail};
use crate::bounded;

/// Messages of a publisher that wait for those before them, at most.
const MOST_HELD: usize = 4096;

/// A publisher, as a subscription knows it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Publisher {
    /// In ROS 2, where its messages have numbers.
    Ros2([u8; 16]),
    /// In ROS 1: its node.
    Ros1(String),
}

/// A message of a publisher.
#[derive(Debug)]
pub struct Arrived<T> {
    pub publisher: Publisher,
    /// In ROS 2.
    pub number: u64,
    /// In ROS 1.
    pub digest: u64,
    pub message: T,
}

/// What a subscription has received of its publishers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Positions {
    /// The last number of each publisher in ROS 2.
    #[serde(deserialize_with = "bounded::list::<1_000, _, _>")]
    pub numbers: Vec<([u8; 16], u64)>,
    /// The last messages of each publisher in ROS 1.
    #[serde(deserialize_with = "bounded::list::<1_000, _, _>")]
    pub tails: Vec<(String, Tail)>,
}

impl Positions {
    /// Whether they can be those of a subscription.
    pub fn are_sound(&self) -> bool {
        self.tails.iter().all(|(_, tail)| tail.is_sound())
    }
}

/// What is to be done after an arrival.
#[derive(Debug, PartialEq, Eq)]
pub enum Step<T> {
    Deliver(T),
    /// The source is to pass on what it has of this publisher before this number, and to say when it has.
    Ask {
        publisher: Publisher,
        before: u64,
    },
    /// The source is to pass on no more of this publisher.
    Enough(Publisher),
}

/// See the module's documentation.
#[derive(Debug)]
pub struct Joining<T> {
    numbered: BTreeMap<[u8; 16], Numbered<T>>,
    unnumbered: BTreeMap<String, Unnumbered<T>>,
}

/// A publisher in ROS 2.
#[derive(Debug)]
struct Numbered<T> {
    /// The last one that the guest has got; 0 if none.
    last: u64,
    phase: Phase<T>,
}

#[derive(Debug)]
enum Phase<T> {
    /// This host has received nothing.
    Begins,
    /// Messages wait for those before them, which the source may have.
    Waits(Vec<(u64, T)>),
    /// This host's messages follow those that the guest has got.
    Joined,
}

/// A publisher in ROS 1.
#[derive(Debug)]
struct Unnumbered<T> {
    meeting: Meeting,
    /// Messages of this host, and how many there were before them.
    own: VecDeque<T>,
    before: u64,
    /// Once it is known where the streams meet: how many of the next messages of this host the guest has got already.
    joined: Option<usize>,
}

impl<T> Joining<T> {
    /// With what the source had received when the guest was suspended.
    pub fn new(positions: Positions, now: Instant) -> Self {
        let numbered = |(publisher, last)| (publisher, Numbered { last, phase: Phase::Begins });
        let unnumbered = |(publisher, tail)| (publisher, Unnumbered::new(Meeting::new(tail, now)));
        Self {
            numbered: positions.numbers.into_iter().map(numbered).collect(),
            unnumbered: positions.tails.into_iter().map(unnumbered).collect(),
        }
    }

    /// A message that this host has received.
    pub fn receive_own(&mut self, arrived: Arrived<T>, now: Instant, steps: &mut Vec<Step<T>>) {
        let Arrived { publisher, number, digest, message } = arrived;
        match publisher {
            Publisher::Ros2(gid) => {
                let numbered = self.numbered.entry(gid).or_insert(Numbered { last: 0, phase: Phase::Begins });
                numbered.receive_own(gid, (number, message), steps);
            }
            // The source has no link to a publisher of which it had received nothing, or does not pass it on.
            Publisher::Ros1(name) => match self.unnumbered.get_mut(&name) {
                Some(Unnumbered { joined: Some(got), .. }) if *got > 0 => *got -= 1,
                Some(unnumbered) if unnumbered.joined.is_none() => {
                    unnumbered.receive_own(digest, message, now);
                    unnumbered.join(&name, now, steps);
                }
                _ => steps.push(Step::Deliver(message)),
            },
        }
    }

    /// A message that the source passes on.
    pub fn receive_relayed(&mut self, arrived: Arrived<T>, now: Instant, steps: &mut Vec<Step<T>>) {
        let Arrived { publisher, number, digest, message } = arrived;
        match publisher {
            Publisher::Ros2(gid) => {
                let numbered = self.numbered.entry(gid).or_insert(Numbered { last: 0, phase: Phase::Begins });
                if number > numbered.last && !matches!(numbered.phase, Phase::Joined) {
                    numbered.last = number;
                    steps.push(Step::Deliver(message));
                }
            }
            Publisher::Ros1(name) => {
                if let Some(unnumbered) = self.unnumbered.get_mut(&name).filter(|of| of.joined.is_none()) {
                    unnumbered.meeting.add_of_source(digest, now);
                    steps.push(Step::Deliver(message));
                    unnumbered.join(&name, now, steps);
                }
            }
        }
    }

    /// The source has passed on all that it has of a publisher before the number for which it was asked.
    pub fn end_of_relayed(&mut self, publisher: &Publisher, steps: &mut Vec<Step<T>>) {
        if let Publisher::Ros2(gid) = publisher
            && let Some(numbered) = self.numbered.get_mut(gid)
        {
            numbered.join(steps);
        }
    }

    /// Looks for streams that meet in silence.
    pub fn handle_timeout(&mut self, now: Instant, steps: &mut Vec<Step<T>>) {
        for (name, unnumbered) in self.unnumbered.iter_mut().filter(|(_, of)| of.joined.is_none()) {
            if unnumbered.meeting.due() <= now {
                unnumbered.join(name, now, steps);
            }
        }
    }

    /// When [`handle_timeout`](Self::handle_timeout) is to be called.
    pub fn due(&self) -> Option<Instant> {
        let waiting = self.unnumbered.values().filter(|of| of.joined.is_none());
        waiting.map(|of| of.meeting.due()).min()
    }

    /// The source passes on no more. Returns whether the streams of all publishers had met before; of the others, the guest
    /// gets what this host has received as if both had received the same until now.
    pub fn end(&mut self, steps: &mut Vec<Step<T>>) -> bool {
        let mut have_met = true;
        for numbered in self.numbered.values_mut() {
            have_met &= !matches!(numbered.phase, Phase::Waits(_));
            numbered.join(steps);
        }
        for unnumbered in self.unnumbered.values_mut().filter(|of| of.joined.is_none()) {
            have_met = false;
            unnumbered.join_at(unnumbered.meeting.offset_in_silence(), steps);
        }
        have_met
    }

    /// The last numbers that the guest has got.
    pub fn numbers(&self) -> Vec<([u8; 16], u64)> {
        let got = self.numbered.iter().filter(|(_, of)| of.last > 0);
        got.map(|(gid, of)| (*gid, of.last)).collect()
    }

    /// Whether the guest needs nothing more from the source.
    #[cfg(test)]
    pub fn is_joined(&self) -> bool {
        self.unnumbered.values().all(|of| of.joined.is_some())
            && !self.numbered.values().any(|of| matches!(of.phase, Phase::Waits(_)))
    }
}

impl<T> Numbered<T> {
    fn receive_own(&mut self, gid: [u8; 16], (number, message): (u64, T), steps: &mut Vec<Step<T>>) {
        match &mut self.phase {
            Phase::Begins if number > self.last.saturating_add(1) => {
                self.phase = Phase::Waits(vec![(number, message)]);
                steps.push(Step::Ask { publisher: Publisher::Ros2(gid), before: number });
                return;
            }
            Phase::Waits(held) if held.len() < MOST_HELD => return held.push((number, message)),
            Phase::Waits(_) => {
                self.join(steps);
            }
            Phase::Begins | Phase::Joined => self.phase = Phase::Joined,
        }
        self.deliver(number, message, steps);
    }

    fn join(&mut self, steps: &mut Vec<Step<T>>) {
        if let Phase::Waits(held) = std::mem::replace(&mut self.phase, Phase::Joined) {
            held.into_iter().for_each(|(number, message)| self.deliver(number, message, steps));
        }
    }

    fn deliver(&mut self, number: u64, message: T, steps: &mut Vec<Step<T>>) {
        if number > self.last {
            self.last = number;
            steps.push(Step::Deliver(message));
        }
    }
}

impl<T> Unnumbered<T> {
    fn new(meeting: Meeting) -> Self {
        Self { meeting, own: VecDeque::new(), before: 0, joined: None }
    }

    fn receive_own(&mut self, digest: u64, message: T, now: Instant) {
        self.meeting.add_own(digest, now);
        self.own.push_back(message);
        // The source is ahead of this host by less than that, or the oldest have been passed on.
        if self.own.len() > MOST_HELD {
            self.own.pop_front();
            self.before += 1;
        }
    }

    fn join(&mut self, name: &str, now: Instant, steps: &mut Vec<Step<T>>) {
        if let Some(offset) = self.meeting.offset(now) {
            self.join_at(Some(offset), steps);
            steps.push(Step::Enough(Publisher::Ros1(name.to_owned())));
        }
    }

    /// Delivers the messages that the guest has not got. Without an offset these are none.
    fn join_at(&mut self, offset: Option<i64>, steps: &mut Vec<Step<T>>) {
        self.joined = Some(0);
        let own = std::mem::take(&mut self.own);
        let Some(offset) = offset else { return };
        let got = self.meeting.received() as i64 - offset - self.before as i64;
        let got = usize::try_from(got).unwrap_or(0);
        self.joined = Some(got.saturating_sub(own.len()));
        steps.extend(own.into_iter().skip(got).map(Step::Deliver));
    }
}

#[cfg(test)]
mod tests;
