//! What becomes of the messages of a recording, which the callbacks of all subscriptions bring.
//!
//! A callback copies the message from where it was received, which may be shared memory, into the writer's buffer: this is
//! the only copy. Callbacks wait while the disk accepts no more. Then the queues of the subscriptions fill, which drop their
//! oldest messages and count them; publishers never wait. In snapshot mode, messages are copied to memory instead, and from
//! there to the disk when a snapshot is requested.

mod arrival;
mod bag_sequence;
mod bags;
mod channels;
mod end;
#[cfg(test)]
pub mod fixture;
mod free_space;
mod known_definitions;
mod known_source;
mod latched;
mod limits;
mod loss;
mod memory_ring;
mod open_bag;
mod origin;
mod store;
#[cfg(test)]
mod tests;
mod topic;
mod topics;
mod waiting;

use std::collections::BTreeMap;
use std::path::PathBuf;

use runnel::core::schema::Generation;
use runnel::core::time::Instant;

pub use arrival::Arrival;
use arrival::OwnedArrival;
#[cfg(test)]
pub use arrival::Source;
use bag_sequence::BagSequence;
pub use bag_sequence::Split;
pub use bags::{Bags, Removed, Space, Written};
pub use channels::Channels;
use channels::{Place, Waited};
use end::End;
pub use free_space::DiskFull;
use free_space::FreeSpace;
pub use known_definitions::TypeKey;
use latched::{Latched, latched};
pub use limits::{Limits, TopicLimit};
pub use loss::Counts;
pub use memory_ring::MemoryLimits;
use memory_ring::MemoryRing;
use origin::{Origin, Publisher};
use store::Store;
use topic::Topic;
pub use topics::LOSS;

use crate::error::CliError;

/// How messages are stored.
#[derive(Clone, Debug, Default)]
pub struct SinkOptions {
    /// When a bag is full, and when the recording is complete.
    pub limits: Limits,
    /// The generation whose messages the bags hold; `None` for both.
    pub only: Option<Generation>,
    /// Snapshot mode: messages stay in memory, within these limits, until a snapshot is requested.
    pub memory: Option<MemoryLimits>,
    /// What is done when the disk is full.
    pub disk_full: DiskFull,
    /// Bytes that stay free on the disk.
    pub min_space: Option<u64>,
    /// How many of the last messages of each latched or transient local publisher later bags begin with, by topic, if it is
    /// not one.
    pub repeated: BTreeMap<String, usize>,
}

/// The messages of a recording, on their way to the bags.
pub struct Sink {
    store: Store,
    channels: Channels,
    only: Option<Generation>,
    /// As in [`SinkOptions`].
    repeated: BTreeMap<String, usize>,
    /// What has arrived during a pause, and belongs to the state when the recording goes on.
    paused: Latched<OwnedArrival>,
    is_paused: bool,
}

impl Sink {
    /// Begins the first bag, except in snapshot mode.
    ///
    /// # Errors
    /// When it cannot be created.
    pub fn new(bags: Box<dyn Bags>, options: SinkOptions) -> Result<Self, CliError> {
        let SinkOptions { limits, only, memory, disk_full, min_space, repeated } = options;
        let bags = BagSequence::new(bags, FreeSpace { disk_full, least: min_space });
        Ok(Self {
            store: Store::new(bags, limits, memory.map(MemoryRing::new))?,
            channels: Channels::default(),
            only,
            repeated,
            paused: latched(),
            is_paused: false,
        })
    }

    /// Adds a topic. Returns its position.
    pub fn add_topic(&mut self, name: &str) -> usize {
        let limit = self.store.limits().of_topic(name);
        let repeated = self.repeated.get(name).copied().unwrap_or(1);
        self.store.topics.add(Topic::new(name, limit).repeating(repeated));
        self.channels.add_topic(name)
    }

    /// Leaves out a topic that cannot be subscribed.
    pub fn abandon(&mut self, topic: usize) {
        self.store.topics[topic].is_abandoned = true;
    }

    /// The channels: which definitions and QoS are known, and which are asked for.
    pub fn channels_mut(&mut self) -> &mut Channels {
        &mut self.channels
    }

    /// Takes a message of a topic.
    pub fn take(&mut self, topic: usize, message: &Arrival<'_>) {
        if self.has_ended() {
            return;
        }
        let recorded = &mut self.store.topics[topic];
        recorded.count_arrival(message);
        if recorded.is_complete() || !recorded.admits(message) {
            return;
        }
        if !self.is_paused {
            self.record(topic, message);
        } else if let Some(publisher) = Publisher::latching(message) {
            self.paused.keep((topic, publisher), 1, message.len(), || (*message).to_owned());
        }
    }

    /// Stores the messages whose definition is known now.
    pub fn store_waited(&mut self) {
        for Waited { origin, content } in self.channels.take_waited() {
            match self.store.end {
                None => self.store.store(origin, content.view(), &self.channels),
                Some(End::Limit) => {}
                Some(End::Refused(_) | End::Failed(_)) => self.count_refused(origin.topic),
            }
        }
    }

    /// Sets how many messages the subscription of a topic has dropped, and how many it knows to be lost.
    pub fn set_lost(&mut self, topic: usize, dropped: u64, reported: u64) {
        let counts = &mut self.store.topics[topic].counts;
        (counts.dropped, counts.reported) = (dropped, reported);
    }

    /// Whether the recording is paused.
    pub fn is_paused(&self) -> bool {
        self.is_paused
    }

    /// Messages that arrive while the recording is paused are not recorded, except for those that late subscribers get:
    /// the last one of each publisher is recorded as received at `now`, when the recording goes on.
    pub fn set_paused(&mut self, is_paused: bool, now: u64) {
        self.is_paused = is_paused;
        if is_paused {
            return;
        }
        let kept = std::mem::replace(&mut self.paused, latched());
        for ((topic, _), message) in kept.messages() {
            if !self.has_ended() {
                let message = message.view();
                self.record(*topic, &Arrival { content: message.content.at(now), ..message });
            }
        }
    }

    /// Gives everything so far to the disk, and waits until it is safe from a power failure. `now` is the monotonic time.
    pub fn sync(&mut self, now: Instant) {
        self.store.sync(&self.channels, now);
    }

    /// Begins the next bag at `now`. False if there is none: in snapshot mode, or when the recording has ended.
    pub fn split(&mut self, now: u64) -> bool {
        self.store.split(&self.channels, now)
    }

    /// Writes the messages in memory to a bag of their own, at `now`. False if there are none, or the recording has ended.
    pub fn snapshot(&mut self, now: u64) -> bool {
        self.store.snapshot(&self.channels, now)
    }

    /// Whether nothing more is stored, since a limit is reached or the disk failed.
    pub fn has_ended(&self) -> bool {
        self.store.end.is_some()
    }

    /// The numbers of messages, by topic.
    pub fn counts(&self) -> impl Iterator<Item = (&str, Counts)> {
        self.store.topics.counts()
    }

    /// Length of all bags, in bytes.
    pub fn len(&self) -> u64 {
        self.store.bags.len()
    }

    /// The files of all bags that are kept, in their order.
    pub fn files(&self) -> Vec<PathBuf> {
        self.store.bags.files()
    }

    /// The splits since the last call.
    pub fn take_splits(&mut self) -> Vec<Split> {
        self.store.bags.take_splits()
    }

    /// Completes the last bag. Messages that wait for a definition are recorded without.
    ///
    /// # Errors
    /// When something could not be written.
    pub fn finish(&mut self) -> Result<(), CliError> {
        let end = self.store.end.take();
        if !matches!(end, Some(End::Failed(_))) {
            self.channels.stop_asking();
            self.store_waited();
        }
        self.store.finish(end)
    }

    /// Stores a message, or lets it wait for its definition.
    fn record(&mut self, topic: usize, message: &Arrival<'_>) {
        let generation = message.source.generation;
        if self.only.is_some_and(|only| only != generation) {
            self.store.end = Some(End::Refused(not_held(&self.store.topics[topic].name, generation)));
            return;
        }
        match self.channels.place(topic, message) {
            Place::Channel(channel) => {
                let origin = Origin { topic, channel, latched_by: Publisher::latching(message) };
                self.store.store(origin, message.content, &self.channels);
            }
            Place::Waits(dropped) => dropped.into_iter().for_each(|topic| self.count_refused(topic)),
            Place::Nowhere => self.count_refused(topic),
        }
    }

    fn count_refused(&mut self, topic: usize) {
        self.store.topics[topic].counts.refused += 1;
    }
}

/// The error for a topic of a generation that the format does not hold.
pub fn not_held(topic: &str, generation: Generation) -> CliError {
    let why = match generation {
        Generation::Ros2 => {
            "a ROS 2 node publishes it, and rosbag 2.0 holds only ROS 1 messages. Try: --storage mcap, or --ros1"
        }
        Generation::Ros1 => {
            "a ROS 1 node publishes it, and bags of ros2 bag hold only ROS 2 messages. Try: --storage mcap, or --ros2"
        }
    };
    CliError::Failed(format!("topic {topic}: {why}"))
}
