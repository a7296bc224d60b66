//! The channels of a recording: which messages are in which channel, and which wait for the definition of their type.

use std::collections::{BTreeSet, VecDeque};
use std::time::{Duration, Instant};

use runnel::core::schema::Generation;
use runnel_bag::{Channel, Encoding, Schema, SchemaLanguage};

use super::arrival::{Content, OwnedContent, Source};
use super::definitions::{KnownDefinitions, TypeKey};

/// Most channels of a recording. MCAP's ids have 16 bits, and peers can be any number.
const MOST_CHANNELS: usize = 4096;

/// Limits of the messages that wait.
const MOST_WAITING: usize = 10_000;
const MOST_WAITING_BYTES: usize = 64 << 20;

/// How long messages wait for the QoS of their publishers. A publisher that is gone by then offers none.
const QOS_PATIENCE: Duration = Duration::from_secs(1);

/// The channels and the messages that wait.
#[derive(Debug, Default)]
pub struct Channels {
    topics: Vec<Topic>,
    /// In the order in which they were added.
    channels: Vec<Channel>,
    definitions: KnownDefinitions,
    /// Types to ask for, each with a topic.
    questions: Vec<(TypeKey, String)>,
    waiting: VecDeque<Waiting>,
    waiting_bytes: usize,
}

/// Where a message goes.
#[derive(Debug, PartialEq, Eq)]
pub enum Place {
    /// Into this channel.
    Channel(usize),
    /// It waits; this many others were dropped for it, by topic.
    Waits(Vec<usize>),
    /// Nowhere: there are too many channels, or there is no memory.
    Nowhere,
}

/// A message that waited, and its channel.
#[derive(Debug)]
pub struct Waited {
    /// The topic.
    pub topic: usize,
    /// The channel.
    pub channel: usize,
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
    sources: Vec<Known>,
}

/// A source of messages, as [`Source`].
#[derive(Debug)]
struct Known {
    key: TypeKey,
    definition: String,
    /// In ROS 2, one channel holds the messages of all publishers.
    publisher: Option<String>,
    is_latching: bool,
    channel: Option<usize>,
}

#[derive(Debug)]
struct Waiting {
    topic: usize,
    source: usize,
    content: OwnedContent,
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
    pub fn place(&mut self, topic: usize, source: Source<'_>, content: Content<'_>) -> Place {
        let Some(known) = self.source(topic, source) else { return Place::Nowhere };
        if let Some(channel) = self.channel(topic, known) {
            return Place::Channel(channel);
        }
        let key = &self.topics[topic].sources[known].key;
        if self.definitions.ask(key) {
            self.questions.push((key.clone(), self.topics[topic].name.clone()));
        }
        match content.to_owned() {
            Ok(content) => Place::Waits(self.wait(Waiting { topic, source: known, content })),
            Err(_) => Place::Nowhere,
        }
    }

    /// The channel of a source, if it has one.
    pub fn known(&self, topic: usize, source: Source<'_>) -> Option<usize> {
        self.topics[topic].sources.iter().find(|known| known.is(source))?.channel
    }

    /// Gives up on the QoS of topics whose messages have waited too long for it. Call it from time to time.
    pub fn stop_waiting_for_qos(&mut self, now: Instant) {
        let topics: BTreeSet<usize> = self.waiting.iter().map(|message| message.topic).collect();
        for topic in topics {
            let Topic { offered_qos, waits_since, .. } = &mut self.topics[topic];
            let since = *waits_since.get_or_insert(now);
            if now.saturating_duration_since(since) >= QOS_PATIENCE {
                offered_qos.get_or_insert_default();
            }
        }
    }

    /// Takes the messages whose definition is known now, in the order of their arrival.
    pub fn take_waited(&mut self) -> Vec<Waited> {
        let mut ready = Vec::new();
        for message in std::mem::take(&mut self.waiting) {
            let Some(channel) = self.channel(message.topic, message.source) else {
                self.waiting.push_back(message);
                continue;
            };
            let Waiting { topic, content, .. } = message;
            self.waiting_bytes -= content.len();
            ready.push(Waited { topic, channel, content });
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
        sources.push(Known::of(source));
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

    /// Keeps a message. Returns the topics of older ones that had to go for it.
    fn wait(&mut self, message: Waiting) -> Vec<usize> {
        self.waiting_bytes += message.content.len();
        self.waiting.push_back(message);
        let mut dropped = Vec::new();
        while self.waiting.len() > MOST_WAITING || self.waiting_bytes > MOST_WAITING_BYTES {
            let Some(oldest) = self.waiting.pop_front() else { break };
            self.waiting_bytes -= oldest.content.len();
            dropped.push(oldest.topic);
        }
        dropped
    }
}

impl Known {
    fn of(source: Source<'_>) -> Self {
        let Source { generation, type_name, sum, definition, publisher, is_latching } = source;
        let is_ros1 = generation == Generation::Ros1;
        Self {
            key: TypeKey { generation, name: type_name.to_owned(), sum: sum.to_owned() },
            definition: definition.to_owned(),
            publisher: is_ros1.then(|| publisher.to_owned()),
            is_latching: is_ros1 && is_latching,
            channel: None,
        }
    }

    fn is(&self, source: Source<'_>) -> bool {
        let Source { generation, type_name, sum, publisher, is_latching, .. } = source;
        let is_same_publisher = match &self.publisher {
            Some(known) => known == publisher && self.is_latching == is_latching,
            None => true,
        };
        is_same_publisher
            && self.key.generation == generation
            && self.key.sum == sum
            && self.key.name == type_name
    }

    /// The channel, if the definition is known, and in ROS 2 the offered QoS.
    fn describe(&self, topic: &str, offered_qos: Option<&str>, known: &KnownDefinitions) -> Option<Channel> {
        let channel = Channel {
            topic: topic.to_owned(),
            type_name: self.key.name.clone(),
            publisher: self.publisher.clone(),
            latching: self.is_latching,
            ..Channel::default()
        };
        let sum = Some(self.key.sum.clone()).filter(|sum| !sum.is_empty());
        Some(match self.key.generation {
            Generation::Ros1 => Channel {
                encoding: Encoding::Ros1,
                schema: self.sent_definition().or_else(|| known.get(&self.key).cloned())?,
                md5: sum,
                ..channel
            },
            Generation::Ros2 => Channel {
                encoding: Encoding::Cdr,
                schema: known.get(&self.key)?.clone(),
                type_hash: sum,
                offered_qos: Some(offered_qos?.to_owned()).filter(|qos| !qos.is_empty()),
                ..channel
            },
        })
    }

    /// The definition that the publisher sent. A message without fields has an empty one.
    fn sent_definition(&self) -> Option<Schema> {
        let is_empty_message = self.key.sum == EMPTY_MD5;
        let is_sent = !self.definition.is_empty() || is_empty_message;
        is_sent
            .then(|| Schema { language: SchemaLanguage::Ros1Msg, data: self.definition.clone().into_bytes() })
    }
}

/// MD5 sum of a ROS 1 message without fields.
const EMPTY_MD5: &str = "d41d8cd98f00b204e9800998ecf8427e";

#[cfg(test)]
mod tests {
    use super::*;

    fn ros1(publisher: &'static str, definition: &'static str) -> Source<'static> {
        Source {
            generation: Generation::Ros1,
            type_name: "std_msgs/String",
            sum: "992ce8a1687cec8c8bd883ec73ca41d1",
            definition,
            publisher,
            is_latching: false,
        }
    }

    fn ros2(publisher: &'static str) -> Source<'static> {
        let sum = "RIHS01_ab";
        Source {
            generation: Generation::Ros2,
            type_name: "a/msg/B",
            sum,
            definition: "",
            publisher,
            is_latching: true,
        }
    }

    fn content(data: &[u8]) -> Content<'_> {
        Content { log_time: 1, publish_time: 1, sequence: 0, data: data.into() }
    }

    fn schema(text: &str) -> Schema {
        Schema { language: SchemaLanguage::Ros2Msg, data: text.into() }
    }

    #[test]
    fn each_ros1_publisher_has_a_channel() {
        let mut channels = Channels::default();
        let topic = channels.add_topic("/a");
        let mut place = |source| channels.place(topic, source, content(b"x"));
        assert_eq!(place(ros1("/one", "string data\n")), Place::Channel(0));
        assert_eq!(place(ros1("/two", "string data\n")), Place::Channel(1));
        assert_eq!(place(ros1("/one", "string data\n")), Place::Channel(0));
        let latched = Source { is_latching: true, ..ros1("/one", "string data\n") };
        assert_eq!(place(latched), Place::Channel(2));
        assert!(channels.channels()[2].latching && !channels.channels()[0].latching);
        assert_eq!(channels.channels()[0].publisher.as_deref(), Some("/one"));
        assert!(channels.take_questions().is_empty());
    }

    #[test]
    fn ros2_messages_wait_for_definition_and_qos() {
        let mut channels = Channels::default();
        let topic = channels.add_topic("/a");
        for publisher in ["/one", "/two"] {
            assert_eq!(channels.place(topic, ros2(publisher), content(b"x")), Place::Waits(vec![]));
        }
        let questions = channels.take_questions();
        assert_eq!(questions.len(), 1, "it is asked for once: {questions:?}");
        channels.define(questions[0].0.clone(), schema("int8 x"));
        assert!(channels.take_waited().is_empty(), "the QoS is not known");
        channels.set_offered_qos(topic, "- depth: 1\n".to_owned());
        let waited: Vec<_> = channels.take_waited().iter().map(|one| one.channel).collect();
        assert_eq!(waited, [0, 0], "all publishers have one channel");
        assert_eq!(channels.place(topic, ros2("/three"), content(b"x")), Place::Channel(0));
        let channel = &channels.channels()[0];
        assert_eq!((channel.type_hash.as_deref(), &channel.schema), (Some("RIHS01_ab"), &schema("int8 x")));
        assert_eq!((channel.offered_qos.as_deref(), &channel.publisher), (Some("- depth: 1\n"), &None));
    }

    #[test]
    fn messages_of_a_publisher_that_is_gone_are_recorded_without_qos() {
        let mut channels = Channels::default();
        let topic = channels.add_topic("/a");
        channels.place(topic, ros2("/one"), content(b"x"));
        let questions = channels.take_questions();
        channels.define(questions[0].0.clone(), schema("int8 x"));
        let start = Instant::now();
        channels.stop_waiting_for_qos(start);
        channels.stop_waiting_for_qos(start + QOS_PATIENCE / 2);
        assert!(channels.take_waited().is_empty(), "the graph may be late");
        channels.stop_waiting_for_qos(start + QOS_PATIENCE);
        assert_eq!(channels.take_waited().len(), 1);
        assert_eq!(channels.channels()[0].offered_qos, None);
    }

    #[test]
    fn unknown_types_are_recorded_as_bytes() {
        let mut channels = Channels::default();
        let topic = channels.add_topic("/a");
        channels.place(topic, ros2("/one"), content(b"x"));
        channels.place(topic, ros1("/one", ""), content(b"y"));
        channels.stop_asking();
        assert_eq!(channels.take_waited().len(), 2);
        let [first, second] = channels.channels() else { panic!("two channels") };
        assert_eq!((&first.schema, first.type_hash.as_deref()), (&Schema::default(), Some("RIHS01_ab")));
        assert_eq!(second.md5.as_deref(), Some("992ce8a1687cec8c8bd883ec73ca41d1"));
    }

    #[test]
    fn waiting_messages_are_bounded() {
        let mut channels = Channels::default();
        let topic = channels.add_topic("/a");
        let large = vec![0; MOST_WAITING_BYTES / 2 + 1];
        assert_eq!(channels.place(topic, ros2("/one"), content(&large)), Place::Waits(vec![]));
        assert_eq!(channels.place(topic, ros2("/one"), content(&large)), Place::Waits(vec![topic]));
        for _ in 0..2 * MOST_WAITING {
            channels.place(topic, ros2("/one"), content(b"x"));
        }
        assert!(channels.waiting.len() <= MOST_WAITING && channels.waiting_bytes <= MOST_WAITING_BYTES);
    }

    #[test]
    fn sources_are_bounded() {
        let mut channels = Channels::default();
        let topic = channels.add_topic("/a");
        let names: Vec<String> = (0..MOST_CHANNELS).map(|number| format!("/{number}")).collect();
        for publisher in &names {
            let source = Source { publisher, ..ros1("", "string data\n") };
            assert!(matches!(channels.place(topic, source, content(b"x")), Place::Channel(_)));
        }
        assert_eq!(channels.place(topic, ros1("/last", "string data\n"), content(b"x")), Place::Nowhere);
        assert_eq!(channels.place(topic, ros1("/0", "string data\n"), content(b"x")), Place::Channel(0));
    }
}
