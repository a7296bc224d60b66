//! A topic that says how far the user's nodes are with the played messages, so that the player waits for them: the
//! `--rate-control-topic` of `rosbag play`.

use std::fmt::Display;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use runnel::core::schema::{Element, Generation, Schema, TypeName};
use runnel::core::wire::{Bytes, Reader, Wire, cdr};
use runnel::msgs::std_msgs::msg::Header;
use runnel::{QoS, RawMessage, Subscription, SubscriptionOptions};

use super::control::{Command, Remote};
use super::played_graphs::PlayedGraphs;
use crate::error::CliError;
use crate::log_once::LogOnce;
use crate::streaming::lock;
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
    last_stamp: LastStamp,
    _subscriptions: Vec<Subscription>,
}

/// The stamp of the last message. Clones share it.
#[derive(Clone)]
struct LastStamp {
    state: Arc<Mutex<State>>,
    player: Remote,
}

#[derive(Default)]
struct State {
    /// In nanoseconds.
    stamp: u64,
    /// The next message of the bag waits for a later one.
    is_delayed: bool,
    /// The player has not been woken since it began to wait.
    wants_wake: bool,
    /// A message had a header.
    is_known: bool,
    /// Why the messages of a publisher cannot be read.
    unreadable: Option<String>,
}

impl RateControl {
    /// Subscribes to the topic in the graphs of the player. The definitions of types are read from publishers in ROS 1, and
    /// among these in ROS 2.
    ///
    /// # Errors
    /// When that is not possible.
    pub fn create(
        graphs: &PlayedGraphs,
        options: &RateControlOptions,
        player: &Remote,
        load: impl Fn() -> Result<Types, CliError>,
    ) -> Result<Self, CliError> {
        let last_stamp = LastStamp::new(player.clone());
        let subscriptions = graphs.all().map(|graph| {
            let last_stamp = last_stamp.clone();
            let (mut stamps, mut refused) = (StampReader::new(load()?), LogOnce::default());
            let take = move |message: &RawMessage<'_>| {
                let received = (message.generation(), message.type_name(), message.definition());
                match stamps.read(received, message.bytes()) {
                    Ok(stamp) => last_stamp.set(stamp),
                    Err(why) => {
                        last_stamp.set_unreadable(&why);
                        refused.warn(format!("--rate-control-topic: {why}"));
                    }
                }
            };
            let options_of_topic = SubscriptionOptions::from(QoS::keep_last(10).reliability_best_available());
            Ok(graph.node.create_raw_subscription(&options.topic, None, options_of_topic, take)?)
        });
        let _subscriptions = subscriptions.collect::<Result<_, CliError>>()?;
        let max_delay = u64::try_from(options.max_delay.as_nanos()).unwrap_or(u64::MAX);
        Ok(Self { max_delay, last_stamp, _subscriptions })
    }

    /// Whether a message of this log time has to wait. The next stamp ends the player's sleep then.
    pub fn delays(&self, log_time: u64) -> bool {
        let mut state = lock(&self.last_stamp.state);
        state.is_delayed = log_time.saturating_sub(state.stamp) > self.max_delay;
        state.wants_wake = state.is_delayed;
        state.is_delayed
    }

    /// Checks that a later stamp can be awaited.
    ///
    /// # Errors
    /// When messages arrive, but none can be read.
    pub fn check(&self) -> Result<(), CliError> {
        let state = lock(&self.last_stamp.state);
        match &state.unreadable {
            Some(why) if state.is_delayed && !state.is_known => Err(CliError::Failed(format!(
                "--rate-control-topic: {why}. Try: a topic whose messages begin with a header"
            ))),
            _ => Ok(()),
        }
    }

    /// Continues at this log time. It replaces the last stamp, since no node has received later messages of this part.
    pub fn begin_at(&self, log_time: u64) {
        let mut state = lock(&self.last_stamp.state);
        state.stamp = log_time;
        state.is_delayed = false;
    }
}

impl LastStamp {
    fn new(player: Remote) -> Self {
        Self { state: Arc::default(), player }
    }

    fn set(&self, stamp: u64) {
        self.change(|state| {
            state.stamp = stamp;
            state.is_known = true;
        });
    }

    fn set_unreadable(&self, why: &str) {
        self.change(|state| state.unreadable = Some(why.to_owned()));
    }

    /// Changes the state, and ends the player's sleep if it waits for that. Each wait is ended by one command.
    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = lock(&self.state);
        change(&mut state);
        if std::mem::take(&mut state.wants_wake) {
            self.player.send(Command::Wake);
        }
    }
}

/// A type as a publisher announces it: its generation, its name, and in ROS 1 its definition.
type ReceivedType<'a> = (Generation, &'a str, &'a str);

/// Reads the stamps of messages.
struct StampReader {
    types: Types,
    /// Name of the last message's type, and whether it begins with a header.
    last_type: Option<(String, Result<(), String>)>,
}

impl StampReader {
    fn new(types: Types) -> Self {
        Self { types, last_type: None }
    }

    /// The stamp of the header with which a message begins, in nanoseconds.
    ///
    /// # Errors
    /// Why the message cannot be read.
    fn read(&mut self, received: ReceivedType<'_>, message: Bytes<'_>) -> Result<u64, String> {
        let (generation, name, _) = received;
        if self.last_type.as_ref().is_none_or(|(last, _)| last != name) {
            self.last_type = Some((name.to_owned(), check_header(received, &self.types)));
        }
        if let Some((_, Err(why))) = &self.last_type {
            return Err(why.clone());
        }
        stamp(generation, message).ok_or_else(|| format!("a message of type {name} is malformed"))
    }
}

/// Checks that messages of a type begin with a header.
fn check_header((generation, name, definition): ReceivedType<'_>, types: &Types) -> Result<(), String> {
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

fn stamp(generation: Generation, message: Bytes<'_>) -> Option<u64> {
    let mut reader = match generation {
        Generation::Ros1 => Reader::new(message),
        Generation::Ros2 => cdr::reader(message).ok()?,
    };
    let mut header = Header::default();
    header.read_into(&mut reader).ok()?;
    u64::try_from(header.stamp.as_nanos()).ok()
}

#[cfg(test)]
mod tests {
    use runnel_io::clock;

    use super::*;
    use crate::bag::play::control::Controls;

    fn control(controls: &Controls) -> RateControl {
        let last_stamp = LastStamp::new(controls.remote());
        RateControl { max_delay: 10, last_stamp, _subscriptions: Vec::new() }
    }

    #[test]
    fn stamp_ends_the_wait() {
        let mut controls = Controls::new(None);
        let control = control(&controls);
        control.begin_at(100);
        assert!(!control.delays(110) && control.delays(111));
        let (last_stamp, begin) = (control.last_stamp.clone(), clock::monotonic());
        std::thread::spawn(move || (101..=200).for_each(|stamp| last_stamp.set(stamp)));
        controls.sleep(begin + Duration::from_secs(600));
        assert!(clock::monotonic().since(begin) < Duration::from_secs(300), "it did not wait for the time");
        assert!(matches!(controls.next(begin), Some(Command::Wake)));
        assert!(controls.next(begin).is_none(), "the others do not wake a player that does not wait");
    }

    #[test]
    fn unreadable_messages_end_only_a_wait_without_others() {
        let controls = Controls::new(None);
        let control = control(&controls);
        control.last_stamp.set_unreadable("messages of type a/B cannot be read");
        assert!(control.check().is_ok(), "nothing waits");
        assert!(control.delays(11));
        let why = control.check().expect_err("it would wait for ever").to_string();
        assert!(why.starts_with("--rate-control-topic: messages of type a/B cannot be read. Try: "), "{why}");
        control.last_stamp.set(0);
        assert!(control.delays(11) && control.check().is_ok(), "another publisher can be read");
    }

    #[test]
    fn unreadable_messages_at_any_rate_end_the_wait() {
        let controls = Controls::new(None);
        let control = control(&controls);
        assert!(control.delays(11));
        // Several arrive before the player checks.
        for _ in 0..3 {
            control.last_stamp.set_unreadable("messages of type a/B cannot be read");
            assert!(control.check().is_err(), "it would wait for ever");
        }
        control.begin_at(11);
        assert!(control.check().is_ok(), "nothing waits");
    }

    #[test]
    fn malformed_message_is_unreadable() {
        let mut stamps = StampReader::new(Types::new(&[]).expect("no folder to read"));
        let point = (Generation::Ros2, "geometry_msgs/msg/PointStamped", "");
        // CDR, little-endian: seconds, nanoseconds, and an empty frame id.
        let header = [[0, 1, 0, 0], [2, 0, 0, 0], [3, 0, 0, 0], [1, 0, 0, 0], [0; 4]].concat();
        assert_eq!(stamps.read(point, header[..].into()), Ok(2_000_000_003));
        let why = stamps.read(point, header[..10].into()).expect_err("it is cut off");
        assert_eq!(why, "a message of type geometry_msgs/msg/PointStamped is malformed");
    }

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
