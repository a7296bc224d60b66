//! `runnel topic pub`

use std::io;
use std::sync::Arc;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use runnel::core::dynamic::DynamicMessage;
use runnel::core::names::DdsTopic;
use runnel::core::schema::{Generation, Schema};
use runnel::core::yaml;
use runnel::io::clock;
use runnel::{Context, DynamicPublisher, EndpointInfo, EndpointType, QoS, Rate, Reliability};

use super::qos::AskedQos;
use crate::completion;
use crate::error::CliError;
use crate::graphs::{Listening, Sight, Topic, Which};
use crate::messages::{documents, typed_message};
use crate::output::{Output, counted};
use crate::session::Session;
use crate::streaming::GLANCE;
use crate::types::Types;
use crate::value_parsers;

/// Messages that wait at most for a slow subscriber.
const DEPTH: usize = 100;

/// How long a few messages wait for subscribers, or are kept for them.
const PATIENCE: Duration = Duration::from_secs(3);

/// How long a few messages wait after best-effort subscriptions have acknowledged that they know the publisher, and how long
/// that stays after the last message: in many implementations one thread hears of publishers that come and go, and another,
/// which receives, is behind it for a moment or before it. To other subscriptions what is lost is sent again.
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
/// VALUES is one YAML text ('{linear: {x: 0.5}}', 'data: hello', or the bare value of a message of one field), or
/// one text for each field. Fields that are left out get their defaults. A time may be now, a header auto. Values
/// that begin with a hyphen stand behind --.
///
/// It publishes once a second unless told otherwise. With -1 it keeps the message for 3 s for subscribers to come, as
/// rostopic does; with -n, and where a node of ROS 2 subscribes, it first gives the known subscribers up to 3 s to
/// connect. Where only ROS 2 is, -1 waits up to 3 s for a first subscriber, and ends when all reliable subscribers
/// have acknowledged the message.
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

    /// Publish so many messages a second [default: 1]
    #[arg(short, long, value_name = "HZ", value_parser = value_parsers::rate, conflicts_with = "once", allow_negative_numbers = true)]
    rate: Option<f64>,

    /// Publish so many messages and end
    #[arg(short = 'n', short_alias = 't', long, value_name = "COUNT", conflicts_with = "once")]
    times: Option<u64>,

    /// Wait for so many subscribers before the first message, however long it takes
    #[arg(short, long, alias = "wait-matching-subscriptions", value_name = "COUNT")]
    wait: Option<usize>,

    /// Stay for so long after the last message [default: 3 with -1 where a master is but not with --wait, otherwise 0]
    #[arg(short, long, value_name = "SECONDS", value_parser = value_parsers::seconds, allow_negative_numbers = true)]
    keep_alive: Option<Duration>,

    /// Keep the last message for subscribers that come later; without -r, -n and -1 publish it only once
    #[arg(short, long)]
    latch: bool,

    /// Read messages from standard input, YAML documents with --- between them
    #[arg(long, conflicts_with_all = ["values", "once", "times"])]
    stdin: bool,

    /// Print what is published
    #[arg(short, long)]
    verbose: bool,

    #[command(flatten)]
    qos: AskedQos,

    #[command(flatten)]
    which: Which,

    /// Listen for subscribers of ROS 2 for at least so long, where messages are few [default: 0.2]
    #[arg(long, value_name = "SECONDS", value_parser = value_parsers::seconds)]
    spin_time: Option<Duration>,
}

pub fn run(args: &Args, session: &Session) -> Result<(), CliError> {
    let types = session.types()?;
    if !args.stdin {
        // What was typed is looked at before anyone is bothered.
        message(&known(&types, &args.type_name)?, &args.values)?;
    }
    let topic = session.resolve(&args.topic)?;
    let sight = Sight::running(session, args.which, &args.listening())?;
    let context = sight.context().clone();
    let schema = types.message_in(sight.generation(), &args.type_name)?;
    let node = session.node(&context, "pub")?;
    let mut publisher = node.create_dynamic_publisher(&topic, &schema, args.qos())?;
    publisher.set_max_blocking_time(MAX_BLOCKING);
    let job =
        Job { args, context: &context, publisher, generation: sight.generation(), output: session.output };
    let came = job.wait_for_subscribers(&sight)?;
    let settling = if args.ends() && some_lose(&context, &topic)? { SETTLING } else { Duration::ZERO };
    context.sleep(settling)?;
    match args {
        Args { stdin: true, .. } => job.publish_documents()?,
        Args { latch: true, rate: None, times: None, once: false, .. } => job.publish_latched()?,
        _ => job.publish_again_and_again()?,
    }
    context.sleep(settling)?;
    job.stay(came, &sight)?;
    job.tell_of_losses();
    Ok(())
}

impl Args {
    /// How many messages are to be published; `None` for no end.
    fn times(&self) -> Option<u64> {
        if self.once { Some(1) } else { self.times }
    }

    /// What is read as fast as it comes waits for slow subscribers; what is published at a rate does not.
    fn qos(&self) -> QoS {
        let qos = if self.stdin { QoS::keep_all() } else { QoS::keep_last(DEPTH) };
        self.qos.over(if self.latch || self.once { qos.transient_local() } else { qos })
    }

    /// It publishes a number of messages and ends: those who are there are to hear them.
    fn ends(&self) -> bool {
        self.times().is_some() || self.stdin
    }

    /// Who publishes on and on need not know who is there.
    fn listening(&self) -> Listening {
        let needless = !self.ends() || self.wait.is_some();
        Listening::lasting(if needless { Some(Duration::ZERO) } else { self.spin_time })
    }

    /// True of one message that is kept for subscribers to come.
    fn is_kept(&self) -> bool {
        self.once && !self.keep_alive().is_zero()
    }

    /// How long to stay for subscribers that come late.
    fn keep_alive(&self) -> Duration {
        let default = if self.once && self.wait.is_none() { PATIENCE } else { Duration::ZERO };
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

/// The message that the values mean now.
fn message(schema: &Arc<Schema>, values: &[String]) -> Result<DynamicMessage, CliError> {
    typed_message(schema, values).map_err(|error| match values.len() {
        0 | 1 => wrong_message(schema, &error),
        count => {
            let hint = format!("{count} texts are one for each field; a whole message is one text");
            CliError::Usage(format!("{}; {hint}", wrong_message(schema, &error)))
        }
    })
}

fn wrong_message(schema: &Schema, error: &yaml::YamlError) -> CliError {
    let name = &schema.def.name;
    CliError::Usage(format!("not a {name}: {error} (see 'runnel interface show {name}')"))
}

/// True if a subscription of ROS 2 gets what is lost on the way no second time.
fn some_lose(context: &Context, topic: &str) -> Result<bool, CliError> {
    let graph = context.ros2_graph()?.unwrap_or_default();
    let loses = |end: &EndpointInfo| end.qos.reliability == Reliability::BestEffort;
    Ok(graph.endpoints.iter().any(|end| subscribes(end, topic) && loses(end)))
}

fn subscribes(end: &EndpointInfo, topic: &str) -> bool {
    end.endpoint_type == EndpointType::Subscription && end.ros_topic() == Some(DdsTopic::Topic(topic))
}

/// True if anybody subscribes, in whatever type and QoS.
fn subscribed(sight: &Sight, topic: &str) -> Result<bool, CliError> {
    let graph = sight.context().ros2_graph()?.unwrap_or_default();
    let of_ros2 = graph.endpoints.iter().any(|end| subscribes(end, topic));
    let of_ros1 = sight.ros1().and_then(|graph| graph.system_state().ok());
    Ok(of_ros2 || of_ros1.is_some_and(|state| state.subscribers.contains_key(topic)))
}

/// The subscribers of ROS 1 that are not in ROS 2 as well, which are connected once.
fn in_ros1_alone(topic: &Topic) -> usize {
    let of_ros2 = topic.ros2.as_ref().map_or(&[][..], |side| &side.subscribers);
    let of_ros1 = topic.ros1.iter().flat_map(|side| &side.subscribers);
    of_ros1.filter(|node| !of_ros2.contains(node)).count()
}

struct Job<'a> {
    args: &'a Args,
    context: &'a Context,
    publisher: DynamicPublisher,
    /// In whose form messages are made.
    generation: Generation,
    output: Output,
}

impl Job<'_> {
    /// Waits as long as it takes for as many as the user wants; otherwise, if messages are few, for a while for those
    /// that are known, or for one that is to come. False if that one has not.
    fn wait_for_subscribers(&self, sight: &Sight) -> Result<bool, CliError> {
        if let Some(count) = self.args.wait {
            self.output.note(&format!(
                "waiting for {} of {}",
                counted(count, "subscriber"),
                self.publisher.topic()
            ));
            return self.wait_for(count, None);
        }
        let topics = sight.topics()?;
        let topic = topics.0.get(self.publisher.topic());
        let of_ros2 = topic.and_then(|topic| topic.ros2.as_ref()).map_or(0, |side| side.subscribers.len());
        let is_kept = self.args.is_kept();
        let known = of_ros2 + topic.map_or(0, in_ros1_alone);
        if is_kept && known == 0 && self.generation == Generation::Ros2 {
            self.output.note(&format!("waiting for a subscriber of {}", self.publisher.topic()));
            return self.wait_for(1, Some(self.args.keep_alive()));
        }
        // A message that is kept needs no waiting before it, but in ROS 2 only those get it later who ask for that.
        let is_piped_to_nobody = self.args.stdin && known == 0;
        if !self.args.ends() || is_piped_to_nobody || is_kept && of_ros2 == 0 {
            return Ok(true);
        }
        if known == 0 {
            log::warn!("nobody subscribes to {}", self.publisher.topic());
        } else if !self.wait_for(known, Some(PATIENCE))? {
            let connected = self.publisher.subscription_count();
            log::warn!("of {known} subscribers {connected} connected within {} s", PATIENCE.as_secs());
        }
        Ok(true)
    }

    /// False if so many subscribers did not come within `patience`.
    fn wait_for(&self, count: usize, patience: Option<Duration>) -> Result<bool, CliError> {
        let until = patience.map(|patience| clock::monotonic() + patience);
        while self.context.ok() {
            if self.publisher.wait_for_subscribers(count, GLANCE)? {
                return Ok(true);
            }
            if until.is_some_and(|until| clock::monotonic() >= until) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Stays for those who come late, unless they were waited for before. Says so if a message that was kept for somebody had
    /// nobody to hear it.
    fn stay(&self, came: bool, sight: &Sight) -> Result<(), CliError> {
        let keep_alive =
            if came && !self.is_acknowledged() { self.args.keep_alive() } else { Duration::ZERO };
        let until = clock::monotonic() + keep_alive;
        if self.args.is_kept() && !self.wait_for(1, Some(keep_alive))? {
            let (topic, seconds) = (self.publisher.topic(), self.args.keep_alive().as_secs_f64());
            if subscribed(sight, topic)? {
                log::warn!("nobody heard it: who subscribes to {topic} does not take it");
            } else {
                log::warn!("nobody heard it: nobody subscribed to {topic} within {seconds} s");
            }
        }
        Ok(self.context.sleep(until.since(clock::monotonic()))?)
    }

    /// True if subscribers of ROS 2 have the message, or will have it before the program ends, which waits for their
    /// acknowledgements. Those of ROS 1 acknowledge nothing.
    fn is_acknowledged(&self) -> bool {
        let is_default = self.args.keep_alive.is_none();
        is_default && self.generation == Generation::Ros2 && self.publisher.subscription_count() > 0
    }

    fn publish_latched(&self) -> Result<(), CliError> {
        self.publish(&message(self.publisher.schema(), &self.args.values)?)?;
        self.output.note("latched; Ctrl-C ends");
        Ok(self.context.spin()?)
    }

    fn publish_again_and_again(&self) -> Result<(), CliError> {
        if self.args.is_kept() {
            self.note_kept();
        } else if !self.args.ends() {
            self.note_endless();
        }
        let values = &self.args.values;
        // The time that goes into these is that of each message.
        let changes = values.iter().any(|value| value.contains("now") || value.contains("auto"));
        let typed = || message(self.publisher.schema(), values);
        let mut next = typed()?;
        let mut rate = Rate::new(self.context, self.args.rate.unwrap_or(1.0));
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
        let mut rate = self.args.rate.map(|hertz| Rate::new(self.context, hertz));
        let documents = documents(io::stdin);
        while self.context.ok() {
            let text = match documents.recv_timeout(GLANCE) {
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
        if !self.args.verbose {
            return Ok(());
        }
        let generation = self.generation;
        let options = yaml::EchoOptions { generation, ..yaml::EchoOptions::default() };
        let text = || format!("publishing:\n{}\n", yaml::to_yaml(message, &options));
        self.output.answer(text, || yaml::to_json_in(generation, message))
    }

    fn tell_of_losses(&self) {
        if self.publisher.dropped() > 0 {
            log::warn!("dropped {} for slow subscribers", counted(self.publisher.dropped(), "message"));
        }
    }
}
