//! The publishers of a played bag: one for each topic and type, in the graph where it was recorded.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use runnel::core::names::DdsTopic;
use runnel::core::schema::{Generation, Schema};
use runnel::core::wire::GrowingSink;
use runnel::{DynamicPublisher, EndpointType, PublisherOptions, QoS, Ros2Graph};
use runnel_bag::Channel;
use runnel_bridge::{Rules, StaticTransforms};

use super::conversion::Conversion;
use super::requests::{self, RequestSource, Requests};
use super::sides::{Side, Sides};
use super::{played_type, service_events};
use crate::bag::MASTER_DEADLINE;
use crate::bag::qos_overrides::QosOverrides;
use crate::error::{CliError, unless_interrupted};
use crate::graph::Graph;
use crate::log_once::LogOnce;
use crate::types::Types;

/// How long to wait for subscribers that are in the graph.
const MATCHING: Duration = Duration::from_secs(2);

/// What becomes of the messages of a bag, by channel.
pub struct Publishers {
    topics: Vec<Entry>,
    services: Vec<Requests>,
    /// By channel; `None` for channels that are not played.
    of_channel: Vec<Option<Target>>,
}

/// How the topics of a bag are played.
pub struct Playing<'a> {
    /// The known types.
    pub types: &'a Types,
    /// The graph of all messages, if they do not stay in their own.
    pub graph: Option<Generation>,
    /// The rules by which messages get into the other graph.
    pub rules: &'a Rules,
    /// The QoS of topics that are not published with the recorded one.
    pub overrides: &'a QosOverrides,
    /// If requests of services are sent instead of their events: which ones.
    pub requests: Option<RequestSource>,
}

/// Where the messages of a channel go.
enum Target {
    Topic { position: usize, conversion: Option<Conversion> },
    Service(usize),
}

struct Entry {
    key: Key,
    publisher: DynamicPublisher,
    /// The static transforms until now: late subscribers get those of one message only.
    merged: Option<StaticTransforms>,
    buffer: Vec<u8>,
}

/// Channels of one publisher: generation and topic, type, and its MD5 sum or hash.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    is_ros2: bool,
    topic: String,
    type_name: String,
    sum: Option<String>,
}

/// The channels of one publisher, and the conversion of each.
#[derive(Default)]
struct Group {
    schema: Option<Arc<Schema>>,
    members: Vec<(usize, Option<Conversion>)>,
}

impl Publishers {
    /// Creates publishers for the channels whose graph is used, and whose topic is given by `topic`. Topics that cannot be
    /// played are logged.
    pub fn create(
        sides: &Sides,
        channels: &[Channel],
        playing: &Playing<'_>,
        topic: impl Fn(&Channel) -> Option<String>,
    ) -> Self {
        let of_channel = channels.iter().map(|_| None).collect();
        let mut created = Self { topics: Vec::new(), services: Vec::new(), of_channel };
        let mut groups: BTreeMap<Key, Group> = BTreeMap::new();
        let mut refused = LogOnce::default();
        for (position, channel) in channels.iter().enumerate() {
            let Some(name) = topic(channel) else { continue };
            let Some(side) = sides.of(playing.generation(channel)) else { continue };
            let added = match playing.requests.zip(requests::service_of(channel)) {
                Some((source, _)) => created.add_service(side, (position, channel), &name, playing, source),
                None => playing.route(channel).map(|(schema, conversion)| {
                    let group = groups.entry(Key::of(name.clone(), &schema)).or_default();
                    group.members.push((position, conversion));
                    group.schema = Some(schema);
                }),
            };
            if let Err(why) = added {
                refused.warn(format!("topic {name} is not played: {why}"));
            }
        }
        for (key, group) in groups {
            created.add_topic(sides, channels, playing, key, group);
        }
        created
    }

    fn add_topic(
        &mut self,
        sides: &Sides,
        channels: &[Channel],
        playing: &Playing<'_>,
        key: Key,
        group: Group,
    ) {
        let (Some(side), Some(schema)) = (sides.of(key.generation()), group.schema) else { return };
        let members: Vec<&Channel> = group.members.iter().map(|(position, _)| &channels[*position]).collect();
        let overridden = members.iter().find_map(|channel| playing.overrides.get(&channel.topic).copied());
        let qos = overridden.unwrap_or_else(|| played_type::qos(members.iter().copied()));
        let topic = key.topic.clone();
        match Entry::create(side, key, &schema, qos) {
            Ok(entry) => {
                self.topics.push(entry);
                let publisher = self.topics.len() - 1;
                for (position, conversion) in group.members {
                    self.of_channel[position] = Some(Target::Topic { position: publisher, conversion });
                }
            }
            Err(why) => log::warn!("topic {topic} is not played: {why}"),
        }
    }

    fn add_service(
        &mut self,
        side: &Side,
        (position, channel): (usize, &Channel),
        topic: &str,
        playing: &Playing<'_>,
        source: RequestSource,
    ) -> Result<(), String> {
        // The topic may have been renamed.
        let renamed = Channel { topic: topic.to_owned(), ..channel.clone() };
        let service = requests::service_of(&renamed).unwrap_or_else(|| topic.to_owned());
        self.services.push(Requests::create(&side.node, &service, channel, playing.types, source)?);
        self.of_channel[position] = Some(Target::Service(self.services.len() - 1));
        Ok(())
    }

    /// Positions of the channels that are played.
    pub fn channels(&self) -> Vec<usize> {
        let played = self.of_channel.iter().enumerate().filter(|(_, target)| target.is_some());
        played.map(|(position, _)| position).collect()
    }

    /// The number of topics, and of services to which requests are sent.
    pub fn len(&self) -> usize {
        self.topics.len() + self.services.len()
    }

    /// Publishes a message of a channel, or sends its request. False if it is an event without a request to send.
    ///
    /// # Errors
    /// Why it cannot be published.
    pub fn publish(&mut self, channel: usize, message: &[u8]) -> Result<bool, String> {
        match &mut self.of_channel[channel] {
            None => Ok(false),
            Some(Target::Service(position)) => self.services[*position].send(message),
            Some(Target::Topic { position, conversion }) => {
                self.topics[*position].publish(message, conversion.as_mut()).map(|()| true)
            }
        }
    }

    /// The topic or service of a channel.
    pub fn name(&self, channel: usize) -> &str {
        match &self.of_channel[channel] {
            None => "",
            Some(Target::Service(position)) => self.services[*position].service(),
            Some(Target::Topic { position, .. }) => self.topics[*position].publisher.topic(),
        }
    }

    /// Waits until the subscribers that are in the graphs get what is published from now on, for a limited time.
    ///
    /// # Errors
    /// When the operating system refuses to wait.
    pub fn wait_for_known_subscribers(&self, sides: &Sides, discovery: Duration) -> Result<(), CliError> {
        let until = Instant::now() + MATCHING.max(discovery);
        let graph = match &sides.ros2 {
            Some(side) => {
                unless_interrupted(side.context.wait_for_ros2_graph(discovery, |_| false))?;
                unless_interrupted(side.context.wait_for_ros2_graph(discovery, Ros2Graph::is_complete))?;
                side.context.ros2_graph()?.unwrap_or_default()
            }
            None => Ros2Graph::default(),
        };
        let state =
            sides.ros1.as_ref().map(|side| Graph::within(&side.context, MASTER_DEADLINE).system_state());
        let subscribers = state.and_then(Result::ok).unwrap_or_default().subscribers;
        for entry in &self.topics {
            let topic = entry.publisher.topic();
            let count = match entry.key.generation() {
                Generation::Ros1 => subscribers.get(topic).map_or(0, Vec::len),
                Generation::Ros2 => entry.subscriptions(&graph),
            };
            unless_interrupted(
                entry.publisher.wait_for_subscribers(count, until.saturating_duration_since(Instant::now())),
            )?;
        }
        for requests in &self.services {
            requests.wait(until.saturating_duration_since(Instant::now()));
        }
        Ok(())
    }

    /// Waits until each topic has a subscriber. False if `goes_on` says so before.
    ///
    /// # Errors
    /// When the operating system refuses to wait.
    pub fn wait_for_any_subscribers(&self, goes_on: impl Fn() -> bool) -> Result<bool, CliError> {
        const STEP: Duration = Duration::from_millis(100);
        for entry in &self.topics {
            while !unless_interrupted(entry.publisher.wait_for_subscribers(1, STEP))? {
                if !goes_on() {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Waits until all requests are answered, at most for this long or until `goes_on` says no. Services that still have
    /// requests are logged.
    pub fn wait_for_responses(&self, timeout: Duration, goes_on: impl Fn() -> bool) {
        const STEP: Duration = Duration::from_millis(100);
        let until = Instant::now() + timeout;
        for requests in &self.services {
            let mut unanswered = requests.wait_for_responses(until.min(Instant::now() + STEP));
            while unanswered > 0 && goes_on() && Instant::now() < until {
                unanswered = requests.wait_for_responses(until.min(Instant::now() + STEP));
            }
            if unanswered > 0 {
                log::warn!("service {}: requests without a response: {unanswered}", requests.service());
            }
        }
    }
}

impl Playing<'_> {
    /// The generation of the graph in which a channel is played.
    fn generation(&self, channel: &Channel) -> Generation {
        // What is of neither generation is refused later.
        self.graph.or_else(|| played_type::generation(channel)).unwrap_or(Generation::Ros2)
    }

    /// The type with which a channel is played, and the conversion to it.
    fn route(&self, channel: &Channel) -> Result<(Arc<Schema>, Option<Conversion>), String> {
        let schema = played_type::schema(channel, self.types)?;
        if self.graph.is_none_or(|graph| graph == schema.generation) {
            return Ok((schema, None));
        }
        if service_events::are_in(channel) {
            return Err("events of services are only in ROS 2".into());
        }
        let (conversion, to) = Conversion::to_other(&schema, self.types, self.rules)?;
        Ok((to, Some(conversion)))
    }
}

impl Key {
    fn of(topic: String, schema: &Schema) -> Self {
        let (is_ros2, type_name, sum) = match schema.generation {
            Generation::Ros1 => (false, schema.def.name.to_string(), Some(schema.md5.clone())),
            Generation::Ros2 => (true, schema.def.ros2_name.clone(), schema.rihs01()),
        };
        Self { is_ros2, topic, type_name, sum }
    }

    fn generation(&self) -> Generation {
        if self.is_ros2 { Generation::Ros2 } else { Generation::Ros1 }
    }
}

impl Entry {
    fn create(side: &Side, key: Key, schema: &Arc<Schema>, qos: QoS) -> Result<Self, String> {
        let options = PublisherOptions::from(qos).keep_header_seq();
        let publisher = side.node.create_dynamic_publisher(&key.topic, schema, options);
        let publisher = publisher.map_err(|error| error.to_string())?;
        let merged = StaticTransforms::new(&key.topic, schema);
        Ok(Self { key, publisher, merged, buffer: Vec::new() })
    }

    fn publish(&mut self, message: &[u8], conversion: Option<&mut Conversion>) -> Result<(), String> {
        let is_converted = conversion.is_some();
        if let Some(conversion) = conversion {
            conversion.convert(self.publisher.topic(), message, &mut self.buffer)?;
        }
        if let Some(merged) = &mut self.merged {
            if !is_converted {
                self.buffer.clear();
                self.buffer.extend_from_slice(message);
            }
            // A message that cannot be read is passed on as it is.
            _ = merged.merge(&mut self.buffer);
        }
        let is_in_buffer = is_converted || self.merged.is_some();
        let bytes = if is_in_buffer { self.buffer.as_slice() } else { message };
        let published = self.publisher.publish_bytes(|out: &mut GrowingSink| out.extend_from_slice(bytes));
        published.map_err(|error| error.to_string())
    }

    /// The number of subscriptions in ROS 2 that request no more than is offered.
    fn subscriptions(&self, graph: &Ros2Graph) -> usize {
        let (topic, type_name) = (self.publisher.topic(), &self.publisher.schema().def.ros2_name);
        let offered = self.publisher.qos();
        let ends = graph.endpoints.iter().filter(|end| {
            end.endpoint_type == EndpointType::Subscription
                && end.ros_topic() == Some(DdsTopic::Topic(topic))
                && end.ros_type() == *type_name
                && end.qos.incompatible_with(&offered).is_empty()
        });
        ends.count()
    }
}
