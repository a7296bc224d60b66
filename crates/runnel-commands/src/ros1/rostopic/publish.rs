//! `rostopic pub`

use std::fs::File;
use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use runnel::core::dynamic::DynamicMessage;
use runnel::core::schema::Schema;
use runnel::core::yaml::{self, EchoOptions, YamlError, YamlErrorKind};
use runnel::{Context, DynamicPublisher, QoS, Rate};
use runnel_io::clock;

use super::Failure;
use crate::cli_context::CliContext;
use crate::error::{CliError, unless_interrupted};
use crate::graph::Graph;
use crate::messages::{documents, typed_message};
use crate::output::Output;
use crate::streaming::POLL_PERIOD;
use crate::value_parsers;

/// Most messages that wait for a slow subscriber.
const DEPTH: usize = 100;

/// How long one message is latched with -1.
const ONCE: Duration = Duration::from_secs(3);

/// How long messages from a file wait for a subscriber.
const SUBSCRIBER_TIMEOUT: Duration = Duration::from_secs(5);

/// Default rate of messages from a file.
const RATE: f64 = 10.0;

/// Publish messages
///
/// One message is latched until Ctrl-C; with -1 for 3 s; with -r it is published repeatedly. Without VALUES, messages
/// come from standard input, YAML documents with --- between them.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The topic
    topic: String,

    /// The message type, such as std_msgs/String
    #[arg(value_name = "TYPE")]
    type_name: String,

    /// The message: one YAML text, or one text per field; after -- if one begins with a hyphen
    #[arg(conflicts_with = "file")]
    values: Vec<String>,

    /// Print each published message
    #[arg(short)]
    verbose: bool,

    /// Publish this many messages a second [default: 10 from a file or standard input]
    #[arg(short, long, value_name = "HZ", value_parser = value_parsers::rate, conflicts_with = "once", allow_negative_numbers = true)]
    rate: Option<f64>,

    /// Publish one message and end
    #[arg(short = '1', long)]
    once: bool,

    /// Read messages from a file, YAML documents with --- between them
    #[arg(short, long)]
    file: Option<PathBuf>,

    /// Keep the last message for late subscribers
    #[arg(short, long)]
    latch: bool,

    /// With -r, replace 'now' and 'auto' again for each message
    #[arg(short, long)]
    substitute_keywords: bool,
}

struct Job<'a> {
    args: &'a Args,
    context: &'a Context,
    publisher: DynamicPublisher,
    output: Output,
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), Failure> {
    let context = cli.running_context()?;
    let topic = cli.resolve(&args.topic)?;
    Graph::new(&context).check_master()?;
    let schema = cli.types()?.message(&args.type_name);
    let schema = schema.map_err(|error| Failure::failed(format!("invalid message type: {error}")))?;
    let from_command_line = !args.values.is_empty() || schema.def.fields.is_empty() && args.file.is_none();
    if from_command_line {
        // The values are checked before a node is registered.
        message(&schema, &args.values)?;
    } else if args.file.is_none() && io::stdin().is_terminal() {
        return Err(Failure::usage("Please specify message values"));
    }
    let source = args.file.as_ref().map(open).transpose()?;
    let node = cli.node(&context, "pub")?;
    let publisher = node.create_dynamic_publisher(&topic, &schema, args.qos())?;
    let job = Job { args, context: &context, publisher, output: cli.output };
    match source {
        _ if from_command_line => job.publish_from_command_line(),
        Some(file) => job.publish_documents(&documents(move || file), true),
        None => job.publish_documents(&documents(io::stdin), false),
    }
}

fn open(file: &PathBuf) -> Result<File, Failure> {
    File::open(file).map_err(|error| Failure::failed(format!("file {}: {error}", file.display())))
}

impl Args {
    fn qos(&self) -> QoS {
        let qos = QoS::keep_last(DEPTH);
        if self.latch || self.rate.is_none() { qos.transient_local() } else { qos }
    }

    /// Rate of messages from a file; `None` for one message that is latched until Ctrl-C.
    fn rate_of_documents(&self) -> Option<f64> {
        self.rate.or((!self.latch && !self.once).then_some(RATE))
    }
}

/// The message of these values; `now` is the current time.
fn message(schema: &Arc<Schema>, values: &[String]) -> Result<DynamicMessage, Failure> {
    typed_message(schema, values).map_err(|error| refused(schema, &error))
}

/// Text that is not YAML is wrong usage; YAML that is no such message cannot be published.
fn refused(schema: &Schema, error: &YamlError) -> Failure {
    match error.kind() {
        YamlErrorKind::Syntax(_) => Failure::usage(format!("Argument error: {error}")),
        _ => Failure::failed(format!("not a {}: {error}", schema.def.name)),
    }
}

impl Job<'_> {
    fn publish_from_command_line(&self) -> Result<(), Failure> {
        let from_command_line = || message(self.publisher.schema(), &self.args.values);
        if let Some(rate) = self.args.rate {
            let next_message =
                || if self.args.substitute_keywords { from_command_line().map(Some) } else { Ok(None) };
            return self.publish_repeatedly(from_command_line()?, rate, next_message);
        }
        self.publish_latched(&from_command_line()?, self.args.once)?;
        match self.args.once {
            true => Ok(self.context.sleep(ONCE)?),
            false => Ok(self.context.spin()?),
        }
    }

    /// Publishes a message repeatedly, and replaces it by what `next_message` returns.
    fn publish_repeatedly(
        &self,
        mut message: DynamicMessage,
        rate: f64,
        next_message: impl Fn() -> Result<Option<DynamicMessage>, Failure>,
    ) -> Result<(), Failure> {
        let mut rate = Rate::new(self.context, rate)?;
        while self.context.ok() {
            if let Some(next) = next_message()? {
                message = next;
            }
            if self.args.verbose {
                self.output.paragraph(&format!("publishing {}", text(&message)))?;
            }
            self.publisher.publish(&message)?;
            rate.sleep()?;
        }
        Ok(())
    }

    fn publish_latched(&self, message: &DynamicMessage, once: bool) -> Result<(), Failure> {
        let what = if self.args.verbose { format!("[{}]", text(message)) } else { "message".into() };
        let how_long = if once {
            format!(" for {:.1} seconds", ONCE.as_secs_f64())
        } else {
            ". Press ctrl-C to terminate".into()
        };
        self.output.line(&format!("publishing and latching {what}{how_long}"))?;
        Ok(self.publisher.publish(message)?)
    }

    fn publish_documents(
        &self,
        documents: &Receiver<Result<String, CliError>>,
        from_file: bool,
    ) -> Result<(), Failure> {
        let rate = self.args.rate_of_documents();
        let first = self.next(documents)?;
        let second = if from_file { self.next(documents)? } else { None };
        self.wait_for_a_subscriber()?;
        if let (Some(only), None, true, Some(rate)) = (&first, &second, from_file, rate) {
            self.output.line("Got one message and a rate, publishing repeatedly")?;
            return self.publish_repeatedly(only.clone(), rate, || Ok(None));
        }
        let mut pace = rate.map(|rate| Rate::new(self.context, rate)).transpose()?;
        let mut ahead = [first, second].into_iter().flatten();
        while let Some(message) = ahead.next().map_or_else(|| self.next(documents), |next| Ok(Some(next)))? {
            let latches_forever = rate.is_none() && !self.args.once;
            self.publish_latched(&message, !latches_forever)?;
            if latches_forever {
                return Ok(self.context.spin()?);
            }
            pace.as_mut().map_or(Ok(()), Rate::sleep)?;
            if self.args.once || !self.context.ok() {
                break;
            }
        }
        Ok(())
    }

    /// The next message of a file, or of standard input once it has been entered.
    fn next(
        &self,
        documents: &Receiver<Result<String, CliError>>,
    ) -> Result<Option<DynamicMessage>, Failure> {
        let schema = self.publisher.schema();
        while self.context.ok() {
            match documents.recv_timeout(POLL_PERIOD) {
                Ok(text) => {
                    let message = yaml::from_yaml(schema, &text?, clock::realtime());
                    return message.map(Some).map_err(|error| Failure::failed(refused(schema, &error)));
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        Ok(None)
    }

    fn wait_for_a_subscriber(&self) -> Result<(), Failure> {
        let until = clock::monotonic() + SUBSCRIBER_TIMEOUT;
        while self.context.ok() && clock::monotonic() < until {
            if unless_interrupted(self.publisher.wait_for_subscribers(1, POLL_PERIOD))? {
                break;
            }
        }
        Ok(())
    }
}

fn text(message: &DynamicMessage) -> String {
    yaml::to_yaml(message, &EchoOptions::default())
}
