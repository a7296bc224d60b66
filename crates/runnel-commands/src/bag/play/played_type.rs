//! The types and the QoS with which channels are published.

use std::sync::Arc;

use runnel::core::schema::{Generation, Schema, TypeName};
use runnel::{QoS, Reliability};
use runnel_bag::rosbag2::offered_qos;
use runnel_bag::{Channel, Encoding, SchemaLanguage};

use super::{action_names, service_events};
use crate::bag::action_topics::PartOfAction;
use crate::bag::record::has_sum;
use crate::types::Types;

/// Messages that a publisher keeps for a slow subscriber.
const DEPTH: usize = 1000;

/// The generation of a channel's messages, if it is one of ROS.
pub fn generation(channel: &Channel) -> Option<Generation> {
    match channel.encoding {
        Encoding::Ros1 => Some(Generation::Ros1),
        Encoding::Cdr => Some(Generation::Ros2),
        _ => None,
    }
}

/// The type of a channel: as the bag defines it, or as it is known here.
///
/// # Errors
/// Why it is not known.
pub fn schema(channel: &Channel, types: &Types) -> Result<Arc<Schema>, String> {
    let generation = generation(channel)
        .ok_or_else(|| format!("its encoding {} is not one of ROS", channel.encoding.name()))?;
    if service_events::are_in(channel) {
        return service_events::types(channel, types).map(|types| types.event);
    }
    let sum = channel.md5.as_deref().or(channel.type_hash.as_deref()).unwrap_or_default();
    let defined = defined(channel, generation).filter(|schema| has_sum(schema, sum));
    if let Some(schema) = defined {
        return Ok(schema);
    }
    let known = types.message_in(generation, &channel.type_name);
    let known = known.map_err(|error| format!("the bag does not define its type, and {error}"))?;
    match has_sum(&known, sum) {
        true => Ok(known),
        false => Err(format!(
            "the bag does not define its type {}, and the definition known here is another one",
            channel.type_name
        )),
    }
}

/// The definition in the bag, if it can be read.
fn defined(channel: &Channel, generation: Generation) -> Option<Arc<Schema>> {
    let is_message = matches!(channel.schema.language, SchemaLanguage::Ros1Msg | SchemaLanguage::Ros2Msg);
    let text = std::str::from_utf8(&channel.schema.data).ok().filter(|_| is_message)?;
    let schema = Schema::from_full_text_in(generation, &TypeName::parse(&channel.type_name)?, text).ok()?;
    let is_of_action =
        PartOfAction::of(&channel.topic).is_some_and(|part| part.action_type(&channel.type_name).is_some());
    if generation == Generation::Ros2 && is_of_action {
        return Some(action_names::named(&schema, &channel.type_name));
    }
    // The definition of an unnamed type is empty too; then the sum decides.
    let is_its_type = generation == Generation::Ros1 || schema.def.ros2_name == channel.type_name;
    is_its_type.then_some(schema)
}

/// The QoS to publish the messages of these channels of one topic. It reaches every subscription that the recorded
/// publishers reached together.
pub fn qos<'a>(channels: impl IntoIterator<Item = &'a Channel>) -> QoS {
    let offered = channels.into_iter().flat_map(offered);
    let offered: Vec<QoS> = offered.collect();
    let is_reliable = |qos: &QoS| qos.reliability == Reliability::Reliable;
    let depths = offered.iter().filter(|qos| qos.is_latching()).map(|qos| qos.depth);
    let kept = depths.fold(0, usize::saturating_add);
    let mut qos = QoS::keep_last(DEPTH);
    if !offered.is_empty() && !offered.iter().any(is_reliable) {
        qos = qos.best_effort();
    }
    if kept == 0 {
        return qos;
    }
    // Late subscribers get what the recorded publishers kept together.
    QoS { depth: kept, ..qos.transient_local() }
}

/// The QoS of the recorded publishers of a channel.
fn offered(channel: &Channel) -> Vec<QoS> {
    if channel.latching {
        return vec![QoS::latched()];
    }
    let text = channel.offered_qos.as_deref().unwrap_or_default();
    offered_qos::from_yaml(text).unwrap_or_else(|why| {
        log::warn!("topic {}: the QoS in the bag cannot be read: {why}", channel.topic);
        Vec::new()
    })
}

/// How many of its last messages late subscribers get.
pub fn kept(channel: &Channel) -> usize {
    let qos = qos([channel]);
    if qos.is_latching() { qos.depth } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn channel(offered: &[QoS]) -> Channel {
        let offered: Vec<_> = offered.iter().map(|qos| (*qos, true)).collect();
        Channel { offered_qos: Some(offered_qos::to_yaml(&offered)), ..Channel::default() }
    }

    #[test]
    fn publisher_offers_the_best_that_was_offered() {
        let (reliable, latched) = (QoS::keep_last(5), QoS::keep_last(2).transient_local());
        assert_eq!(qos([&channel(&[])]), QoS::keep_last(DEPTH));
        assert_eq!(qos([&channel(&[reliable.best_effort()])]), QoS::keep_last(DEPTH).best_effort());
        assert_eq!(qos([&channel(&[reliable.best_effort(), reliable])]), QoS::keep_last(DEPTH));
        let both = [&channel(&[latched]), &channel(&[latched, reliable])];
        assert_eq!(qos(both), QoS::keep_last(4).transient_local());
        let ros1 = Channel { latching: true, ..Channel::default() };
        assert_eq!((qos([&ros1]), kept(&ros1)), (QoS::latched(), 1));
        assert_eq!(kept(&channel(&[reliable])), 0);
    }

    #[test]
    fn type_comes_from_the_bag_or_from_here() {
        let types = Types::new(&[]).expect("no folder to read");
        let string = types.message("std_msgs/String").expect("built in");
        let mut channel = Channel {
            type_name: "std_msgs/String".into(),
            md5: Some(string.md5.clone()),
            ..Channel::default()
        };
        assert_eq!(schema(&channel, &types).expect("known here").md5, string.md5);
        channel.md5 = Some("0".repeat(32));
        let why = schema(&channel, &types).expect_err("another definition");
        assert!(why.contains("another one"), "{why}");
        channel = Channel { type_name: "a/B".into(), md5: None, ..channel };
        channel.schema.language = SchemaLanguage::Ros1Msg;
        channel.schema.data = b"int8 x\n".to_vec();
        assert_eq!(schema(&channel, &types).expect("in the bag").def.fields[0].name, "x");
        channel.encoding = Encoding::Other("json".into());
        assert!(schema(&channel, &types).expect_err("no message of ROS").contains("json"));
    }

    #[test]
    fn ros2_type_must_have_the_recorded_hash() {
        let types = Types::new(&[]).expect("no folder to read");
        let string = types.message_in(Generation::Ros2, "std_msgs/String").expect("built in");
        let channel = |hash: Option<String>| Channel {
            type_name: "std_msgs/msg/String".into(),
            encoding: Encoding::Cdr,
            type_hash: hash,
            ..Channel::default()
        };
        assert!(schema(&channel(string.rihs01()), &types).is_ok());
        assert!(schema(&channel(None), &types).is_ok());
        assert!(schema(&channel(Some("RIHS01_00".into())), &types).is_err());
    }
}
