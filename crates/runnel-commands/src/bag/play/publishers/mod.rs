//! The publishers of a played bag: one for each topic and type, in the graph where it was recorded. Requests of services
//! and goals of actions may be sent by clients instead.

mod entry;
mod waiting;

use std::collections::BTreeMap;
use std::sync::Arc;

use runnel::core::schema::{Generation, Schema};
use runnel_bag::Channel;
use runnel_bridge::Rules;

use super::conversion::Conversion;
use super::goals::Goals;
use super::played_graphs::{PlayedGraph, PlayedGraphs};
use super::requests::{self, RequestSource, Requests};
use super::{played_type, service_events};
use crate::bag::action_topics::ActionPart;
use crate::bag::qos_overrides::QosOverrides;
use crate::bag::subject::Subject;
use crate::log_once::LogOnce;
use crate::types::Types;
use entry::{Entry, Key};

/// What becomes of the messages of a bag, by channel.
pub struct Publishers {
    topics: Vec<Entry>,
    services: Vec<Requests>,
    actions: Vec<Goals>,
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
    /// If goals of actions are sent instead of their topics: the events with the goals.
    pub goals: Option<RequestSource>,
}

/// Where the messages of a channel go.
enum Target {
    Topic { position: usize, conversion: Option<Conversion> },
    Service(usize),
    Action { position: usize, part: ActionPart },
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
        graphs: &PlayedGraphs,
        channels: &[Channel],
        playing: &Playing<'_>,
        topic: impl Fn(&Channel) -> Option<String>,
    ) -> Self {
        let of_channel = channels.iter().map(|_| None).collect();
        let mut created = Self { topics: Vec::new(), services: Vec::new(), actions: Vec::new(), of_channel };
        let mut groups: BTreeMap<Key, Group> = BTreeMap::new();
        let mut actions: BTreeMap<String, Vec<(usize, ActionPart)>> = BTreeMap::new();
        let mut refused = LogOnce::default();
        for (position, channel) in channels.iter().enumerate() {
            let Some(name) = topic(channel) else { continue };
            let Some(graph) = graphs.of(playing.generation(channel)) else { continue };
            if let Some((action, part)) = playing.sent_action(channel, &name) {
                actions.entry(action).or_default().push((position, part));
                continue;
            }
            let added = match playing.requests.zip(requests::service_of(channel)) {
                Some((source, _)) => created.add_service(graph, (position, channel), &name, playing, source),
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
            created.add_topic(graphs, channels, playing, key, group);
        }
        for (action, members) in actions {
            if let Err(why) = created.add_action(graphs, channels, playing, (&action, &members)) {
                log::warn!("action {action} is not played: {why}");
            }
        }
        created
    }

    fn add_topic(
        &mut self,
        graphs: &PlayedGraphs,
        channels: &[Channel],
        playing: &Playing<'_>,
        key: Key,
        group: Group,
    ) {
        let (Some(graph), Some(schema)) = (graphs.of(key.generation()), group.schema) else { return };
        let members: Vec<&Channel> = group.members.iter().map(|(position, _)| &channels[*position]).collect();
        let overridden = members.iter().find_map(|channel| playing.overrides.get(&channel.topic).copied());
        let qos = overridden.unwrap_or_else(|| played_type::qos(members.iter().copied()));
        let topic = key.topic().to_owned();
        match Entry::create(graph, key, &schema, qos) {
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
        graph: &PlayedGraph,
        (position, channel): (usize, &Channel),
        topic: &str,
        playing: &Playing<'_>,
        source: RequestSource,
    ) -> Result<(), String> {
        let service = requests::service_of(&renamed(channel, topic)).unwrap_or_else(|| topic.to_owned());
        self.services.push(Requests::create(&graph.node, &service, channel, playing.types, source)?);
        self.of_channel[position] = Some(Target::Service(self.services.len() - 1));
        Ok(())
    }

    fn add_action(
        &mut self,
        graphs: &PlayedGraphs,
        channels: &[Channel],
        playing: &Playing<'_>,
        (action, members): (&str, &[(usize, ActionPart)]),
    ) -> Result<(), String> {
        let Some((graph, source)) = graphs.ros2.as_ref().zip(playing.goals) else {
            return Err("goals are sent only in ROS 2".into());
        };
        let parts: Vec<_> = members.iter().map(|(position, part)| (*part, &channels[*position])).collect();
        self.actions.push(Goals::create(&graph.node, action, &parts, playing.types, source)?);
        for (channel, part) in members {
            // The client requests the results, and the server publishes the rest.
            if matches!(part, ActionPart::SendGoal | ActionPart::CancelGoal) {
                let position = self.actions.len() - 1;
                self.of_channel[*channel] = Some(Target::Action { position, part: *part });
            }
        }
        Ok(())
    }

    /// Positions of the channels that are played.
    pub fn channels(&self) -> Vec<usize> {
        let played = self.of_channel.iter().enumerate().filter(|(_, target)| target.is_some());
        played.map(|(position, _)| position).collect()
    }

    /// The number of topics, and of services and actions to which requests are sent.
    pub fn len(&self) -> usize {
        self.topics.len() + self.services.len() + self.actions.len()
    }

    /// Publishes a message of a channel, or sends its request. False if it is an event without a request to send.
    ///
    /// # Errors
    /// Why it cannot be published.
    pub fn publish(&mut self, channel: usize, message: &[u8]) -> Result<bool, String> {
        match &mut self.of_channel[channel] {
            None => Ok(false),
            Some(Target::Service(position)) => self.services[*position].send(message),
            Some(Target::Action { position, part }) => self.actions[*position].play(*part, message),
            Some(Target::Topic { position, conversion }) => {
                self.topics[*position].publish(message, conversion.as_mut()).map(|()| true)
            }
        }
    }

    /// The topic, the service or the action of a channel.
    pub fn name(&self, channel: usize) -> &str {
        match &self.of_channel[channel] {
            None => "",
            Some(Target::Service(position)) => self.services[*position].service(),
            Some(Target::Action { position, .. }) => self.actions[*position].action(),
            Some(Target::Topic { position, .. }) => self.topics[*position].publisher.topic(),
        }
    }
}

impl Playing<'_> {
    /// The generation of the graph in which a channel is played.
    fn generation(&self, channel: &Channel) -> Generation {
        // What is of neither generation is refused later.
        self.graph.or_else(|| played_type::generation(channel)).unwrap_or(Generation::Ros2)
    }

    /// The action whose goals are sent, and its part, if a channel that is played as this topic has one.
    fn sent_action(&self, channel: &Channel, topic: &str) -> Option<(String, ActionPart)> {
        self.goals?;
        match Subject::of(&renamed(channel, topic)) {
            Subject::Action { action, part, .. } => Some((action, part)),
            _ => None,
        }
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

/// A channel as it is played: its topic may have another name.
fn renamed(channel: &Channel, topic: &str) -> Channel {
    Channel { topic: topic.to_owned(), ..channel.clone() }
}

#[cfg(test)]
mod tests {
    use runnel_bag::Encoding;

    use super::*;

    #[test]
    fn goals_are_sent_of_channels_with_types_of_an_action() {
        let (types, rules) = (Types::new(&[]).expect("no folder to read"), Rules::default());
        let overrides = QosOverrides::default();
        let goals = Some(RequestSource::default());
        let playing = Playing {
            types: &types,
            graph: None,
            rules: &rules,
            overrides: &overrides,
            requests: None,
            goals,
        };
        let sent = |type_name: &str, encoding, topic: &str| {
            let channel =
                Channel { topic: "/old".into(), type_name: type_name.into(), encoding, ..Channel::default() };
            playing.sent_action(&channel, topic)
        };
        let (status, topic) = ("action_msgs/msg/GoalStatusArray", "/fib/_action/status");
        assert_eq!(sent(status, Encoding::Cdr, topic), Some(("/fib".to_owned(), ActionPart::Status)));
        assert_eq!(sent("std_msgs/msg/String", Encoding::Cdr, topic), None);
        assert_eq!(sent(status, Encoding::Ros1, topic), None);
        assert_eq!(sent(status, Encoding::Cdr, "/status"), None);
        let without = Playing { goals: None, ..playing };
        let channel = Channel {
            topic: topic.into(),
            type_name: status.into(),
            encoding: Encoding::Cdr,
            ..Channel::default()
        };
        assert_eq!(without.sent_action(&channel, topic), None);
    }
}
