//! `ros2 topic echo`

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use runnel::core::dynamic::{DynamicErrorKind, DynamicMessage, ValueRef};
use runnel::core::schema::Generation;
use runnel::{QoS, RawMessage, SubscriptionOptions};

use super::{DiscoveryArgs, Failure, check_node_name, interrupted, unpublished};
use crate::cli_context::CliContext;
use crate::commands::topic::{AskedQos, Diagnostics, matching};
use crate::completion;
use crate::error::CliError;
use crate::graphs::{GraphSnapshot, Topics, publishes};
use crate::measure::warn_of_losses;
use crate::output::{Output, shown};
use crate::python_yaml::{PrintOptions, Tree, python_text, to_csv, tree};
use crate::received_types::{ReceivedTypes, learned};
use crate::streaming::Ending;
use crate::value_parsers;

/// Most messages that wait while others are printed.
const DEPTH: usize = 256;

/// Print messages as they arrive
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The topic
    #[arg(add = completion::topics())]
    topic: String,

    /// The message type; without it, that of the publishers
    #[arg(value_name = "TYPE", add = completion::message_types())]
    type_name: Option<String>,

    /// Print values on one line, separated by commas
    #[arg(long)]
    csv: bool,

    /// Print only this field, such as pose.position.x
    #[arg(long, value_name = "PATH")]
    field: Option<String>,

    /// Print long arrays and strings completely
    #[arg(short, long)]
    full_length: bool,

    /// Print this many elements of an array and characters of a string
    #[arg(short = 'l', long, value_name = "LENGTH", default_value_t = 128)]
    truncate_length: usize,

    /// Do not print the elements of arrays
    #[arg(long)]
    no_arr: bool,

    /// Do not print strings
    #[arg(long)]
    no_str: bool,

    /// Print each list on one line
    #[arg(long)]
    flow_style: bool,

    /// Do not report lost messages
    #[arg(long)]
    no_lost_messages: bool,

    /// Print the bytes of messages
    #[arg(long)]
    raw: bool,

    /// Stop after one message
    #[arg(long)]
    once: bool,

    /// Stop after this time
    #[arg(long, value_name = "SECONDS", value_parser = value_parsers::seconds)]
    timeout: Option<Duration>,

    /// Print the times and the number of each message before it
    #[arg(short, long)]
    include_message_info: bool,

    /// Clear the screen before each message
    #[arg(short, long)]
    clear: bool,

    /// Name the node so; by default its name is hidden
    #[arg(short, long, value_name = "NAME")]
    node_name: Option<String>,

    #[command(flatten)]
    qos: AskedQos,

    #[command(flatten)]
    discovery: DiscoveryArgs,
}

pub fn run(args: Args, cli: &CliContext) -> Result<(), Failure> {
    let topic = cli.resolve(&args.topic)?;
    args.node_name.as_deref().map_or(Ok(()), check_node_name)?;
    if args.field.as_deref().is_some_and(|field| field.split('.').all(str::is_empty)) {
        return Err(Failure::failed(format!("Invalid field value '{}'", args.field.unwrap_or_default())));
    }
    let snapshot = args.discovery.open_running(cli)?;
    let context = snapshot.context();
    let known = snapshot.topics()?;
    if args.type_name.is_none() && !known.0.contains_key(&topic) {
        cli.output.line(&unpublished(&topic, &known))?;
        let hint = field_hint(&topic, &known);
        return Err(Failure::failed(format!("Could not determine the type for the passed topic{hint}")));
    }
    let node = match &args.node_name {
        Some(name) => cli.node_of_name(context, name)?,
        None => cli.node(context, "echo")?,
    };
    let schema = args.type_name.as_ref().map(|name| {
        let known = cli.types()?.message_in(Generation::Ros2, name);
        known.or_else(|unknown| learned(unknown, &node, &topic, name))
    });
    let schema = schema
        .transpose()
        .map_err(|error| Failure::failed(format!("The passed message type is invalid: {error}")))?;
    let ending = Ending::of(context);
    let is_complete = Arc::new(AtomicBool::new(false));
    let options = SubscriptionOptions::from(args.qos.over(best_qos(&snapshot, &topic))).strict_qos();
    let (once, timeout, reports_losses) = (args.once, args.timeout, !args.no_lost_messages);
    let types = ReceivedTypes::new(cli.types_loader()).learning(context, &node);
    let mut printer = Printer {
        output: cli.output,
        args,
        topic: topic.clone(),
        types,
        diagnostics: Diagnostics::default(),
    };
    let (ended, complete) = (ending.clone(), Arc::clone(&is_complete));
    let take = move |message: &RawMessage<'_>| {
        if once && complete.load(Ordering::Relaxed) {
            return;
        }
        match printer.take(message) {
            Ok(true) if once => {
                complete.store(true, Ordering::Relaxed);
                ended.complete();
            }
            Ok(_) => {}
            Err(error) => ended.check(Err(error)),
        }
    };
    let subscription = node.create_raw_subscription(&topic, schema.as_deref(), options, take)?;
    let (ended, complete) = (ending.clone(), Arc::clone(&is_complete));
    let _timer = timeout.map(|timeout| {
        node.create_timer(timeout, move || {
            complete.store(true, Ordering::Relaxed);
            ended.complete();
        })
    });
    ending.wait()?;
    if reports_losses {
        warn_of_losses([&subscription]);
    }
    if is_complete.load(Ordering::Relaxed) { Ok(()) } else { Err(interrupted()) }
}

/// What to type for a field of a known topic, which rostopic accepts behind its name.
fn field_hint(topic: &str, known: &Topics) -> String {
    let parts = |outer: &str| {
        Some((outer.to_owned(), topic.strip_prefix(outer)?.strip_prefix('/')?.replace('/', ".")))
    };
    let found = known.names().filter_map(parts).max_by_key(|(outer, _)| outer.len());
    found.map_or_else(String::new, |(outer, field)| format!(". Try: {outer} --field {field}"))
}

/// Reliable and transient local where the publishers are; a publisher that offers less gets what it offers requested.
fn best_qos(snapshot: &GraphSnapshot, topic: &str) -> QoS {
    let ends = snapshot.ros2.iter().flat_map(|graph| &graph.endpoints);
    let offered: Vec<QoS> = ends.filter(|end| publishes(end, topic)).map(|end| end.qos).collect();
    matching(&offered, DEPTH)
}

/// Prints messages.
struct Printer {
    output: Output,
    args: Args,
    topic: String,
    types: ReceivedTypes,
    diagnostics: Diagnostics,
}

impl Printer {
    /// Prints a message; false if it is skipped with a diagnostic, since its type is unknown or it cannot be decoded.
    fn take(&mut self, message: &RawMessage<'_>) -> Result<bool, CliError> {
        if self.args.raw {
            self.print(&format!("{}\n---\n", python_bytes(&message.bytes().to_vec())))?;
            return Ok(true);
        }
        let Some(schema) = self.types.find(message, &self.topic)? else { return Ok(false) };
        let decoded = match message.decode(&schema) {
            Ok(decoded) => decoded,
            Err(error) => {
                let line = self.diagnostics.line(message.type_name(), message.publisher(), &error)?;
                line.into_iter().for_each(|line| log::error!("{line}"));
                return Ok(false);
            }
        };
        let text = self.text(&decoded)?;
        let info = if self.args.include_message_info { self.info(message) } else { String::new() };
        self.print(&(info + &text))?;
        Ok(true)
    }

    fn print(&self, text: &str) -> Result<(), CliError> {
        if self.args.clear {
            self.output.clear()?;
        }
        self.output.text(text)
    }

    fn text(&self, message: &DynamicMessage) -> Result<String, CliError> {
        let value = match &self.args.field {
            Some(field) => self.field(message, field)?,
            None => ValueRef::Message(message),
        };
        let options = PrintOptions {
            truncate: (!self.args.full_length).then_some(self.args.truncate_length),
            no_arr: self.args.no_arr,
            no_str: self.args.no_str,
            ..PrintOptions::default()
        };
        Ok(match value {
            ValueRef::Message(message) if self.args.csv => {
                shown(&to_csv(message, options)).into_owned() + "\n"
            }
            ValueRef::Message(message) => self.yaml(&tree(message, options)) + "---\n",
            ValueRef::Time(_) | ValueRef::Duration(_) => python_text(value) + "---\n",
            value => shown(&python_text(value)).into_owned() + "\n---\n",
        })
    }

    fn field<'a>(&self, message: &'a DynamicMessage, field: &str) -> Result<ValueRef<'a>, CliError> {
        message.get(field.trim_matches('.')).map_err(|error| {
            let class = &message.schema().def.name.name;
            match error.kind() {
                DynamicErrorKind::NoSuchField { .. } | DynamicErrorKind::NoParts { .. } => {
                    CliError::Failed(format!("Invalid field '{field}': {error} (of {class})"))
                }
                _ => CliError::Failed(format!("Invalid field '{field}': {error}")),
            }
        })
    }

    fn yaml(&self, tree: &Tree) -> String {
        if self.args.flow_style { tree.block_with_flow_lists() } else { tree.block() }
    }

    /// Number and times of a message, in alphabetical order.
    fn info(&self, message: &RawMessage<'_>) -> String {
        let info = message.info();
        let source = info.source_timestamp().map_or(0, |time| time.as_nanos());
        let number = info.publication_sequence_number();
        let received = info.received_timestamp().as_nanos();
        if self.args.csv {
            let number = number.map_or_else(|| "None".to_owned(), |number| number.to_string());
            return format!("{source},{received},{number},None,");
        }
        let number = number.map_or_else(|| "null".to_owned(), |number| number.to_string());
        format!(
            "publication_sequence_number: {number}\nreceived_timestamp: {received}\n\
             reception_sequence_number: null\nsource_timestamp: {source}\n---\n"
        )
    }
}

/// Bytes as Python prints them.
fn python_bytes(bytes: &[u8]) -> String {
    let quote = if bytes.contains(&b'\'') && !bytes.contains(&b'"') { '"' } else { '\'' };
    let mut text = format!("b{quote}");
    for byte in bytes {
        match byte {
            b'\\' => text.push_str("\\\\"),
            b'\n' => text.push_str("\\n"),
            b'\r' => text.push_str("\\r"),
            b'\t' => text.push_str("\\t"),
            b' '..=b'~' if char::from(*byte) == quote => text.extend(['\\', quote]),
            b' '..=b'~' => text.push(char::from(*byte)),
            other => text += &format!("\\x{other:02x}"),
        }
    }
    text.push(quote);
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graphs::tests::graph;

    #[test]
    fn name_below_a_topic_is_a_field() {
        let mut known = Topics::default();
        known.add_ros2(&graph(&[("rt/odom", 1, true)]));
        assert_eq!(field_hint("/odom/header/stamp", &known), ". Try: /odom --field header.stamp");
        assert_eq!(field_hint("/odometry", &known), "");
    }

    #[test]
    fn bytes_read_as_in_python() {
        for (bytes, expected) in [
            (&b"\x00\x01\n\x00hello"[..], "b'\\x00\\x01\\n\\x00hello'"),
            (b"it's", "b\"it's\""),
            (b"'\"", "b'\\'\"'"),
            (b"\\\xff", "b'\\\\\\xff'"),
        ] {
            assert_eq!(python_bytes(bytes), expected);
        }
    }
}
