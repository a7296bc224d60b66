//! The streams of a subscription whose guest has moved away: which of the messages that its host still receives the guest
//! needs there. The counterpart of [`Joining`](super::joining::Joining).

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use runnel::core::time::Instant;

use super::joining::{Arrived, Positions, Publisher};

/// Messages that are kept in case the target asks for them, at most.
const MOST_KEPT: usize = 4096;

/// How long to wait for messages that the target asks for: it goes on without them then.
const PATIENCE: Duration = Duration::from_secs(1);

/// What is to be sent to the target.
#[derive(Debug)]
pub enum Passed<T> {
    Message(Arrived<T>),
    /// No more messages of this publisher come before the number for which the target has asked.
    End(Publisher),
}

/// See the module's documentation.
#[derive(Debug)]
pub struct Passing<T> {
    /// The last number of each publisher in ROS 2.
    last: BTreeMap<[u8; 16], u64>,
    kept: VecDeque<([u8; 16], u64, T)>,
    /// What the target asks for: all before these numbers.
    asked: BTreeMap<[u8; 16], Asked>,
    /// Publishers in ROS 1 whose messages the target needs.
    wanted: BTreeSet<String>,
    due: Vec<Passed<T>>,
}

#[derive(Debug)]
struct Asked {
    before: u64,
    until: Instant,
}

impl<T> Passing<T> {
    /// With what the guest had received when it was suspended.
    pub fn new(positions: &Positions) -> Self {
        Self {
            last: positions.numbers.iter().copied().collect(),
            kept: VecDeque::new(),
            asked: BTreeMap::new(),
            wanted: positions.tails.iter().map(|(name, _)| name.clone()).collect(),
            due: Vec::new(),
        }
    }

    /// This host has received a message.
    pub fn receive(&mut self, arrived: Arrived<T>) {
        match arrived.publisher {
            Publisher::Ros1(ref name) if self.wanted.contains(name) => {
                self.due.push(Passed::Message(arrived));
            }
            Publisher::Ros1(_) => {}
            Publisher::Ros2(gid) => {
                let last = self.last.entry(gid).or_default();
                *last = arrived.number.max(*last);
                if self.asked.get(&gid).is_some_and(|asked| arrived.number < asked.before) {
                    self.due.push(Passed::Message(arrived));
                } else if !self.asked.contains_key(&gid) {
                    if self.kept.len() >= MOST_KEPT {
                        self.kept.pop_front();
                    }
                    self.kept.push_back((gid, arrived.number, arrived.message));
                }
                self.end_if_complete(gid);
            }
        }
    }

    /// The target asks for all messages of a publisher before a number.
    pub fn ask(&mut self, publisher: Publisher, before: u64, now: Instant) {
        let Publisher::Ros2(gid) = publisher else { return };
        let due = extract(&mut self.kept, |(of, number, _)| *of == gid && *number < before);
        for (gid, number, message) in due {
            let publisher = Publisher::Ros2(gid);
            self.due.push(Passed::Message(Arrived { publisher, number, digest: 0, message }));
        }
        self.asked.insert(gid, Asked { before, until: now + PATIENCE });
        self.end_if_complete(gid);
    }

    /// The target has found out where the streams of a publisher meet.
    pub fn enough(&mut self, publisher: &Publisher) {
        if let Publisher::Ros1(name) = publisher {
            self.wanted.remove(name);
        }
    }

    /// Gives up on messages that do not arrive.
    pub fn handle_timeout(&mut self, now: Instant) {
        let late: Vec<[u8; 16]> =
            self.asked.iter().filter(|(_, asked)| asked.until <= now).map(|(gid, _)| *gid).collect();
        late.into_iter().for_each(|gid| self.end(gid));
    }

    /// What is to be sent now.
    pub fn take_due(&mut self) -> Vec<Passed<T>> {
        std::mem::take(&mut self.due)
    }

    /// Whether the target needs nothing more of it, unless it asks.
    pub fn is_idle(&self) -> bool {
        self.wanted.is_empty() && self.asked.is_empty() && self.due.is_empty()
    }

    fn end_if_complete(&mut self, gid: [u8; 16]) {
        let last = self.last.get(&gid).copied().unwrap_or(0);
        if self.asked.get(&gid).is_some_and(|asked| last.saturating_add(1) >= asked.before) {
            self.end(gid);
        }
    }

    fn end(&mut self, gid: [u8; 16]) {
        self.asked.remove(&gid);
        self.due.push(Passed::End(Publisher::Ros2(gid)));
    }
}

/// Takes the elements that match out of a queue, in order.
fn extract<T>(queue: &mut VecDeque<T>, is_meant: impl Fn(&T) -> bool) -> VecDeque<T> {
    let (taken, rest) = std::mem::take(queue).into_iter().partition(is_meant);
    *queue = rest;
    taken
}
