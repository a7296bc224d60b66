//! The publishers of a played bag: one for each topic and type, in the graph where it was recorded.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use runnel::core::names::DdsTopic;
use runnel::core::schema::Generation;
use runnel::core::wire::GrowingSink;
use runnel::{Context, DynamicPublisher, EndpointType, Node, PublisherOptions, Ros2Graph};
use runnel_bag::Channel;
use runnel_bridge::StaticTransforms;

use super::played_type;
use crate::bag::MASTER_DEADLINE;
use crate::error::{CliError, unless_interrupted};
use crate::graph::Graph;
use crate::types::Types;

/// How long to wait for subscribers that are in the graph.
const MATCHING: Duration = Duration::from_secs(2);

/// A graph with a node in it.
pub struct Side {
    /// The context, which is only in this graph.
    pub context: Context,
    /// The node that publishes.
    pub node: Node,
}

/// The graphs in which a bag is played.
#[derive(Default)]
pub struct Sides {
    pub ros1: Option<Side>,
    pub ros2: Option<Side>,
}

/// Those publishers, by channel of the bag.
pub struct Publishers {
    publishers: Vec<Entry>,
    /// By channel; `None` for channels that are not played.
    of_channel: Vec<Option<usize>>,
}

struct Entry {
    generation: Generation,
    publisher: DynamicPublisher,
    /// The static transforms until now: late subscribers get those of one message only.
    merged: Option<StaticTransforms>,
    buffer: Vec<u8>,
}

/// Channels with one publisher: generation, topic, type, and its MD5 sum or hash.
type Key = (Generation, String, String, Option<String>);

impl Sides {
    fn of(&self, generation: Generation) -> Option<&Side> {
        match generation {
            Generation::Ros1 => self.ros1.as_ref(),
            Generation::Ros2 => self.ros2.as_ref(),
        }
    }

    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = &Side> {
        self.ros1.iter().chain(&self.ros2)
    }
}

impl Publishers {
    /// Creates publishers for the channels whose graph is used, and whose topic is given by `topic`. Topics that cannot be
    /// played are logged.
    pub fn create(
        sides: &Sides,
        channels: &[Channel],
        types: &Types,
        topic: impl Fn(&Channel) -> Option<String>,
    ) -> Self {
        let mut groups: BTreeMap<Key, Vec<usize>> = BTreeMap::new();
        for (position, channel) in channels.iter().enumerate() {
            let generation = played_type::generation(channel).unwrap_or(Generation::Ros2);
            let Some(topic) = topic(channel).filter(|_| sides.of(generation).is_some()) else { continue };
            let sum = channel.md5.clone().or_else(|| channel.type_hash.clone());
            groups.entry((generation, topic, channel.type_name.clone(), sum)).or_default().push(position);
        }
        let mut created = Self { publishers: Vec::new(), of_channel: vec![None; channels.len()] };
        for ((generation, topic, ..), positions) in groups {
            let Some(side) = sides.of(generation) else { continue };
            let members: Vec<&Channel> = positions.iter().map(|position| &channels[*position]).collect();
            match Entry::create(side, generation, &topic, &members, types) {
                Ok(entry) => {
                    created.publishers.push(entry);
                    let publisher = created.publishers.len() - 1;
                    positions.iter().for_each(|position| created.of_channel[*position] = Some(publisher));
                }
                Err(why) => log::warn!("topic {topic} is not played: {why}"),
            }
        }
        created
    }

    /// Positions of the channels that are played.
    pub fn channels(&self) -> Vec<usize> {
        let played = self.of_channel.iter().enumerate().filter(|(_, publisher)| publisher.is_some());
        played.map(|(position, _)| position).collect()
    }

    /// The number of publishers.
    pub fn len(&self) -> usize {
        self.publishers.len()
    }

    /// Publishes a message of a channel.
    ///
    /// # Errors
    /// When it cannot be published.
    pub fn publish(&mut self, channel: usize, message: &[u8]) -> Result<(), CliError> {
        let Some(publisher) = self.of_channel[channel] else { return Ok(()) };
        self.publishers[publisher].publish(message)
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
        for entry in &self.publishers {
            let topic = entry.publisher.topic();
            let count = match entry.generation {
                Generation::Ros1 => subscribers.get(topic).map_or(0, Vec::len),
                Generation::Ros2 => entry.subscriptions(&graph),
            };
            unless_interrupted(
                entry.publisher.wait_for_subscribers(count, until.saturating_duration_since(Instant::now())),
            )?;
        }
        Ok(())
    }

    /// Waits until each topic has a subscriber. False if `goes_on` says so before.
    ///
    /// # Errors
    /// When the operating system refuses to wait.
    pub fn wait_for_any_subscribers(&self, goes_on: impl Fn() -> bool) -> Result<bool, CliError> {
        const STEP: Duration = Duration::from_millis(100);
        for entry in &self.publishers {
            while !unless_interrupted(entry.publisher.wait_for_subscribers(1, STEP))? {
                if !goes_on() {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }
}

impl Entry {
    fn create(
        side: &Side,
        generation: Generation,
        topic: &str,
        channels: &[&Channel],
        types: &Types,
    ) -> Result<Self, String> {
        let schema = played_type::schema(channels[0], types)?;
        let qos = played_type::qos(channels.iter().copied());
        let options = PublisherOptions::from(qos).keep_header_seq();
        let publisher = side.node.create_dynamic_publisher(topic, &schema, options);
        let publisher = publisher.map_err(|error| error.to_string())?;
        let merged = StaticTransforms::new(topic, &schema);
        Ok(Self { generation, publisher, merged, buffer: Vec::new() })
    }

    fn publish(&mut self, message: &[u8]) -> Result<(), CliError> {
        let mut bytes = message;
        if let Some(merged) = &mut self.merged {
            self.buffer.clear();
            self.buffer.extend_from_slice(message);
            // A message that cannot be read is passed on as it is.
            if merged.merge(&mut self.buffer).is_ok() {
                bytes = &self.buffer;
            }
        }
        Ok(self.publisher.publish_bytes(|out: &mut GrowingSink| out.extend_from_slice(bytes))?)
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
