//! The bags of a recording, into which the callbacks of all subscriptions write.
//!
//! A callback copies the message from where it was received, which may be shared memory, into the writer's buffer: this is
//! the only copy. Callbacks wait while the disk accepts no more. Then the queues of the subscriptions fill, which drop their
//! oldest messages and count them; publishers never wait.

use std::path::PathBuf;
use std::time::Instant;

use runnel::core::schema::Generation;
use runnel_bag::{BagWriter, Channel, ChannelId, Error, Metadata, NewMessage, Schema};

use super::arrival::{Arrival, Content};
use super::channels::{Channels, Place, Waited};
use super::definitions::TypeKey;
use super::latched::Latched;
use super::limits::Limits;
use super::loss::{Counts, Numbers};
use crate::error::CliError;

/// Name of the metadata that hold the counts of each topic.
pub const LOSS: &str = "runnel.loss";

/// Makes the bags of a recording, one after another.
pub trait Bags: Send {
    /// Begins a bag. These are the channels of the recording so far.
    ///
    /// # Errors
    /// When it cannot be created.
    fn begin(&mut self, channels: &[Channel]) -> Result<Box<dyn BagWriter + Send>, CliError>;

    /// The bag that was begun last is complete.
    ///
    /// # Errors
    /// When it cannot get its name.
    fn complete(&mut self) -> Result<(), CliError>;

    /// The error of the bag that was begun last, with its name.
    fn failed(&self, error: &Error) -> CliError;

    /// The files of all bags that are kept, in their order.
    fn files(&self) -> Vec<PathBuf>;
}

/// The current bag, and what its successors begin with.
pub struct Sink {
    bags: Box<dyn Bags>,
    bag: Option<Bag>,
    limits: Limits,
    channels: Channels,
    topics: Vec<Topic>,
    /// What each later bag begins with, if there are several.
    repeated: Latched,
    /// What has arrived during a pause, and belongs to the state when the recording goes on.
    paused: Latched,
    /// Whether the bags can hold messages of ROS 2.
    takes_ros2: bool,
    is_paused: bool,
    /// Why nothing more is written.
    end: Option<End>,
    /// Length of completed bags, in bytes.
    completed_len: u64,
}

/// Why a recording has ended by itself.
#[derive(Debug)]
enum End {
    /// A limit was reached.
    Limit,
    /// A message cannot be stored in the bag, which is sound.
    Refused(CliError),
    /// A bag cannot be written.
    Failed(CliError),
}

/// The bag that is written.
struct Bag {
    writer: Box<dyn BagWriter + Send>,
    /// By the channels of the recording.
    channels: Vec<Option<ChannelId>>,
    /// Time of its first message.
    start: Option<u64>,
    /// Length of the messages of earlier bags that it begins with, which do not count as its own.
    repeated_len: u64,
    is_dirty: bool,
}

#[derive(Default)]
struct Topic {
    name: String,
    counts: Counts,
    numbers: Numbers,
    /// Nothing more will arrive.
    is_abandoned: bool,
}

impl Sink {
    /// Begins the first bag.
    ///
    /// # Errors
    /// When it cannot be created.
    pub fn new(mut bags: Box<dyn Bags>, limits: Limits, takes_ros2: bool) -> Result<Self, CliError> {
        let bag = Some(Bag::new(bags.begin(&[])?));
        Ok(Self {
            bags,
            bag,
            limits,
            channels: Channels::default(),
            topics: Vec::new(),
            repeated: Latched::default(),
            paused: Latched::default(),
            takes_ros2,
            is_paused: false,
            end: None,
            completed_len: 0,
        })
    }

    /// Adds a topic. Returns its position.
    pub fn add_topic(&mut self, name: &str) -> usize {
        self.topics.push(Topic { name: name.to_owned(), ..Topic::default() });
        self.channels.add_topic(name)
    }

    /// Leaves out a topic that cannot be subscribed.
    pub fn abandon(&mut self, topic: usize) {
        self.topics[topic].is_abandoned = true;
    }

    /// Takes a message of a topic.
    pub fn take(&mut self, topic: usize, message: &Arrival<'_>) {
        if self.has_ended() {
            return;
        }
        if let Some((publisher, number)) = message.number {
            let Topic { counts, numbers, .. } = &mut self.topics[topic];
            counts.missing += numbers.take(publisher, number);
        }
        if self.is_topic_complete(topic) {
            return;
        }
        if message.source.is_latching {
            self.keep(topic, message);
        }
        if !self.is_paused {
            self.record(topic, message);
        }
    }

    /// Keeps a message that late subscribers would get.
    fn keep(&mut self, topic: usize, message: &Arrival<'_>) {
        if self.is_paused {
            self.paused.keep(topic, message);
        }
        if self.limits.split {
            self.repeated.keep(topic, message);
        }
    }

    /// Writes a message, or lets it wait for its definition.
    fn record(&mut self, topic: usize, message: &Arrival<'_>) {
        if message.source.generation == Generation::Ros2 && !self.takes_ros2 {
            self.end = Some(End::Refused(no_ros2(&self.topics[topic].name)));
            return;
        }
        match self.channels.place(topic, message.source, message.content) {
            Place::Channel(channel) => self.write((topic, channel), message.content),
            Place::Waits(dropped) => {
                dropped.into_iter().for_each(|topic| self.topics[topic].counts.refused += 1)
            }
            Place::Nowhere => self.topics[topic].counts.refused += 1,
        }
    }

    /// Types to ask for, each with a topic that has it.
    pub fn take_questions(&mut self) -> Vec<(TypeKey, String)> {
        self.channels.take_questions()
    }

    /// Sets the definition of a type; an empty one if it cannot be found.
    pub fn define(&mut self, key: TypeKey, definition: Schema) {
        self.channels.define(key, definition);
    }

    /// Sets the QoS that the publishers of a topic offer.
    pub fn set_offered_qos(&mut self, topic: usize, offered: String) {
        self.channels.set_offered_qos(topic, offered);
    }

    /// Gives up on the QoS of topics whose messages have waited too long for it.
    pub fn stop_waiting_for_qos(&mut self, now: Instant) {
        self.channels.stop_waiting_for_qos(now);
    }

    /// Writes the messages whose definition is known now.
    pub fn write_waited(&mut self) {
        for Waited { topic, channel, content } in self.channels.take_waited() {
            match self.end {
                None => self.write((topic, channel), content.view()),
                Some(End::Limit) => {}
                Some(End::Refused(_) | End::Failed(_)) => self.topics[topic].counts.refused += 1,
            }
        }
    }

    /// Sets how many messages the subscription of a topic has dropped, and how many it knows to be lost.
    pub fn set_lost(&mut self, topic: usize, dropped: u64, reported: u64) {
        let counts = &mut self.topics[topic].counts;
        (counts.dropped, counts.reported) = (dropped, reported);
    }

    /// Messages that arrive while the recording is paused are not recorded, except for those that late subscribers get:
    /// the last one of each publisher is recorded as received at `now`, when the recording goes on.
    pub fn set_paused(&mut self, is_paused: bool, now: u64) {
        self.is_paused = is_paused;
        if is_paused {
            return;
        }
        let kept = std::mem::take(&mut self.paused);
        for (topic, message) in kept.messages() {
            if !self.has_ended() {
                self.record(topic, &Arrival { content: message.content.at(now), ..message });
            }
        }
    }

    /// Gives everything so far to the disk, and waits until it is safe from a power failure.
    pub fn sync(&mut self) {
        let Some(bag) = self.bag.as_mut().filter(|bag| bag.is_dirty) else { return };
        bag.is_dirty = false;
        if let Err(error) = bag.writer.sync() {
            self.fail(&error);
        }
    }

    /// Whether nothing more is written, since a limit is reached or the disk failed.
    pub fn has_ended(&self) -> bool {
        self.end.is_some()
    }

    /// The numbers of messages, by topic.
    pub fn counts(&self) -> impl Iterator<Item = (&str, Counts)> {
        self.followed().map(|topic| (topic.name.as_str(), topic.counts))
    }

    /// The topics that are subscribed.
    fn followed(&self) -> impl Iterator<Item = &Topic> {
        self.topics.iter().filter(|topic| !topic.is_abandoned)
    }

    /// Length of all bags, in bytes.
    pub fn len(&self) -> u64 {
        self.completed_len + self.bag.as_ref().map_or(0, |bag| bag.writer.file_len())
    }

    /// The files of all bags that are kept, in their order.
    pub fn files(&self) -> Vec<PathBuf> {
        self.bags.files()
    }

    /// Completes the last bag. Messages that wait for a definition are recorded without.
    ///
    /// # Errors
    /// When something could not be written.
    pub fn finish(&mut self) -> Result<(), CliError> {
        let end = self.end.take();
        if !matches!(end, Some(End::Failed(_))) {
            self.channels.stop_asking();
            self.write_waited();
        }
        match (end, self.end.take()) {
            (Some(End::Failed(error)), _) | (_, Some(End::Failed(error))) => {
                self.bag = None;
                Err(error)
            }
            (Some(End::Refused(error)), _) | (_, Some(End::Refused(error))) => {
                self.complete_bag().and(Err(error))
            }
            _ => self.complete_bag(),
        }
    }

    fn write(&mut self, (topic, channel): (usize, usize), content: Content<'_>) {
        if self.is_topic_complete(topic) {
            return;
        }
        match self.write_to_bag(channel, content) {
            Ok(()) => {
                let counts = &mut self.topics[topic].counts;
                counts.messages += 1;
                counts.bytes += content.data.len() as u64;
                self.check_limits(content.log_time);
            }
            // The bag goes on without this message.
            Err(Error::TooLong { .. }) => self.topics[topic].counts.refused += 1,
            Err(error) => self.fail(&error),
        }
    }

    fn write_to_bag(&mut self, channel: usize, content: Content<'_>) -> Result<(), Error> {
        let Some(bag) = &mut self.bag else { return Ok(()) };
        let id = bag.channel(channel, &self.channels)?;
        bag.is_dirty = true;
        bag.start.get_or_insert(content.log_time);
        let Content { log_time, publish_time, sequence, data } = content;
        bag.writer.write(&NewMessage { channel: id, log_time, publish_time, sequence, data })
    }

    fn check_limits(&mut self, now: u64) {
        let is_full = self.bag.as_ref().is_some_and(|bag| self.limits.is_full(bag.own_len(), bag.start, now));
        if is_full && !self.limits.split {
            self.end = Some(End::Limit);
        } else if is_full && let Err(error) = self.begin_next(now) {
            self.end = Some(End::Failed(error));
        }
        let is_complete = |topic: usize| self.topics[topic].is_abandoned || self.is_topic_complete(topic);
        if self.limits.messages.is_some() && (0..self.topics.len()).all(is_complete) {
            self.end.get_or_insert(End::Limit);
        }
    }

    fn is_topic_complete(&self, topic: usize) -> bool {
        self.limits.messages.is_some_and(|limit| self.topics[topic].counts.messages >= limit)
    }

    /// Completes the bag and begins the next one, with the messages that late subscribers would get.
    fn begin_next(&mut self, now: u64) -> Result<(), CliError> {
        self.complete_bag()?;
        self.bag = Some(Bag::new(self.bags.begin(self.channels.channels())?));
        let repeated = std::mem::take(&mut self.repeated);
        let written = self.repeat(&repeated, now);
        self.repeated = repeated;
        written.map_err(|error| self.bags.failed(&error))
    }

    fn repeat(&mut self, messages: &Latched, now: u64) -> Result<(), Error> {
        for (topic, message) in messages.messages() {
            // Without a channel, it still waits, and will be written.
            if let Some(channel) = self.channels.known(topic, message.source) {
                self.write_to_bag(channel, message.content.at(now))?;
            }
        }
        let Some(bag) = &mut self.bag else { return Ok(()) };
        bag.start = None;
        bag.writer.flush()?;
        bag.repeated_len = bag.writer.file_len();
        Ok(())
    }

    fn complete_bag(&mut self) -> Result<(), CliError> {
        let Some(mut bag) = self.bag.take() else { return Ok(()) };
        let rows = self.followed().map(|topic| (topic.name.clone(), topic.counts.to_json().to_string()));
        let loss = Metadata { name: LOSS.to_owned(), values: rows.collect() };
        let written = bag.writer.add_metadata(&loss).and_then(|_| bag.writer.finish());
        written.map_err(|error| self.bags.failed(&error))?;
        self.completed_len += bag.writer.file_len();
        self.bags.complete()
    }

    fn fail(&mut self, error: &Error) {
        let why = self.bags.failed(error);
        self.end = Some(if is_of_disk(error) { End::Failed(why) } else { End::Refused(why) });
    }
}

impl Bag {
    fn new(writer: Box<dyn BagWriter + Send>) -> Self {
        Self { writer, channels: Vec::new(), start: None, repeated_len: 0, is_dirty: false }
    }

    /// Length without the messages that it repeats, in bytes.
    fn own_len(&self) -> u64 {
        self.writer.file_len().saturating_sub(self.repeated_len)
    }

    /// The id of a channel of the recording in this bag.
    fn channel(&mut self, channel: usize, all: &Channels) -> Result<ChannelId, Error> {
        if self.channels.len() <= channel {
            self.channels.resize(channel + 1, None);
        }
        if let Some(id) = self.channels[channel] {
            return Ok(id);
        }
        let id = self.writer.add_channel(&all.channels()[channel])?;
        self.channels[channel] = Some(id);
        Ok(id)
    }
}

/// Whether the disk failed, so that the bag cannot be continued.
fn is_of_disk(error: &Error) -> bool {
    match error {
        Error::Io(_) => true,
        Error::InFile { source, .. } => is_of_disk(source),
        _ => false,
    }
}

/// The error for a topic of ROS 2 in a format of ROS 1.
pub fn no_ros2(topic: &str) -> CliError {
    CliError::Failed(format!(
        "topic {topic}: a ROS 2 node publishes it, and rosbag 2.0 holds only ROS 1 messages. Try: --storage mcap, or \
         --ros1"
    ))
}
