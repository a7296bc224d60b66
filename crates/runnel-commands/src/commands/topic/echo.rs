//! `runnel topic echo`

use std::sync::Arc;

use runnel::core::dynamic::{DynamicError, DynamicErrorKind, DynamicMessage, ValueRef};
use runnel::core::schema::{Generation, Kind, Library, Schema, TypeName};
use runnel::core::yaml::{self, EchoOptions};
use runnel::{Node, QoS, RawMessage, Subscription, SubscriptionOptions};

use super::diagnostics::Diagnostics;
use super::listen::ListenArgs;
use super::qos::matching;
use super::subject::{self, Subject};
use crate::cli_context::CliContext;
use crate::completion;
use crate::error::CliError;
use crate::graphs::{GraphSnapshot, publishes};
use crate::measure::warn_of_losses;
use crate::output::{Output, counted, json_text};
use crate::python_yaml::{self, PrintOptions};
use crate::received_types::{ReceivedTypes, learned};
use crate::streaming::Ending;

/// Most messages that wait while others are printed.
const DEPTH: usize = 256;

/// Print messages as they arrive
///
/// The type comes from the publisher. Long arrays and strings are truncated as in ros2; -f prints them completely, as
/// rostopic does.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The topic; a field may follow it as in rostopic: /scan/ranges
    #[arg(add = completion::topics())]
    topic: String,

    /// Accept only messages of this type
    #[arg(value_name = "TYPE", add = completion::message_types())]
    type_name: Option<String>,

    /// Stop after one message
    #[arg(short = '1', long)]
    once: bool,

    /// Stop after this many messages
    #[arg(short = 'n', long, value_parser = clap::value_parser!(u64).range(1..), conflicts_with = "once")]
    count: Option<u64>,

    /// Print only this field, such as pose.position.x; an index in brackets selects an element, [0:3] several
    #[arg(long, value_name = "PATH")]
    field: Option<String>,

    /// Print values on one line, separated by commas
    #[arg(long)]
    csv: bool,

    /// Print a table for plotting: a line of names, then lines of values
    #[arg(short, long, conflicts_with = "csv")]
    plot: bool,

    /// Do not print the elements of arrays
    #[arg(long, alias = "noarr")]
    no_arr: bool,

    /// Do not print strings
    #[arg(long, alias = "nostr")]
    no_str: bool,

    /// Print as ros2 does, with each list on one line
    #[arg(long, conflicts_with_all = ["csv", "plot"])]
    flow_style: bool,

    /// Print long arrays and strings completely
    #[arg(short, long)]
    full_length: bool,

    /// Print this many elements of an array and characters of a string
    #[arg(short = 'l', long, value_name = "LENGTH", default_value_t = 128, conflicts_with = "full_length")]
    truncate_length: usize,

    #[command(flatten)]
    listen: ListenArgs,
}

/// The form of output.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Yaml,
    FlowLists,
    Csv,
    Plot,
    Json,
}

/// Prints messages until there are enough.
struct Printer {
    output: Output,
    form: Form,
    options: EchoOptions,
    field: Option<String>,
    topic: String,
    types: ReceivedTypes,
    diagnostics: Diagnostics,
    printed: u64,
    most: Option<u64>,
}

pub fn run(args: Args, cli: &CliContext) -> Result<(), CliError> {
    subject::check(cli, [&args.topic])?;
    args.field.as_deref().map_or(Ok(()), check_path)?;
    let snapshot = args.listen.open_graphs(cli)?;
    let context = snapshot.context();
    let subject = Subject::find(cli, &snapshot, &args.topic)?;
    let node = cli.node(context, "echo")?;
    let ending = Ending::of(context);
    let schema = match &args.type_name {
        Some(name) => typed_schema(cli, &snapshot, &node, (&subject.topic, name))?,
        None => None,
    };
    let options = args.listen.options(best_qos(&snapshot, &subject.topic, schema.is_some()));
    let types = ReceivedTypes::new(cli.types_loader()).learning(context, &node);
    let printer = Printer::new(args, &subject, types, cli)?;
    let subscription = subscribe(&node, &subject.topic, schema.as_deref(), options, printer, ending.clone())?;
    ending.wait()?;
    warn_of_losses([&subscription]);
    if subscription.dropped() > 0 {
        let dropped = counted(subscription.dropped(), "message");
        log::warn!("dropped {dropped}: they arrived faster than they could be printed");
    }
    Ok(())
}

/// The type that the user names; `None` if only a ROS 1 publisher has it, which sends the definition.
fn typed_schema(
    cli: &CliContext,
    snapshot: &GraphSnapshot,
    node: &Node,
    (topic, name): (&str, &str),
) -> Result<Option<Arc<Schema>>, CliError> {
    let unknown = match cli.types()?.message_in(snapshot.generation(), name) {
        Ok(schema) => return Ok(Some(schema)),
        Err(unknown) => unknown,
    };
    let topics = snapshot.topics()?;
    let ros1 = topics.0.get(topic).and_then(|topic| topic.ros1.as_ref());
    if ros1.is_some_and(|side| side.types.contains(name)) {
        return Ok(None);
    }
    learned(unknown, node, topic, name).map(Some)
}

/// Checks the syntax of a field's path, before any graph is contacted.
fn check_path(path: &str) -> Result<(), CliError> {
    let mut library = Library::default();
    let name = TypeName::new("runnel", "Empty");
    library.add_text(Kind::Message, name.clone(), "", "Empty.msg");
    let schema = library.message(&name).map_err(CliError::failed)?;
    let empty = DynamicMessage::default_of(&schema).map_err(CliError::failed)?;
    let found = match path.contains(':') {
        true => empty.select(&path.replace('.', "/")).map(drop),
        false => empty.get(path).map(drop),
    };
    match found {
        Err(error) if matches!(error.kind(), DynamicErrorKind::BadPath) => {
            Err(CliError::Usage(format!("--field {error}")))
        }
        _ => Ok(()),
    }
}

/// The best QoS that publishers offer: that of each publisher for any type, and that of all for one type.
fn best_qos(snapshot: &GraphSnapshot, topic: &str, one_type: bool) -> QoS {
    let Some(graph) = snapshot.ros2.as_ref() else { return QoS::keep_last(DEPTH) };
    if !one_type {
        return QoS::keep_last(DEPTH).reliability_best_available().durability_best_available();
    }
    let ends = graph.endpoints.iter().filter(|end| publishes(end, topic));
    let offered: Vec<QoS> = ends.map(|end| end.qos).collect();
    matching(&offered, DEPTH)
}

fn subscribe(
    node: &Node,
    topic: &str,
    schema: Option<&Schema>,
    options: SubscriptionOptions,
    mut printer: Printer,
    ending: Ending,
) -> Result<Subscription, CliError> {
    let take = move |message: &RawMessage<'_>| {
        if printer.has_enough() {
            return;
        }
        ending.check(printer.take(message));
        if printer.has_enough() {
            ending.complete();
        }
    };
    Ok(node.create_raw_subscription(topic, schema, options, take)?)
}

impl Printer {
    fn new(args: Args, subject: &Subject, types: ReceivedTypes, cli: &CliContext) -> Result<Self, CliError> {
        let form = match args {
            _ if cli.output.json => Form::Json,
            Args { csv: true, .. } => Form::Csv,
            Args { plot: true, .. } => Form::Plot,
            Args { flow_style: true, .. } => Form::FlowLists,
            _ => Form::Yaml,
        };
        let field = args.field.or_else(|| subject.field.clone());
        if form == Form::Plot && field.is_some() {
            return Err(CliError::Usage("--plot prints whole messages, not one field".into()));
        }
        let truncate = (!args.full_length).then_some(args.truncate_length);
        Ok(Self {
            output: cli.output,
            form,
            options: EchoOptions {
                no_arr: args.no_arr,
                no_str: args.no_str,
                truncate,
                ..EchoOptions::default()
            },
            field,
            topic: subject.topic.clone(),
            types,
            diagnostics: Diagnostics::default(),
            printed: 0,
            most: if args.once { Some(1) } else { args.count },
        })
    }

    fn has_enough(&self) -> bool {
        self.most.is_some_and(|most| self.printed >= most)
    }

    /// Prints a message. A message whose type is unknown, or that cannot be decoded or lacks the field, is skipped with
    /// a diagnostic.
    fn take(&mut self, message: &RawMessage<'_>) -> Result<(), CliError> {
        let Some(schema) = self.types.find(message, &self.topic)? else { return Ok(()) };
        let printed = message.decode(&schema).and_then(|decoded| self.text(&decoded, message.generation()));
        match printed {
            Ok(text) => {
                self.printed += 1;
                self.output.paragraph(&text)
            }
            Err(error) => {
                let line = self.diagnostics.line(message.type_name(), message.publisher(), &error)?;
                line.into_iter().for_each(|line| log::error!("{line}"));
                Ok(())
            }
        }
    }

    /// The part at a path with a slice, such as `ranges[0:3]` or `poses[1:].position.x`, as in rostopic.
    fn slice(
        &self,
        message: &DynamicMessage,
        path: &str,
        options: &EchoOptions,
    ) -> Result<String, DynamicError> {
        let selected = message.select(&path.replace('.', "/"))?;
        let value = selected.view();
        Ok(match self.form {
            Form::Csv => yaml::value_to_csv(value, options),
            Form::Json => json_text(&yaml::value_to_json(options.generation, value)),
            Form::FlowLists => flow_lists(value, options),
            Form::Yaml | Form::Plot => yaml::value_to_yaml(value, options) + "\n---",
        })
    }

    /// A message in the form of the tools of its generation.
    fn text(&self, message: &DynamicMessage, generation: Generation) -> Result<String, DynamicError> {
        let (field, options) = (self.field.as_deref(), &EchoOptions { generation, ..self.options });
        if let Some(field) = field.filter(|field| field.contains(':')) {
            return self.slice(message, field, options);
        }
        match (self.form, field) {
            (Form::Yaml, None) => Ok(yaml::to_yaml(message, options) + "\n---"),
            (Form::Yaml, Some(field)) => Ok(yaml::field_to_yaml(message, field, options)? + "\n---"),
            (Form::FlowLists, None) => Ok(flow_lists(ValueRef::Message(message), options)),
            (Form::FlowLists, Some(field)) => Ok(flow_lists(message.get(field)?, options)),
            (Form::Csv, None) => Ok(yaml::to_csv(message, options)),
            (Form::Csv, Some(field)) => yaml::field_to_csv(message, field, options),
            (Form::Json, None) => Ok(json_text(&yaml::to_json_in(generation, message))),
            (Form::Json, Some(field)) => Ok(json_text(&yaml::field_to_json(generation, message, field)?)),
            (Form::Plot, _) => Ok(self.plot(message)),
        }
    }

    fn plot(&self, message: &DynamicMessage) -> String {
        let stamp = match message.get("header.stamp") {
            Ok(ValueRef::Time(stamp)) => stamp,
            _ => runnel_io::clock::realtime(),
        };
        let value = ValueRef::Message(message);
        let row = yaml::plot_row(value, stamp, &self.options);
        if self.printed == 0 { format!("{}\n{row}", yaml::plot_header(value, &self.options)) } else { row }
    }
}

/// A value as ros2 prints it, with lists on one line.
fn flow_lists(value: ValueRef<'_>, options: &EchoOptions) -> String {
    let EchoOptions { generation, truncate, no_arr, no_str, .. } = *options;
    let printed = python_yaml::value_tree(value, PrintOptions { generation, truncate, no_arr, no_str });
    printed.block_with_flow_lists() + "---"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn malformed_path_is_wrong_usage() {
        for path in ["ranges[", "a..b", "a[x]", "a[1:"] {
            assert!(matches!(check_path(path), Err(CliError::Usage(_))), "{path}");
        }
        for path in ["ranges", "pose.position.x", "/a/b[0]", "a[0:3]", "poses[1:].x"] {
            assert!(check_path(path).is_ok(), "{path}");
        }
    }
}
