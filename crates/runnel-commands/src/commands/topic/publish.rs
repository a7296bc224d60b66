//! `runnel topic pub`

use std::cell::Cell;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use runnel::core::dynamic::DynamicMessage;
use runnel::core::schema::{Generation, Schema};
use runnel::core::yaml;
use runnel::{Context, DynamicPublisher, QoS, Rate};
use runnel_io::clock;

use super::qos::AskedQos;
use super::subscribers::{self, has_best_effort_subscription, mismatch_count, ros1_only_count};
use crate::cli_context::CliContext;
use crate::completion;
use crate::error::{CliError, unless_interrupted};
use crate::graphs::{Discovery, GraphFilter, GraphSnapshot};
use crate::messages::{documents, typed_message, wrong_values};
use crate::originals::command_line::TOPIC_INFO;
use crate::output::{Output, counted};
use crate::received_types::learned;
use crate::streaming::POLL_PERIOD;
use crate::types::Types;
use crate::value_parsers;

/// Most messages that wait for a slow subscriber.
const DEPTH: usize = 100;

/// How long a limited number of messages waits for subscribers, or is kept for them.
const SUBSCRIBER_TIMEOUT: Duration = Duration::from_secs(3);

/// Pause before the first and after the last of a limited number of messages, for best-effort subscriptions. In many
/// implementations one thread handles discovery and another receives, so a subscription that has acknowledged the
/// publisher may still miss messages, or drop them at its end. Other subscriptions get lost messages again.
const SETTLING: Duration = Duration::from_millis(100);

/// How long standard input waits at most for a slow subscriber.
const MAX_BLOCKING: Duration = Duration::from_secs(10);

const EXAMPLES: &str = "\
Examples:
  runnel topic pub -1 /chatter std_msgs/String hello
  runnel topic pub -r 10 /cmd_vel geometry_msgs/Twist '{linear: {x: 0.5}}'
  runnel topic pub /cmd_vel geometry_msgs/Twist -- '[0.5, 0, 0]' '[0, 0, -1]'";

/// Publish messages
///
/// VALUES is one YAML text ('{linear: {x: 0.5}}', 'data: hello', or the bare value of a message with one field), or
/// one text per field. Missing fields get their defaults. A time may be now, a header auto. Write values that begin
/// with a hyphen after --.
///
/// The default rate is one message a second. With -1 the message is kept for 3 s for late subscribers, as in
/// rostopic. With -n, and if a ROS 2 node subscribes, known subscribers first get up to 3 s to connect. In ROS 2
/// only, -1 waits up to 3 s for a first subscriber, and ends when all reliable subscribers have acknowledged the
/// message.
///
/// Exit code: 0 also if no subscriber got a message. With -1 and -n a warning says so, and for each subscriber that
/// does not match it names the QoS policy or the types.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Args {
    /// The topic
    #[arg(add = completion::topics())]
    topic: String,

    /// The message type, such as std_msgs/String or std_msgs/msg/String
    #[arg(value_name = "TYPE", add = completion::topics_type())]
    type_name: String,

    /// The message, in YAML
    values: Vec<String>,

    /// Publish one message and end
    #[arg(short = '1', long)]
    once: bool,

    /// Publish this many messages a second [default: 1]
    #[arg(short, long, value_name = "HZ", value_parser = value_parsers::rate, conflicts_with = "once", allow_negative_numbers = true)]
    rate: Option<f64>,

    /// Publish this many messages and end
    #[arg(short = 'n', short_alias = 't', long, value_name = "COUNT", conflicts_with = "once")]
    times: Option<u64>,

    /// Wait for this many subscribers before the first message, without a time limit
    #[arg(short, long, alias = "wait-matching-subscriptions", value_name = "COUNT")]
    wait: Option<usize>,

    /// Stay this long after the last message [default: 3 with -1 and a master and without --wait, otherwise 0]
    #[arg(short, long, value_name = "SECONDS", value_parser = value_parsers::seconds, allow_negative_numbers = true)]
    keep_alive: Option<Duration>,

    /// Keep the last message for late subscribers; without -r, -n and -1 publish it only once
    #[arg(short, long)]
    latch: bool,

    /// Read messages from standard input, YAML documents with --- between them
    #[arg(long, conflicts_with_all = ["values", "once", "times"])]
    stdin: bool,

    /// Print each published message
    #[arg(short, long)]
    verbose: bool,

    /// Print only each N-th published message
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    print: Option<u64>,

    #[command(flatten)]
    qos: AskedQos,

    #[command(flatten)]
    filter: GraphFilter,

    /// Listen for ROS 2 subscribers for at least this long, with -1, -n or --stdin [default: 0.2]
    #[arg(long, value_name = "SECONDS", value_parser = value_parsers::seconds)]
    spin_time: Option<Duration>,
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), CliError> {
    let types = cli.types()?;
    let known = known(&types, &args.type_name);
    if let (Ok(schema), false) = (&known, args.stdin) {
        // Typed values are checked before any graph is contacted.
        message(schema, &args.values)?;
    }
    let topic = cli.resolve(&args.topic)?;
    let snapshot = GraphSnapshot::open_running(cli, args.filter, &args.discovery())?;
    let context = snapshot.context().clone();
    let node = cli.node(&context, "pub")?;
    let (schema, generation) = match known {
        Ok(_) => (types.message_in(snapshot.generation(), &args.type_name)?, snapshot.generation()),
        Err(unknown) => (learned(unknown, &node, &topic, &args.type_name)?, Generation::Ros2),
    };
    let mut publisher = node.create_dynamic_publisher(&topic, &schema, args.qos())?;
    publisher.set_max_blocking_time(MAX_BLOCKING);
    let published = Cell::new(0);
    let job = Job { args, context: &context, publisher, generation, output: cli.output, published };
    let has_subscriber = job.wait_for_subscribers(&snapshot)?;
    let settling = if args.is_limited() && has_best_effort_subscription(&context, &topic)? {
        SETTLING
    } else {
        Duration::ZERO
    };
    context.sleep(settling)?;
    match args {
        Args { stdin: true, .. } => job.publish_documents()?,
        Args { latch: true, rate: None, times: None, once: false, .. } => job.publish_latched()?,
        _ => job.publish_repeatedly()?,
    }
    context.sleep(settling)?;
    job.stay(has_subscriber, &snapshot)?;
    job.warn_of_drops();
    Ok(())
}

impl Args {
    /// Number of messages to publish; `None` for no limit.
    fn times(&self) -> Option<u64> {
        if self.once { Some(1) } else { self.times }
    }

    /// Messages from standard input wait for slow subscribers; messages at a rate do not.
    fn qos(&self) -> QoS {
        let qos = if self.stdin { QoS::keep_all() } else { QoS::keep_last(DEPTH) };
        self.qos.over(if self.latch || self.once { qos.transient_local() } else { qos })
    }

    /// True if the number of messages is limited, so that known subscribers must get them all.
    fn is_limited(&self) -> bool {
        self.times().is_some() || self.stdin
    }

    /// Without a limit there is no need to discover subscribers first.
    fn discovery(&self) -> Discovery {
        let is_unneeded = !self.is_limited() || self.wait.is_some();
        Discovery::at_least(if is_unneeded { Some(Duration::ZERO) } else { self.spin_time })
    }

    /// Whether the message of this number, from 1, is printed.
    fn prints(&self, number: u64) -> bool {
        self.print.map_or(self.verbose, |nth| number.is_multiple_of(nth))
    }

    /// True for one message that is kept for late subscribers.
    fn is_kept(&self) -> bool {
        self.once && !self.keep_alive().is_zero()
    }

    /// How long to stay for late subscribers.
    fn keep_alive(&self) -> Duration {
        let default = if self.once && self.wait.is_none() { SUBSCRIBER_TIMEOUT } else { Duration::ZERO };
        self.keep_alive.unwrap_or(default)
    }
}

/// The type in the form of either generation that has it.
fn known(types: &Types, name: &str) -> Result<Arc<Schema>, CliError> {
    types.message_in(Generation::Ros1, name).or_else(|error| {
        let in_ros2 = types.message_in(Generation::Ros2, name);
        in_ros2.map_err(|_| error)
    })
}

/// The message of these values; `now` is the current time.
fn message(schema: &Arc<Schema>, values: &[String]) -> Result<DynamicMessage, CliError> {
    typed_message(schema, values).map_err(|error| match values.len() {
        0 | 1 => wrong_message(schema, &error),
        count => {
            let hint = format!("{count} texts stand for {count} fields; quote a whole message as one text");
            CliError::Usage(format!("{}; {hint}", wrong_message(schema, &error)))
        }
    })
}

fn wrong_message(schema: &Schema, error: &yaml::YamlError) -> CliError {
    let name = &schema.def.name;
    CliError::Usage(wrong_values(&name.to_string(), error, &format!("'runnel interface show {name}'")))
}

struct Job<'a> {
    args: &'a Args,
    context: &'a Context,
    publisher: DynamicPublisher,
    /// The generation whose form messages have.
    generation: Generation,
    output: Output,
    /// Number of published messages.
    published: Cell<u64>,
}

impl Job<'_> {
    /// Waits without a limit for the requested number of subscribers. Otherwise, if messages are limited, waits a
    /// while for the known subscribers, or for a first one. False if no first one connected.
    fn wait_for_subscribers(&self, snapshot: &GraphSnapshot) -> Result<bool, CliError> {
        if let Some(count) = self.args.wait {
            self.output.note(&format!(
                "waiting for {} of {}",
                counted(count, "subscriber"),
                self.publisher.topic()
            ));
            return self.wait_for(count, None);
        }
        let topics = snapshot.topics()?;
        let topic = topics.0.get(self.publisher.topic());
        let ros2_count = topic.and_then(|topic| topic.ros2.as_ref()).map_or(0, |side| side.subscribers.len());
        let is_kept = self.args.is_kept();
        let mismatches = self.mismatch_count()?;
        let known = (ros2_count + topic.map_or(0, ros1_only_count)).saturating_sub(mismatches);
        if is_kept && known == 0 && self.generation == Generation::Ros2 {
            self.output.note(&format!("waiting for a subscriber of {}", self.publisher.topic()));
            return self.wait_for(1, Some(self.args.keep_alive()));
        }
        // A kept message needs no wait before it. But in ROS 2 only transient-local subscriptions get it later.
        let is_piped_to_nobody = self.args.stdin && known == 0;
        if !self.args.is_limited() || is_piped_to_nobody || is_kept && ros2_count == 0 {
            return Ok(true);
        }
        if known == 0 && mismatches > 0 {
            self.warn_of_mismatches();
        } else if known == 0 {
            log::warn!("no subscriber on {}", self.publisher.topic());
        } else if !self.wait_for(known, Some(SUBSCRIBER_TIMEOUT))? {
            let connected = self.publisher.subscription_count();
            log::warn!(
                "{connected} of {known} subscribers connected within {} s",
                SUBSCRIBER_TIMEOUT.as_secs()
            );
        }
        Ok(true)
    }

    /// False if fewer subscribers connect within the time-out.
    fn wait_for(&self, count: usize, timeout: Option<Duration>) -> Result<bool, CliError> {
        let until = timeout.map(|timeout| clock::monotonic() + timeout);
        while self.context.ok() {
            if unless_interrupted(self.publisher.wait_for_subscribers(count, POLL_PERIOD))? {
                return Ok(true);
            }
            if until.is_some_and(|until| clock::monotonic() >= until) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Stays for late subscribers, unless a first subscriber was waited for in vain. Warns if a kept message reached
    /// no subscriber.
    fn stay(&self, has_subscriber: bool, snapshot: &GraphSnapshot) -> Result<(), CliError> {
        let keep_alive =
            if has_subscriber && !self.is_acknowledged() { self.args.keep_alive() } else { Duration::ZERO };
        let until = clock::monotonic() + keep_alive;
        if self.args.is_kept() && !self.wait_for(1, Some(keep_alive))? {
            let (topic, seconds) = (self.publisher.topic(), self.args.keep_alive().as_secs_f64());
            if self.mismatch_count()? > 0 {
                self.warn_of_mismatches();
            } else if subscribers::has_subscriber(snapshot, topic)? {
                log::warn!(
                    "message not delivered: the subscribers of {topic} do not match (see '{TOPIC_INFO} {topic}')"
                );
            } else {
                log::warn!("message not delivered: no subscriber on {topic} within {seconds} s");
            }
        }
        Ok(self.context.sleep(until.since(clock::monotonic()))?)
    }

    /// The number of ROS 2 subscriptions that do not match the publisher.
    fn mismatch_count(&self) -> Result<usize, CliError> {
        mismatch_count(self.context, self.publisher.topic())
    }

    /// Warns that no subscription matches. The library logs the reason of each pair.
    fn warn_of_mismatches(&self) {
        let topic = self.publisher.topic();
        log::warn!("message not delivered: no subscriber of {topic} matches (see '{TOPIC_INFO} {topic}')");
    }

    /// True if ROS 2 subscribers have the message, or will have it before the program ends, since that waits for
    /// their acknowledgements. ROS 1 has no acknowledgements.
    fn is_acknowledged(&self) -> bool {
        let is_default = self.args.keep_alive.is_none();
        is_default && self.generation == Generation::Ros2 && self.publisher.subscription_count() > 0
    }

    fn publish_latched(&self) -> Result<(), CliError> {
        self.publish(&message(self.publisher.schema(), &self.args.values)?)?;
        self.output.note("publishing one latched message; Ctrl-C ends");
        Ok(self.context.spin()?)
    }

    fn publish_repeatedly(&self) -> Result<(), CliError> {
        if self.args.is_kept() {
            self.note_kept();
        } else if !self.args.is_limited() {
            self.note_endless();
        }
        let values = &self.args.values;
        // Values with these words change from message to message.
        let changes = values.iter().any(|value| value.contains("now") || value.contains("auto"));
        let typed = || message(self.publisher.schema(), values);
        let mut next = typed()?;
        let mut rate = Rate::new(self.context, self.args.rate.unwrap_or(1.0))?;
        let mut left = self.args.times();
        while self.context.ok() && left != Some(0) {
            self.publish(&next)?;
            left = left.map(|left| left - 1);
            if left != Some(0) {
                rate.sleep()?;
            }
            if changes {
                next = typed()?;
            }
        }
        Ok(())
    }

    fn note_kept(&self) {
        let (topic, seconds) = (self.publisher.topic(), self.args.keep_alive().as_secs_f64());
        if !self.is_acknowledged() {
            self.output.note(&format!("publishing on {topic}, kept for late subscribers for {seconds} s"));
        }
    }

    fn note_endless(&self) {
        let (topic, rate) = (self.publisher.topic(), self.args.rate.unwrap_or(1.0));
        self.output.note(&format!("publishing on {topic}, {rate} a second; Ctrl-C ends"));
    }

    fn publish_documents(&self) -> Result<(), CliError> {
        let mut rate = self.args.rate.map(|hertz| Rate::new(self.context, hertz)).transpose()?;
        let documents = documents(io::stdin);
        while self.context.ok() {
            let text = match documents.recv_timeout(POLL_PERIOD) {
                Ok(text) => text?,
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => break,
            };
            let schema = self.publisher.schema();
            let message = yaml::from_yaml(schema, &text, clock::realtime());
            self.publish(&message.map_err(|error| wrong_message(schema, &error))?)?;
            rate.as_mut().map_or(Ok(()), Rate::sleep)?;
        }
        Ok(())
    }

    fn publish(&self, message: &DynamicMessage) -> Result<(), CliError> {
        self.publisher.publish(message)?;
        self.published.set(self.published.get() + 1);
        if !self.args.prints(self.published.get()) {
            return Ok(());
        }
        let generation = self.generation;
        let options = yaml::EchoOptions { generation, ..yaml::EchoOptions::default() };
        let text = || format!("publishing:\n{}\n", yaml::to_yaml(message, &options));
        self.output.answer(text, || yaml::to_json_in(generation, message))
    }

    fn warn_of_drops(&self) {
        if self.publisher.dropped() > 0 {
            log::warn!("dropped {} for slow subscribers", counted(self.publisher.dropped(), "message"));
        }
    }
}
