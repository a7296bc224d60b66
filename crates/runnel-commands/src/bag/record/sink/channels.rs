//! The channels of a recording: which messages are in which channel, and which wait for the definition of their type.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use runnel_bag::{Channel, Schema};

use super::arrival::{Arrival, OwnedContent, Source};
use super::known_definitions::{KnownDefinitions, TypeKey};
use super::known_source::KnownSource;
use super::origin::{Origin, Publisher};
use super::waiting::{Waiting, WaitingMessages};

/// Most channels of a recording. MCAP's ids have 16 bits, and peers can be any number.
const MOST_CHANNELS: usize = 4096;

/// How long messages wait for the QoS of their publishers. A publisher that is gone by then offers none.
const QOS_TIMEOUT: Duration = Duration::from_secs(1);

/// The channels and the messages that wait.
#[derive(Debug, Default)]
pub struct Channels {
    topics: Vec<Topic>,
    /// In the order in which they were added.
    channels: Vec<Channel>,
    definitions: KnownDefinitions,
    /// Types to ask for, each with a topic.
    questions: Vec<(TypeKey, String)>,
    waiting: WaitingMessages,
}

/// Where a message goes.
#[derive(Debug, PartialEq, Eq)]
pub enum Place {
    /// Into this channel.
    Channel(usize),
    /// It waits; others, of these topics, were dropped for it.
    Waits(Vec<usize>),
    /// Nowhere: there are too many channels, or there is no memory.
    Nowhere,
}

/// A message that waited, and its channel.
#[derive(Debug)]
pub struct Waited {
    /// Where it belongs.
    pub origin: Origin,
    /// The message.
    pub content: OwnedContent,
}

#[derive(Debug)]
struct Topic {
    name: String,
    /// The QoS that ROS 2 publishers offer, once the graph was read.
    offered_qos: Option<String>,
    /// Since when messages wait.
    waits_since: Option<Instant>,
    sources: Vec<KnownSource>,
}

impl Channels {
    /// Adds a topic. Returns its position.
    pub fn add_topic(&mut self, name: &str) -> usize {
        let name = name.to_owned();
        self.topics.push(Topic { name, offered_qos: None, waits_since: None, sources: Vec::new() });
        self.topics.len() - 1
    }

    /// The channels, by the positions in [`Place`].
    pub fn channels(&self) -> &[Channel] {
        &self.channels
    }

    /// Types to ask for, each with a topic that has it.
    pub fn take_questions(&mut self) -> Vec<(TypeKey, String)> {
        std::mem::take(&mut self.questions)
    }

    /// Sets the QoS that the publishers of a topic offer, as the graph has it now.
    pub fn set_offered_qos(&mut self, topic: usize, offered: String) {
        self.topics[topic].offered_qos = Some(offered);
    }

    /// Sets the definition of a type; an empty one if it cannot be found.
    pub fn define(&mut self, key: TypeKey, definition: Schema) {
        self.definitions.define(key, definition);
    }

    /// Finds the channel of a message, or keeps the message until its definition is known.
    pub fn place(&mut self, topic: usize, message: &Arrival<'_>) -> Place {
        let Some(source) = self.source(topic, message.source) else { return Place::Nowhere };
        if let Some(channel) = self.channel(topic, source) {
            return Place::Channel(channel);
        }
        let key = &self.topics[topic].sources[source].key;
        if self.definitions.ask(key) {
            self.questions.push((key.clone(), self.topics[topic].name.clone()));
        }
        let latched_by = Publisher::latching(message);
        match message.content.to_owned() {
            Ok(content) => Place::Waits(self.waiting.push(Waiting { topic, source, latched_by, content })),
            Err(_) => Place::Nowhere,
        }
    }

    /// Gives up on the QoS of topics whose messages have waited too long for it. Call it from time to time.
    pub fn stop_waiting_for_qos(&mut self, now: Instant) {
        let topics: BTreeSet<usize> = self.waiting.iter().map(|message| message.topic).collect();
        for topic in topics {
            let Topic { offered_qos, waits_since, .. } = &mut self.topics[topic];
            let since = *waits_since.get_or_insert(now);
            if now.saturating_duration_since(since) >= QOS_TIMEOUT {
                offered_qos.get_or_insert_default();
            }
        }
    }

    /// Takes the messages whose definition is known now, in the order of their arrival.
    pub fn take_waited(&mut self) -> Vec<Waited> {
        let mut ready = Vec::new();
        for message in self.waiting.take() {
            let Some(channel) = self.channel(message.topic, message.source) else {
                // There was space for it before.
                self.waiting.push(message);
                continue;
            };
            let Waiting { topic, latched_by, content, .. } = message;
            ready.push(Waited { origin: Origin { topic, channel, latched_by }, content });
        }
        ready
    }

    /// Gives up on definitions that are not known: their messages are recorded without.
    pub fn stop_asking(&mut self) {
        let sources = self.waiting.iter().map(|one| self.topics[one.topic].sources[one.source].key.clone());
        for key in sources.collect::<Vec<_>>() {
            if self.definitions.get(&key).is_none() {
                self.definitions.define(key, Schema::default());
            }
        }
        self.topics.iter_mut().for_each(|topic| _ = topic.offered_qos.get_or_insert_default());
    }

    /// The position of a source among those of its topic.
    fn source(&mut self, topic: usize, source: Source<'_>) -> Option<usize> {
        let sources = &self.topics[topic].sources;
        if let Some(found) = sources.iter().position(|known| known.is(source)) {
            return Some(found);
        }
        if self.topics.iter().map(|topic| topic.sources.len()).sum::<usize>() >= MOST_CHANNELS {
            return None;
        }
        let Topic { sources, .. } = &mut self.topics[topic];
        sources.push(KnownSource::of(source));
        Some(sources.len() - 1)
    }

    /// The channel of a source, which is added once all is known.
    fn channel(&mut self, topic: usize, source: usize) -> Option<usize> {
        let Topic { name, offered_qos, sources, .. } = &mut self.topics[topic];
        let known = &mut sources[source];
        if known.channel.is_none() {
            let channel = known.describe(name, offered_qos.as_deref(), &self.definitions)?;
            self.channels.push(channel);
            known.channel = Some(self.channels.len() - 1);
        }
        known.channel
    }
}

#[cfg(test)]
mod tests;
