//! `runnel topic echo`

mod printer;

use std::sync::Arc;

use runnel::core::dynamic::{DynamicErrorKind, DynamicMessage};
use runnel::core::schema::{Kind, Library, Schema, TypeName};
use runnel::{Node, QoS, RawMessage, Subscription, SubscriptionOptions};

use super::listen::ListenArgs;
use super::qos::matching;
use super::subject::{self, Subject};
use crate::cli_context::CliContext;
use crate::completion;
use crate::error::CliError;
use crate::graphs::{GraphSnapshot, publishes};
use crate::measure::warn_of_losses;
use crate::output::counted;
use crate::received_types::{ReceivedTypes, learned};
use crate::streaming::Ending;
use printer::Printer;

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

    /// Print only this field, such as pose.position.x; an index in brackets selects an element, [0:3] several; may be
    /// repeated
    #[arg(long, value_name = "PATH")]
    field: Vec<String>,

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

pub fn run(args: Args, cli: &CliContext) -> Result<(), CliError> {
    subject::check(cli, [&args.topic])?;
    args.field.iter().try_for_each(|path| check_path(path))?;
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
