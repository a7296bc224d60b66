//! A topic that says how far the user's nodes are with the played messages, so that the player waits for them: the
//! `--rate-control-topic` of `rosbag play`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use runnel::core::schema::{Element, Generation, Schema, TypeName};
use runnel::core::wire::{Reader, Wire, cdr};
use runnel::msgs::std_msgs::msg::Header;
use runnel::{QoS, RawMessage, Subscription, SubscriptionOptions};

use super::played_graphs::PlayedGraphs;
use crate::error::CliError;
use crate::log_once::LogOnce;
use crate::types::Types;

/// What the user requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateControlOptions {
    /// The topic, whose messages begin with a header.
    pub topic: String,
    /// How far the bag may be ahead of the last stamp.
    pub max_delay: Duration,
}

/// The subscriptions to the topic.
pub struct RateControl {
    max_delay: u64,
    progress: Progress,
    _subscriptions: Vec<Subscription>,
}

/// The stamp of the last message, in nanoseconds. Clones share it.
#[derive(Clone, Default)]
struct Progress(Arc<AtomicU64>);

impl RateControl {
    /// Subscribes to the topic in the graphs of the player. The definitions of types are read from publishers in ROS 1, and
    /// among these in ROS 2.
    ///
    /// # Errors
    /// When that is not possible.
    pub fn create(
        graphs: &PlayedGraphs,
        options: &RateControlOptions,
        load: impl Fn() -> Result<Types, CliError>,
    ) -> Result<Self, CliError> {
        let progress = Progress::default();
        let subscriptions = graphs.all().map(|graph| {
            let (progress, types) = (progress.clone(), load()?);
            let (mut last_type, mut refused) = (None::<(String, bool)>, LogOnce::default());
            let take = move |message: &RawMessage<'_>| {
                let name = message.type_name();
                let known =
                    last_type.as_ref().filter(|(last, _)| last == name).map(|(_, has_header)| *has_header);
                let has_header = known.unwrap_or_else(|| has_header(message, &types));
                if known.is_none() {
                    last_type = Some((name.to_owned(), has_header));
                }
                match if has_header { stamp(message) } else { None } {
                    Some(stamp) => progress.set(stamp),
                    None => refused.warn(format!(
                        "--rate-control-topic: messages of type {name} do not begin with a header"
                    )),
                }
            };
            let options_of_topic = SubscriptionOptions::from(QoS::keep_last(10).reliability_best_available());
            Ok(graph.node.create_raw_subscription(&options.topic, None, options_of_topic, take)?)
        });
        let _subscriptions = subscriptions.collect::<Result<_, CliError>>()?;
        let max_delay = u64::try_from(options.max_delay.as_nanos()).unwrap_or(u64::MAX);
        Ok(Self { max_delay, progress, _subscriptions })
    }

    /// Whether a message of this log time has to wait.
    pub fn delays(&self, log_time: u64) -> bool {
        log_time.saturating_sub(self.progress.get()) > self.max_delay
    }

    /// The playing goes on at this log time, which nobody can have reached before.
    pub fn begin_at(&self, log_time: u64) {
        self.progress.set(log_time);
    }
}

impl Progress {
    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn set(&self, nanos: u64) {
        self.0.store(nanos, Ordering::Relaxed);
    }
}

/// Whether messages of this type begin with a header.
fn has_header(message: &RawMessage<'_>, types: &Types) -> bool {
    let generation = message.generation();
    let Some(name) = TypeName::parse(message.type_name()) else { return false };
    let schema = match generation {
        Generation::Ros1 => Schema::from_full_text_in(generation, &name, message.definition()).ok(),
        Generation::Ros2 => types.library().message_in(generation, &name).ok(),
    };
    let header = TypeName::new("std_msgs", "Header");
    let is_header = |schema: Arc<Schema>| {
        schema.def.fields.first().is_some_and(|field| field.element == Element::Message(header))
    };
    schema.is_some_and(is_header)
}

/// The stamp of the header with which a message begins, in nanoseconds.
fn stamp(message: &RawMessage<'_>) -> Option<u64> {
    let mut reader = match message.generation() {
        Generation::Ros1 => Reader::new(message.bytes()),
        Generation::Ros2 => cdr::reader(message.bytes()).ok()?,
    };
    let mut header = Header::default();
    header.read_into(&mut reader).ok()?;
    u64::try_from(header.stamp.as_nanos()).ok()
}
