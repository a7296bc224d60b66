//! Messages of one direction of a topic: each is converted and published in the other graph on the thread that received
//! it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use runnel::core::schema::{Generation, Schema};
use runnel::core::wire::{Bytes, Encoding};
use runnel::{DynamicPublisher, RawMessage};
use runnel_bridge::{Notes, Plan, StaticTransforms};

use crate::streaming::lock;

/// Limits of the messages that wait until their type is known and the publisher has its subscribers.
const MOST_WAITING: usize = 1000;
const MOST_WAITING_BYTES: usize = 64 << 20;

/// The most remarks of one direction.
const MOST_REMARKS: usize = 16;

/// See the module's documentation.
#[derive(Default)]
pub struct Forward(Mutex<State>);

#[derive(Default)]
struct State {
    target: Option<Target>,
    waiting: VecDeque<Waiting>,
    waiting_bytes: usize,
    counts: Counts,
    remarks: Vec<String>,
}

/// Numbers of messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Published in the other graph.
    pub messages: u64,
    /// Dropped because too many waited, or because a subscriber was too slow.
    pub dropped: u64,
    /// Not converted or not published.
    pub refused: u64,
}

/// The publisher in the other graph.
pub struct Target {
    publisher: DynamicPublisher,
    plan: Plan,
    source: Source,
    merged: Option<StaticTransforms>,
    buffer: Vec<u8>,
}

/// The definition that messages must have.
struct Source {
    type_name: String,
    sum: String,
}

/// A message that waits.
struct Waiting {
    bytes: Vec<u8>,
    encoding: Encoding,
}

impl Target {
    /// A publisher of messages that a plan converts from the definition `source`.
    pub fn new(publisher: DynamicPublisher, plan: Plan, source: &Schema) -> Self {
        let merged = StaticTransforms::new(publisher.topic(), publisher.schema());
        let (type_name, sum) = match source.generation {
            Generation::Ros1 => (source.def.name.to_string(), source.md5.clone()),
            Generation::Ros2 => (source.def.ros2_name.clone(), source.rihs01().unwrap_or_default()),
        };
        Self { publisher, plan, source: Source { type_name, sum }, merged, buffer: Vec::new() }
    }

    /// The publisher.
    pub fn publisher(&self) -> &DynamicPublisher {
        &self.publisher
    }

    fn forward(&mut self, bytes: Bytes<'_>, encoding: Encoding) -> Result<Notes, String> {
        let notes = self.plan.convert(bytes, encoding, &mut self.buffer);
        let notes = notes.map_err(|error| format!("a message was refused: {error}"))?;
        if let Some(merged) = &mut self.merged {
            merged.merge(&mut self.buffer).map_err(|error| format!("a message was refused: {error}"))?;
        }
        let buffer = &self.buffer;
        let published = self.publisher.publish_bytes(|out| out.extend_from_slice(buffer));
        published.map_err(|error| format!("a message was not published: {error}"))?;
        Ok(notes)
    }
}

impl Source {
    /// Checks that a message has the definition that its plan was made for.
    fn check(&self, message: &RawMessage<'_>) -> Result<(), String> {
        let (name, sum) = match message.generation() {
            // The sum alone decides in ROS 1.
            Generation::Ros1 => (self.type_name.as_str(), message.md5()),
            Generation::Ros2 => (message.type_name(), message.type_hash()),
        };
        if name == self.type_name && (matches!(sum, "" | "*") || sum == self.sum) {
            return Ok(());
        }
        let (publisher, other) = (message.publisher(), message.type_name());
        Err(format!("publisher {publisher} has another type, {other} {sum}: its messages are not carried"))
    }
}

impl Forward {
    /// Messages wait until there is a target.
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// Takes a message, unless its publisher is in both graphs or belongs to a bridge.
    pub fn take(&self, message: &RawMessage<'_>) {
        if message.is_relayed() {
            return;
        }
        let state = &mut *lock(&self.0);
        let Some(target) = &state.target else {
            return state.wait(message);
        };
        match target.source.check(message) {
            Ok(()) => state.forward(message.bytes(), message.encoding()),
            Err(why) => state.refuse(why),
        }
    }

    /// Sets the target, which gets the messages that waited.
    pub fn set_target(&self, target: Target) {
        let state = &mut *lock(&self.0);
        state.target = Some(target);
        state.waiting_bytes = 0;
        for Waiting { bytes, encoding } in std::mem::take(&mut state.waiting) {
            state.forward(Bytes::from(&bytes), encoding);
        }
    }

    /// The messages until now.
    pub fn counts(&self) -> Counts {
        let state = &*lock(&self.0);
        let slow = state.target.as_ref().map_or(0, |target| target.publisher.dropped());
        Counts { dropped: state.counts.dropped + slow, ..state.counts }
    }

    /// What was remarked about them.
    pub fn remarks(&self) -> Vec<String> {
        lock(&self.0).remarks.clone()
    }
}

impl Counts {
    /// The sums of both.
    pub fn plus(self, other: Self) -> Self {
        Self {
            messages: self.messages + other.messages,
            dropped: self.dropped + other.dropped,
            refused: self.refused + other.refused,
        }
    }
}

impl State {
    fn wait(&mut self, message: &RawMessage<'_>) {
        let Ok(bytes) = message.bytes().try_to_vec() else {
            self.counts.dropped += 1;
            return;
        };
        self.waiting_bytes += bytes.len();
        self.waiting.push_back(Waiting { bytes, encoding: message.encoding() });
        while self.waiting.len() > MOST_WAITING || self.waiting_bytes > MOST_WAITING_BYTES {
            let Some(oldest) = self.waiting.pop_front() else { return };
            self.waiting_bytes -= oldest.bytes.len();
            self.counts.dropped += 1;
        }
    }

    fn forward(&mut self, bytes: Bytes<'_>, encoding: Encoding) {
        let Some(target) = &mut self.target else { return };
        match target.forward(bytes, encoding) {
            Ok(notes) => {
                self.counts.messages += 1;
                if !notes.is_empty() {
                    notes.remarks().into_iter().for_each(|remark| self.remark(remark));
                }
            }
            Err(why) => self.refuse(why),
        }
    }

    fn refuse(&mut self, why: String) {
        self.counts.refused += 1;
        self.remark(why);
    }

    fn remark(&mut self, remark: String) {
        if self.remarks.len() < MOST_REMARKS && !self.remarks.contains(&remark) {
            self.remarks.push(remark);
        }
    }
}
