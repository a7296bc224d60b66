//! The messages of a subscription: to the guest or, while it moves to another host, to its other half there.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use runnel::MessageInfo;
use runnel::core::time::Instant;
use runnel::core::wire::Bytes;
use runnel_io::clock;

use super::events::{Event, EventKind, Events};
use super::received::LastReceived;
use crate::streams::{Arrived, Joining, Passed, Passing, Positions, Publisher, Step, Tail, digest};

/// See the module's documentation. Its callback runs on the guest's own thread.
pub struct Incoming {
    handle: u32,
    events: Arc<Events>,
    state: Mutex<State>,
}

struct State {
    last: LastReceived,
    /// The publishers in ROS 1 from which it has received something: the first ones.
    in_ros1: Vec<String>,
    phase: Phase,
}

enum Phase {
    /// The guest gets the messages.
    Usual,
    /// The guest gets them, and will move: messages in ROS 1 are counted.
    Counting(BTreeMap<String, Tail>),
    /// The guest has moved away.
    Passing(Passing<Event>),
    /// The guest has yet to come.
    Gathering(Gathered),
    /// The guest has come, and its former host still passes messages on.
    Joining(Joining<Event>, Vec<Step<Event>>),
}

/// Messages from before the guest came: the latest.
struct Gathered {
    messages: VecDeque<Arrived<Event>>,
    bytes: usize,
    most_bytes: usize,
}

impl Gathered {
    fn add(&mut self, arrived: Arrived<Event>) {
        self.bytes += arrived.message.size();
        self.messages.push_back(arrived);
        while self.bytes > self.most_bytes && self.messages.len() > 1 {
            self.bytes -= self.messages.pop_front().map_or(0, |first| first.message.size());
        }
    }
}

/// Publishers in ROS 1 that are remembered, at most.
const MOST_PUBLISHERS: usize = 256;

/// Remembers a publisher in ROS 1: a host to which the guest moves may get its latched message again.
fn note_publisher(in_ros1: &mut Vec<String>, info: &MessageInfo) {
    let is_in_ros1 = info.publisher_gid().is_none() || info.publication_sequence_number().is_none();
    let is_known = || in_ros1.iter().any(|name| name == info.publisher());
    if is_in_ros1 && in_ros1.len() < MOST_PUBLISHERS && !is_known() {
        in_ros1.push(info.publisher().to_owned());
    }
}

impl Incoming {
    pub fn new(handle: u32, events: &Arc<Events>) -> Self {
        let state = State { last: LastReceived::default(), in_ros1: Vec::new(), phase: Phase::Usual };
        Self { handle, events: Arc::clone(events), state: Mutex::new(state) }
    }

    /// Of a guest that has yet to come. Keeps so many bytes of messages.
    pub fn gathering(handle: u32, events: &Arc<Events>, most_bytes: usize) -> Self {
        let incoming = Self::new(handle, events);
        let gathered = Gathered { messages: VecDeque::new(), bytes: 0, most_bytes };
        incoming.state().phase = Phase::Gathering(gathered);
        incoming
    }

    /// Takes a message.
    pub fn receive(&self, bytes: Bytes<'_>, info: &MessageInfo) {
        let state = &mut *self.state();
        match &mut state.phase {
            Phase::Usual => {
                if state.last.is_new(info) {
                    note_publisher(&mut state.in_ros1, info);
                    self.events.push_message(self.handle, bytes, info);
                }
            }
            Phase::Counting(tails) => {
                if !state.last.is_new(info) {
                    return;
                }
                let Some(arrived) = self.arrived(bytes, info) else { return };
                if let Publisher::Ros1(name) = arrived.publisher {
                    tails.entry(name).or_default().add(arrived.digest);
                }
                self.events.push(arrived.message);
            }
            Phase::Passing(passing) => {
                self.arrived(bytes, info).into_iter().for_each(|arrived| passing.receive(arrived))
            }
            Phase::Gathering(gathered) => {
                self.arrived(bytes, info).into_iter().for_each(|arrived| gathered.add(arrived))
            }
            Phase::Joining(joining, steps) => {
                if let Some(arrived) = self.arrived(bytes, info) {
                    joining.receive_own(arrived, clock::monotonic(), steps);
                    self.deliver(steps);
                }
            }
        }
    }

    /// What a checkpoint holds of it.
    pub fn positions(&self) -> Positions {
        let state = self.state();
        match &state.phase {
            Phase::Counting(tails) => {
                let tails = tails.iter().map(|(name, tail)| (name.clone(), tail.clone())).collect();
                Positions { numbers: state.last.all(), tails }
            }
            Phase::Joining(joining, _) => Positions { numbers: joining.numbers(), tails: Vec::new() },
            _ => Positions { numbers: state.last.all(), tails: Vec::new() },
        }
    }

    /// Sets what was received before a checkpoint.
    pub fn restore(&self, positions: &Positions) {
        self.state().last.restore(&positions.numbers);
    }

    /// Whether messages in ROS 1 are counted, since the guest is to move.
    pub fn count(&self, counts: bool) {
        let mut state = self.state();
        state.phase = match (std::mem::replace(&mut state.phase, Phase::Usual), counts) {
            (Phase::Usual, true) => {
                let known = state.in_ros1.iter().map(|name| (name.clone(), Tail::default()));
                Phase::Counting(known.collect())
            }
            (Phase::Counting(_), false) => Phase::Usual,
            (other, _) => other,
        };
    }

    /// The guest has moved away.
    pub fn pass_on(&self, positions: &Positions) {
        self.state().phase = Phase::Passing(Passing::new(positions));
    }

    /// The guest has come, with what it had received.
    pub fn join(&self, positions: Positions, now: Instant) {
        let state = &mut *self.state();
        state.last.restore(&positions.numbers);
        let gathered = match std::mem::replace(&mut state.phase, Phase::Usual) {
            Phase::Gathering(gathered) => gathered.messages,
            _ => VecDeque::new(),
        };
        let (mut joining, mut steps) = (Joining::new(positions, now), Vec::new());
        gathered.into_iter().for_each(|arrived| joining.receive_own(arrived, now, &mut steps));
        self.deliver(&mut steps);
        state.phase = Phase::Joining(joining, steps);
    }

    /// A message that the former host passes on.
    pub fn receive_relayed(&self, arrived: Arrived<Event>, now: Instant) {
        self.step(|joining, steps| joining.receive_relayed(arrived, now, steps));
    }

    /// The former host has passed on all before the number for which it was asked.
    pub fn end_of_relayed(&self, publisher: &Publisher) {
        self.step(|joining, steps| joining.end_of_relayed(publisher, steps));
    }

    /// Does what is due. Returns when something is due next.
    pub fn handle_timeout(&self, now: Instant) -> Option<Instant> {
        self.step(|joining, steps| joining.handle_timeout(now, steps));
        match &mut self.state().phase {
            Phase::Joining(joining, _) => joining.due(),
            _ => None,
        }
    }

    /// What is to be said to the former host.
    pub fn take_steps(&self) -> Vec<Step<Event>> {
        match &mut self.state().phase {
            Phase::Joining(_, steps) => std::mem::take(steps),
            _ => Vec::new(),
        }
    }

    /// The former host passes on no more. Returns false if it is not known where a stream meets that of the former host.
    pub fn end_joining(&self) -> bool {
        let mut have_met = true;
        self.step(|joining, steps| have_met = joining.end(steps));
        let state = &mut *self.state();
        if let Phase::Joining(joining, _) = &state.phase {
            state.last.restore(&joining.numbers());
            state.phase = Phase::Usual;
        }
        have_met
    }

    /// Works on the messages of a guest that has moved away. `None` if it has not.
    pub fn with_passing<T>(&self, work: impl FnOnce(&mut Passing<Event>) -> T) -> Option<T> {
        match &mut self.state().phase {
            Phase::Passing(passing) => Some(work(passing)),
            _ => None,
        }
    }

    /// What is to be sent to the target now.
    pub fn take_passed(&self) -> Vec<Passed<Event>> {
        self.with_passing(Passing::take_due).unwrap_or_default()
    }

    fn step(&self, step: impl FnOnce(&mut Joining<Event>, &mut Vec<Step<Event>>)) {
        if let Phase::Joining(joining, steps) = &mut self.state().phase {
            step(joining, steps);
            self.deliver(steps);
        }
    }

    /// Gives the guest the messages among the steps.
    fn deliver(&self, steps: &mut Vec<Step<Event>>) {
        for step in std::mem::take(steps) {
            match step {
                Step::Deliver(event) => _ = self.events.push(event),
                other => steps.push(other),
            }
        }
    }

    fn arrived(&self, bytes: Bytes<'_>, info: &MessageInfo) -> Option<Arrived<Event>> {
        let mut payload = Vec::new();
        if bytes.append_to(&mut payload).is_err() {
            self.events.report_dropped(self.handle);
            return None;
        }
        let (publisher, number, digest) = match (info.publisher_gid(), info.publication_sequence_number()) {
            (Some(gid), Some(number)) => (Publisher::Ros2(gid.0), number, 0),
            _ => (Publisher::Ros1(info.publisher().to_owned()), 0, digest(&payload)),
        };
        let message = Event::new(EventKind::Message, self.handle, 0).info(info).payload(payload);
        Some(Arrived { publisher, number, digest, message })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
