//! Topics that are subscribed with a type before they have a publisher.

use std::collections::BTreeMap;
use std::sync::Arc;

use runnel::core::schema::{Generation, Schema, TypeName};
use runnel::{Graphs, Ros2Graph};

use super::handover::Handover;
use super::offered_qos;
use super::options::Options;
use super::subscriptions::Subscriptions;
use crate::error::CliError;
use crate::types::Types;

/// A topic with its type. Its subscription announces the type, and requests one QoS of all publishers.
#[derive(Clone)]
pub struct StaticTopic {
    pub schema: Arc<Schema>,
    /// To the subscription that requests of each publisher the best that it offers.
    pub handover: Handover,
}

/// By name.
pub type StaticTopics = BTreeMap<String, StaticTopic>;

/// These topics with their types in the form of these graphs. `load` returns the types known here. Others are logged: their
/// topics are subscribed once there is a publisher.
///
/// # Errors
/// When the known types cannot be read.
pub fn with_schemas(
    names: &BTreeMap<String, TypeName>,
    graphs: Graphs,
    load: impl Fn() -> Result<Types, CliError>,
) -> Result<StaticTopics, CliError> {
    if names.is_empty() {
        return Ok(StaticTopics::new());
    }
    let types = load()?;
    let generation = if graphs == Graphs::Ros1 { Generation::Ros1 } else { Generation::Ros2 };
    let with_schema = |(topic, name): (&String, &TypeName)| {
        let schema = types.library().message_in(generation, name);
        let schema =
            schema.inspect_err(|why| log::warn!("topic {topic} has no type before its publisher: {why}"));
        Some((topic.clone(), StaticTopic { schema: schema.ok()?, handover: Handover::default() }))
    };
    Ok(names.iter().filter_map(with_schema).collect())
}

/// The topics whose publishers offer something else than is requested of them: less, or kept messages.
pub fn outdated(
    topics: &StaticTopics,
    subscriptions: &Subscriptions,
    options: &Options,
    graph: &Ros2Graph,
) -> Vec<String> {
    if topics.is_empty() {
        return Vec::new();
    }
    let offered = offered_qos::of_topics(graph);
    let is_outdated = |name: &str| {
        let best = options.qos(name);
        let offers = offered.get(name).into_iter().flatten();
        subscriptions.requested(name).is_some_and(|requested| {
            offers.into_iter().any(|(offer, _)| best.settled_for_subscription(&[*offer]) != requested)
        })
    };
    topics.keys().filter(|name| is_outdated(name)).cloned().collect()
}
