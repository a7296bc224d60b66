//! Lengths of messages, from subscriptions to the publishers of the graph.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use runnel::core::names::DdsTopic;
use runnel::{Node, QoS, RawMessage, Ros2Graph};

use crate::commands::doctor::ros2::found::LargestMessage;
use crate::error::CliError;
use crate::graphs::{is_hidden, is_publisher};
use crate::streaming::lock;

/// Number of topics that are subscribed to.
const MOST_TOPICS: usize = 32;

/// How long messages are awaited.
const WAIT: Duration = Duration::from_secs(1);

/// The largest message of each publisher within a second.
///
/// # Errors
/// When sockets cannot be opened.
pub fn gather(node: &Node, graph: &Ros2Graph) -> Result<Vec<LargestMessage>, CliError> {
    let publishers = graph.endpoints.iter().filter(|end| is_publisher(end));
    let topics: std::collections::BTreeSet<&str> = publishers
        .filter_map(|end| match end.ros_topic() {
            Some(DdsTopic::Topic(topic)) if !is_hidden(topic) => Some(topic),
            _ => None,
        })
        .take(MOST_TOPICS)
        .collect();
    let largest: Arc<Mutex<BTreeMap<(String, String), usize>>> = Arc::default();
    let mut subscriptions = Vec::new();
    for topic in topics {
        let (largest, name) = (Arc::clone(&largest), topic.to_owned());
        let qos = QoS::keep_last(1).best_effort();
        subscriptions.push(node.create_raw_subscription(
            topic,
            None,
            qos,
            move |message: &RawMessage<'_>| {
                let mut largest = lock(&largest);
                let bytes = largest.entry((name.clone(), message.publisher().to_owned())).or_default();
                *bytes = (*bytes).max(message.bytes().len());
            },
        )?);
    }
    let until = Instant::now() + WAIT;
    let context = node.context();
    while Instant::now() < until && context.ok() {
        context.spin_once(until.saturating_duration_since(Instant::now()))?;
    }
    let largest = lock(&largest);
    let message = |((topic, node), bytes): (&(String, String), &usize)| LargestMessage {
        topic: topic.clone(),
        node: node.clone(),
        bytes: *bytes,
    };
    Ok(largest.iter().map(message).collect())
}
