//! `runnel topic pub`

mod delivery;
mod job;

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use runnel::core::dynamic::DynamicMessage;
use runnel::core::schema::{Generation, Schema};
use runnel::core::yaml;
use runnel::{DynamicPublisher, QoS};

use super::qos::AskedQos;
use crate::cli_context::CliContext;
use crate::completion;
use crate::error::CliError;
use crate::graphs::{Discovery, GraphFilter, GraphSnapshot};
use crate::messages::{typed_message, wrong_values};
use crate::output::counted;
use crate::received_types::learned;
use crate::types::Types;
use crate::value_parsers;
use delivery::{Delivery, SUBSCRIBER_TIMEOUT};
use job::Job;

/// Most messages that wait for a slow subscriber.
const DEPTH: usize = 100;

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
    let (publisher, context, output) = (&publisher, &context, cli.output);
    let delivery = Delivery { args, context, publisher, generation, output };
    let job = Job { args, context, publisher, generation, output, published: Cell::new(0) };
    let has_subscriber = delivery.wait_for_subscribers(&snapshot)?;
    let settling = delivery.settling()?;
    context.sleep(settling)?;
    match args {
        Args { stdin: true, .. } => job.publish_documents()?,
        Args { latch: true, rate: None, times: None, once: false, .. } => job.publish_latched()?,
        _ => {
            delivery.note_start();
            job.publish_repeatedly()?;
        }
    }
    context.sleep(settling)?;
    delivery.stay(has_subscriber, &snapshot)?;
    warn_of_drops(publisher);
    Ok(())
}

fn warn_of_drops(publisher: &DynamicPublisher) {
    if publisher.dropped() > 0 {
        log::warn!("dropped {} for slow subscribers", counted(publisher.dropped(), "message"));
    }
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
