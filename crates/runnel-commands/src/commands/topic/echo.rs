//! `runnel topic echo`

use runnel::core::dynamic::{DynamicError, DynamicMessage, ValueRef};
use runnel::core::names::DdsTopic;
use runnel::core::schema::{Generation, Schema};
use runnel::core::yaml::{self, EchoOptions};
use runnel::{EndpointInfo, EndpointType, Node, QoS, RawMessage, Subscription, SubscriptionOptions};

use super::excuses::Excuses;
use super::listen::ListenArgs;
use super::qos::matching;
use super::subject::{self, Subject};
use crate::completion;
use crate::error::CliError;
use crate::graphs::Sight;
use crate::measure::tell_lost;
use crate::output::{Output, counted, json_text};
use crate::session::Session;
use crate::streaming::Ending;
use crate::types::ReceivedTypes;

/// Messages that wait at most while others are printed.
const DEPTH: usize = 256;

/// Print messages as they arrive
///
/// The type is learnt from the publisher. Long arrays and strings are cut as ros2 does; -f prints them whole as
/// rostopic does.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The topic; a field may follow it as in rostopic: /scan/ranges
    #[arg(add = completion::topics())]
    topic: String,

    /// Take only messages of this type
    #[arg(value_name = "TYPE", add = completion::message_types())]
    type_name: Option<String>,

    /// End after one message
    #[arg(short = '1', long)]
    once: bool,

    /// End after so many messages
    #[arg(short = 'n', long, value_parser = clap::value_parser!(u64).range(1..), conflicts_with = "once")]
    count: Option<u64>,

    /// Print only this field, such as pose.position.x; an index in brackets picks an element
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

    /// Print long arrays and strings whole
    #[arg(short, long)]
    full_length: bool,

    /// Print so many elements of an array and characters of a string
    #[arg(short = 'l', long, value_name = "LENGTH", default_value_t = 128, conflicts_with = "full_length")]
    truncate_length: usize,

    #[command(flatten)]
    listen: ListenArgs,
}

/// The form of what is printed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Yaml,
    Csv,
    Plot,
    Json,
}

/// Prints messages until it has printed enough.
struct Printer {
    output: Output,
    form: Form,
    options: EchoOptions,
    field: Option<String>,
    types: ReceivedTypes,
    excuses: Excuses,
    printed: u64,
    most: Option<u64>,
}

pub fn run(args: Args, session: &Session) -> Result<(), CliError> {
    subject::check(session, [&args.topic])?;
    let sight = args.listen.sight(session)?;
    let context = sight.context();
    let subject = Subject::find(session, &sight, &args.topic)?;
    let node = session.node(context, "echo")?;
    let ending = Ending::of(context);
    let schema = args.type_name.as_ref().map(|name| session.types()?.message_in(sight.generation(), name));
    let schema = schema.transpose()?;
    let options = args.listen.options(best_qos(&sight, &subject.topic, schema.is_some()));
    let printer = Printer::new(args, subject.field, session)?;
    let subscription = subscribe(&node, &subject.topic, schema.as_deref(), options, printer, ending.clone())?;
    ending.wait()?;
    tell_lost([&subscription]);
    if subscription.dropped() > 0 {
        let dropped = counted(subscription.dropped(), "message");
        log::warn!("dropped {dropped}, since more came than could be printed");
    }
    Ok(())
}

/// Asks for as much as publishers give: each publisher where any type is taken, and all of them where it is one type.
fn best_qos(sight: &Sight, topic: &str, one_type: bool) -> QoS {
    let Some(graph) = sight.ros2.as_ref() else { return QoS::keep_last(DEPTH) };
    if !one_type {
        return QoS::keep_last(DEPTH).reliability_best_available().durability_best_available();
    }
    let publishes = |end: &&EndpointInfo| {
        end.endpoint_type == EndpointType::Publisher && end.ros_topic() == Some(DdsTopic::Topic(topic))
    };
    let offered: Vec<QoS> = graph.endpoints.iter().filter(publishes).map(|end| end.qos).collect();
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
        ending.unless_ok(printer.take(message));
        if printer.has_enough() {
            ending.reached();
        }
    };
    Ok(node.create_raw_subscription(topic, schema, options, take)?)
}

impl Printer {
    fn new(args: Args, field: Option<String>, session: &Session) -> Result<Self, CliError> {
        let form = match args {
            _ if session.output.json => Form::Json,
            Args { csv: true, .. } => Form::Csv,
            Args { plot: true, .. } => Form::Plot,
            _ => Form::Yaml,
        };
        let field = args.field.or(field);
        if form == Form::Plot && field.is_some() {
            return Err(CliError::Usage("--plot prints whole messages, not one field".into()));
        }
        let truncate = (!args.full_length).then_some(args.truncate_length);
        Ok(Self {
            output: session.output,
            form,
            options: EchoOptions {
                no_arr: args.no_arr,
                no_str: args.no_str,
                truncate,
                ..EchoOptions::default()
            },
            field,
            types: ReceivedTypes::new(session.types_loader()),
            excuses: Excuses::default(),
            printed: 0,
            most: if args.once { Some(1) } else { args.count },
        })
    }

    fn has_enough(&self) -> bool {
        self.most.is_some_and(|most| self.printed >= most)
    }

    /// Prints a message. One that cannot be read, or has no such element, is passed over with a word about it.
    fn take(&mut self, message: &RawMessage<'_>) -> Result<(), CliError> {
        let schema = self.types.of(message)?;
        let printed = message.decode(&schema).and_then(|decoded| self.text(&decoded, message.generation()));
        match printed {
            Ok(text) => {
                self.printed += 1;
                self.output.paragraph(&text)
            }
            Err(error) => {
                let said = self.excuses.of(message.type_name(), message.publisher(), &error)?;
                said.into_iter().for_each(|line| log::error!("{line}"));
                Ok(())
            }
        }
    }

    /// A message as the tools of its generation print it.
    fn text(&self, message: &DynamicMessage, generation: Generation) -> Result<String, DynamicError> {
        let (field, options) = (self.field.as_deref(), &EchoOptions { generation, ..self.options });
        match (self.form, field) {
            (Form::Yaml, None) => Ok(yaml::to_yaml(message, options) + "\n---"),
            (Form::Yaml, Some(field)) => Ok(yaml::field_to_yaml(message, field, options)? + "\n---"),
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
            _ => runnel::io::clock::realtime(),
        };
        let value = ValueRef::Message(message);
        let row = yaml::plot_row(value, stamp, &self.options);
        if self.printed == 0 { format!("{}\n{row}", yaml::plot_header(value, &self.options)) } else { row }
    }
}
