//! `ros2 topic pub`

use std::io::{self, Read};
use std::sync::Arc;
use std::time::Duration;

use runnel::core::dynamic::DynamicMessage;
use runnel::core::schema::{Generation, Schema};
use runnel::core::yaml::{self, YamlErrorKind};
use runnel::{Context, DynamicPublisher, Graphs, QoS, Rate};
use runnel_io::clock;

use super::{DiscoveryArgs, Failure, check_node_name, interrupted};
use crate::cli_context::CliContext;
use crate::commands::topic::AskedQos;
use crate::completion;
use crate::error::unless_interrupted;
use crate::output::Output;
use crate::python_yaml::python_repr;
use crate::received_types::learned;
use crate::streaming::POLL_PERIOD;
use crate::value_parsers;

/// How often a wait for subscriptions is reported.
const REPORT_PERIOD: Duration = Duration::from_secs(1);

/// Publish messages
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The topic
    #[arg(add = completion::topics())]
    topic: String,

    /// The message type, such as std_msgs/msg/String
    #[arg(value_name = "TYPE", add = completion::topics_type())]
    type_name: String,

    /// The message, in YAML
    values: Option<String>,

    /// Read the message from standard input
    #[arg(long, conflicts_with = "values")]
    stdin: bool,

    /// Publish this many messages a second
    #[arg(short, long, value_name = "HZ", value_parser = value_parsers::rate, default_value_t = 1.0, allow_negative_numbers = true)]
    rate: f64,

    /// Print only each N-th message; 0 for none
    #[arg(short, long, value_name = "N", default_value_t = 1)]
    print: u64,

    /// Publish one message and end
    #[arg(short = '1', long, conflicts_with = "times")]
    once: bool,

    /// Publish this many messages and end
    #[arg(short, long, value_name = "COUNT", default_value_t = 0)]
    times: u64,

    /// Wait for this many subscriptions first [default: 1 with -1 and -t, otherwise 0]
    #[arg(short, long, value_name = "COUNT")]
    wait_matching_subscriptions: Option<usize>,

    /// How long to wait for subscriptions at most [default: no limit]
    #[arg(long, value_name = "SECONDS", value_parser = value_parsers::seconds)]
    max_wait_time_secs: Option<Duration>,

    /// Stay this long after the last message
    #[arg(long, value_name = "SECONDS", value_parser = value_parsers::seconds, default_value = "0.1")]
    keep_alive: Duration,

    /// Name the node so; by default its name is hidden
    #[arg(short, long, value_name = "NAME")]
    node_name: Option<String>,

    #[command(flatten)]
    qos: AskedQos,

    #[command(flatten)]
    discovery: DiscoveryArgs,
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), Failure> {
    let topic = cli.resolve(&args.topic)?;
    args.node_name.as_deref().map_or(Ok(()), check_node_name)?;
    let values = args.values()?;
    let known = cli.types()?.message_in(Generation::Ros2, &args.type_name);
    if let Ok(schema) = &known {
        // Typed values are checked before the graph is contacted.
        message(schema, &values)?;
    }
    let waits_for = args.subscriptions();
    if waits_for == 0 && args.max_wait_time_secs.is_some() {
        let effective = "--wait-matching-subscriptions, --once or --times";
        return Err(Failure::failed(format!("--max-wait-time-secs is only effective with {effective}")));
    }
    let context = cli.running_context_in(Graphs::Ros2)?;
    let node = match &args.node_name {
        Some(name) => cli.node_of_name(&context, name)?,
        None => cli.node(&context, "pub")?,
    };
    let schema = known
        .or_else(|unknown| learned(unknown, &node, &topic, &args.type_name))
        .map_err(|error| Failure::failed(format!("The passed message type is invalid: {error}")))?;
    let publisher = node.create_dynamic_publisher(&topic, &schema, args.qos.over(QoS::default()))?;
    let job = Job { args, context: &context, publisher, values, output: cli.output };
    job.wait_for_subscriptions(waits_for)?;
    job.publish()
}

impl Args {
    /// The typed message.
    fn values(&self) -> Result<String, Failure> {
        if !self.stdin {
            return Ok(self.values.clone().unwrap_or_else(|| "{}".to_owned()));
        }
        let mut text = String::new();
        io::stdin().read_to_string(&mut text).map_err(Failure::failed)?;
        Ok(text)
    }

    /// Number of messages; 0 for no limit.
    fn limit(&self) -> u64 {
        if self.once { 1 } else { self.times }
    }

    /// The subscriptions to wait for.
    fn subscriptions(&self) -> usize {
        self.wait_matching_subscriptions.unwrap_or(usize::from(self.limit() != 0))
    }
}

/// The message of a text, which must be a mapping; `now` is the current time.
fn message(schema: &Arc<Schema>, text: &str) -> Result<DynamicMessage, Failure> {
    if !is_mapping(text) {
        let needed = "The passed value needs to be a dictionary in YAML format";
        let example = schema.def.fields.first().map(|field| format!(", such as '{{{}: ..}}'", field.name));
        return Err(Failure::failed(format!("{needed}{}", example.unwrap_or_default())));
    }
    yaml::from_yaml(schema, text, clock::realtime()).map_err(|error| match error.kind() {
        YamlErrorKind::Syntax(_) => Failure::failed(format!("The passed value is not YAML: {error}")),
        _ => Failure::failed(format!("Failed to populate field: {error}")),
    })
}

/// Whether a text is a YAML mapping; true also if it is not YAML, which another check finds.
fn is_mapping(text: &str) -> bool {
    let documents = yaml::parse_documents(text);
    let is_first_mapping = |documents: Vec<yaml::YamlNode>| {
        documents.first().is_some_and(|node| matches!(node.value, yaml::YamlValue::Mapping(_)))
    };
    documents.map_or(true, is_first_mapping)
}

struct Job<'a> {
    args: &'a Args,
    context: &'a Context,
    publisher: DynamicPublisher,
    values: String,
    output: Output,
}

impl Job<'_> {
    fn wait_for_subscriptions(&self, count: usize) -> Result<(), Failure> {
        let start = clock::monotonic();
        let mut reported = None;
        while self.context.ok() && self.publisher.subscription_count() < count {
            let now = clock::monotonic();
            if reported.is_none_or(|last| now.since(last) >= REPORT_PERIOD) {
                self.output.line(&format!("Waiting for at least {count} matching subscription(s)..."))?;
                reported = Some(now);
            }
            if self.args.max_wait_time_secs.is_some_and(|most| now.since(start) >= most) {
                let only = self.publisher.subscription_count();
                return Err(Failure::failed(format!(
                    "Timed out waiting for subscribers: expected {count}, but there are {only}"
                )));
            }
            unless_interrupted(self.publisher.wait_for_subscribers(count, POLL_PERIOD))?;
        }
        if self.context.ok() { Ok(()) } else { Err(interrupted()) }
    }

    fn publish(&self) -> Result<(), Failure> {
        self.output.line("publisher: beginning loop")?;
        let limit = self.args.limit();
        let mut rate = Rate::new(self.context, self.args.rate)?;
        let mut count = 0;
        while self.context.ok() {
            // Values such as `now` change from message to message.
            let next = message(self.publisher.schema(), &self.values)?;
            count += 1;
            if self.args.print > 0 && count % self.args.print == 0 {
                self.output.paragraph(&format!("publishing #{count}: {}\n", python_repr(&next)))?;
            }
            self.publisher.publish(&next)?;
            if count == limit {
                return Ok(self.context.sleep(self.args.keep_alive)?);
            }
            rate.sleep()?;
        }
        Err(interrupted())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Types;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    fn args(line: &str) -> Args {
        Line::try_parse_from(["pub", "/t", "std_msgs/msg/String"].into_iter().chain(line.split_whitespace()))
            .expect("a good line")
            .args
    }

    #[test]
    fn limited_messages_wait_for_one_subscription() {
        for (line, limit, subscriptions) in
            [("", 0, 0), ("-1", 1, 1), ("-t 3", 3, 1), ("-1 -w 0", 1, 0), ("-w 2", 0, 2), ("--times 0", 0, 0)]
        {
            let args = args(line);
            assert_eq!((args.limit(), args.subscriptions()), (limit, subscriptions), "{line}");
        }
    }

    #[test]
    fn values_must_be_a_mapping_of_fields() {
        let schema = Types::new(&[]).and_then(|types| types.message_in(Generation::Ros2, "std_msgs/String"));
        let schema = schema.expect("built in");
        let why = |text: &str| message(&schema, text).expect_err("wrong").to_string();
        let dictionary = "The passed value needs to be a dictionary in YAML format, such as '{data: ..}'";
        assert_eq!(why("hi"), dictionary);
        let broken = why("{data: {x: 0.1");
        assert!(broken.starts_with("The passed value is not YAML: ") && broken.contains("line "), "{broken}");
        assert!(why("{dat: hi}").starts_with("Failed to populate field: "), "{}", why("{dat: hi}"));
        assert!(message(&schema, "{}").is_ok());
        let text = message(&schema, "data: hi").map(|message| python_repr(&message)).expect("right");
        assert_eq!(text, "std_msgs.msg.String(data='hi')");
    }
}
