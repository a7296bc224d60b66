//! `rostopic echo`

use runnel::core::dynamic::{DynamicError, DynamicMessage, Value, ValueRef};
use runnel::core::yaml::{self, EchoOptions};
use runnel::{QoS, RawMessage, Time};
use runnel_io::clock;

use super::Failure;
use super::subject::Subject;
use crate::cli_context::CliContext;
use crate::error::CliError;
use crate::graph::Graph;
use crate::output::Output;
use crate::received_types::ReceivedTypes;
use crate::ros1::print_error;
use crate::streaming::Ending;

/// Most messages that wait while others are printed.
const DEPTH: usize = 256;

/// Print messages as they arrive
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The topic, or a field of its messages: /scan/ranges, /path/poses[0]/pose, /scan/ranges[2:8]
    topic: String,

    /// Stop after this many messages
    #[arg(short = 'n', value_name = "COUNT")]
    count: Option<u64>,

    /// Print a table for plotting: a line of names, then lines of values
    #[arg(short)]
    plot: bool,

    /// Clear the screen before each message
    #[arg(short, long)]
    clear: bool,

    /// Print numbers in this many columns
    #[arg(short, value_name = "COLUMNS", value_parser = clap::value_parser!(u16).range(2..))]
    width: Option<u16>,

    /// Print times as seconds from now
    #[arg(long)]
    offset: bool,

    /// Do not print the elements of arrays
    #[arg(long)]
    noarr: bool,

    /// Do not print strings
    #[arg(long)]
    nostr: bool,
}

/// Prints messages until there are enough.
struct Printer {
    args: Args,
    output: Output,
    options: EchoOptions,
    field: Option<String>,
    /// The type of that field, or of the message.
    field_type: String,
    types: ReceivedTypes,
    printed: u64,
}

pub fn run(args: Args, cli: &CliContext) -> Result<(), Failure> {
    let context = cli.running_context()?;
    Graph::new(&context).check_master()?;
    let node = cli.node(&context, "echo")?;
    let Some(subject) = Subject::wait_for(cli, &cli.types()?, &context, &args.topic)? else {
        return Ok(());
    };
    let (no_arr, no_str) = (args.noarr, args.nostr);
    let width = args.width.map(usize::from);
    let options = EchoOptions { no_arr, no_str, width, ..EchoOptions::default() };
    let types = ReceivedTypes::new(cli.types_loader());
    let field_type = subject.field_type(&cli.types()?);
    let Subject { topic, field, .. } = subject;
    let mut printer = Printer { args, output: cli.output, options, field, field_type, types, printed: 0 };
    let ending = Ending::of(&context);
    let ended = ending.clone();
    let take = move |message: &RawMessage<'_>| {
        if !printer.has_enough() {
            ended.check(printer.take(message));
        }
        if printer.has_enough() {
            ended.complete();
        }
    };
    let _subscription = node.create_raw_subscription(&topic, None, QoS::keep_last(DEPTH), take)?;
    Ok(ending.wait()?)
}

impl Printer {
    fn has_enough(&self) -> bool {
        self.args.count.is_some_and(|most| self.printed >= most)
    }

    /// Prints a message. A message that lacks the field or cannot be decoded is skipped with a diagnostic.
    fn take(&mut self, message: &RawMessage<'_>) -> Result<(), CliError> {
        let schema = self.types.of(message)?;
        self.options.since = self.args.offset.then(clock::realtime);
        let text = DynamicMessage::decode(&schema, message.bytes()).and_then(|message| self.text(&message));
        match text {
            Ok(text) => {
                self.printed += 1;
                if self.args.clear && !self.args.plot {
                    return self.output.paragraph_alone(&text);
                }
                self.output.paragraph(&text)
            }
            Err(error) => {
                print_error(&format!("message of publisher {}: {error}", message.publisher()));
                Ok(())
            }
        }
    }

    fn text(&self, message: &DynamicMessage) -> Result<String, DynamicError> {
        if self.args.plot {
            return self.plot(message);
        }
        Ok(match &self.field {
            None => yaml::to_yaml(message, &self.options),
            Some(field) => self.part(&message.select(field)?),
        } + "\n---")
    }

    /// A part of a message, or a placeholder if it is not to be printed.
    fn part(&self, value: &Value) -> String {
        match value {
            Value::Array(array) if self.options.no_arr => {
                let element = self.field_type.trim_end_matches(['[', ']']);
                format!("\"<array type: {element}, length: {}>\"", array.len())
            }
            Value::String(text) if self.options.no_str => {
                format!("\"<string length: {}>\"", text.chars().count())
            }
            value => yaml::value_to_yaml(value.view(), &self.options),
        }
    }

    /// A line of values, with a line of names before the first.
    fn plot(&self, message: &DynamicMessage) -> Result<String, DynamicError> {
        let selected = self.field.as_deref().map(|field| message.select(field)).transpose()?;
        let value = selected.as_ref().map_or(ValueRef::Message(message), |value| value.view());
        let row = yaml::plot_row(value, stamp(value), &self.options);
        let head =
            if self.printed == 0 { yaml::plot_header(value, &self.options) + "\n" } else { String::new() };
        Ok(head + &row)
    }
}

/// The stamp of a message, or else the current time.
fn stamp(value: ValueRef<'_>) -> Time {
    let ValueRef::Message(message) = value else { return clock::realtime() };
    match message.get("header.stamp") {
        Ok(ValueRef::Time(stamp)) => stamp,
        _ => clock::realtime(),
    }
}
