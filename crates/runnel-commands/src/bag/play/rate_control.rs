//! A topic that says how far the user's nodes are with the played messages, so that the player waits for them: the
//! `--rate-control-topic` of `rosbag play`.

use std::fmt::Display;
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
use crate::types::{self, Types};

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
            let (mut last_type, mut refused) = (None, LogOnce::default());
            let take = move |message: &RawMessage<'_>| {
                let name = message.type_name();
                if last_type.as_ref().is_none_or(|(last, _)| last != name) {
                    let definition = (message.generation(), name, message.definition());
                    last_type = Some((name.to_owned(), check_header(definition, &types)));
                }
                let checked = last_type.as_ref().map_or(Ok(()), |(_, checked)| checked.clone());
                match checked.and_then(|()| stamp(message).ok_or_else(|| without_header(name))) {
                    Ok(stamp) => progress.set(stamp),
                    Err(why) => refused.warn(format!("--rate-control-topic: {why}")),
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

/// Checks that messages of a type begin with a header: its generation, its name, and in ROS 1 its definition.
fn check_header(
    (generation, name, definition): (Generation, &str, &str),
    types: &Types,
) -> Result<(), String> {
    let unknown = |why: &dyn Display| format!("messages of type {name} cannot be read: {why}");
    let schema = match generation {
        Generation::Ros1 => {
            let parsed = types::type_name(name).map_err(|why| unknown(&why))?;
            Schema::from_full_text_in(generation, &parsed, definition).map_err(|why| unknown(&why))?
        }
        Generation::Ros2 => types.message_in(generation, name).map_err(|why| unknown(&why))?,
    };
    let header = Element::Message(TypeName::new("std_msgs", "Header"));
    match schema.def.fields.first() {
        Some(field) if field.element == header => Ok(()),
        _ => Err(without_header(name)),
    }
}

fn without_header(name: &str) -> String {
    format!("messages of type {name} do not begin with a header")
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_type_is_not_reported_as_without_header() {
        let types = Types::new(&[]).expect("no folder to read");
        let check = |name: &str| check_header((Generation::Ros2, name, ""), &types);
        assert_eq!(check("geometry_msgs/msg/PointStamped"), Ok(()));
        let why = check("std_msgs/msg/String").expect_err("without a header");
        assert_eq!(why, "messages of type std_msgs/msg/String do not begin with a header");
        let why = check("no_msgs/msg/Such").expect_err("unknown");
        assert!(
            why.starts_with("messages of type no_msgs/msg/Such cannot be read: no no_msgs/Such.msg is known")
        );
        assert!(why.ends_with("or add --interfaces DIR"), "{why}");
    }

    #[test]
    fn definition_of_ros1_publisher_is_checked() {
        let types = Types::new(&[]).expect("no folder to read");
        let check = |definition: &str| check_header((Generation::Ros1, "no_msgs/Such", definition), &types);
        let bar = "=".repeat(80);
        let header = format!("{bar}\nMSG: std_msgs/Header\nuint32 seq\ntime stamp\nstring frame_id\n");
        assert_eq!(check(&format!("Header header\nint32 a\n{header}")), Ok(()));
        let why = check("int32 a\n").expect_err("without a header");
        assert_eq!(why, "messages of type no_msgs/Such do not begin with a header");
        let why = check("other_msgs/Such a\n").expect_err("its field is not defined");
        assert!(why.contains("cannot be read"), "{why}");
    }
}
