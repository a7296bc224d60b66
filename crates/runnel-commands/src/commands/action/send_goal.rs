//! `runnel action send_goal`

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use runnel::core::dynamic::DynamicMessage;
use runnel::core::schema::{ActionSchema, Generation, Kind, TypeName, ros2_action_messages};
use runnel::{Context, EndpointType, Graphs, Ros2Graph};
use runnel_io::Reactor;
use runnel_io::signals::Interrupts;

use super::goal_job::Job;
use super::goal_report::Report;
use crate::actions::{Actions, action_of, actions_of_ros1};
use crate::cli_context::CliContext;
use crate::completion;
use crate::error::CliError;
use crate::graph::Graph;
use crate::graphs::{Finding, Found, Target};
use crate::messages::{typed_message, wrong_values};
use crate::originals::command_line::INTERFACE_SHOW;
use crate::similar::meant;
use crate::types::{Types, other_definition, spelt_in_advice, type_name};
use crate::value_parsers;

const EXAMPLES: &str = "\
Examples:
  runnel action send_goal /add actionlib/TwoInts '{a: 1, b: 2}'
  runnel action send_goal /fibonacci example_interfaces/action/Fibonacci '{order: 5}' --feedback
  runnel action send_goal /test actionlib/Test 5 --feedback --timeout 10";

/// Send a goal and print the result
///
/// VALUES is one YAML text, or one text per field of the goal. Missing fields get their defaults. Write values that
/// begin with a hyphen after --. Ctrl-C cancels the goal. The exit code is 0 only if the goal succeeds.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Args {
    /// The action
    #[arg(add = completion::actions())]
    action: String,

    /// The action type, such as actionlib/TwoInts or actionlib/action/TwoInts
    #[arg(value_name = "TYPE", add = completion::action_types())]
    type_name: String,

    /// The goal, in YAML
    values: Vec<String>,

    /// Read the goal from standard input
    #[arg(long, conflicts_with = "values")]
    stdin: bool,

    /// Print feedback as it comes
    #[arg(short, long)]
    feedback: bool,

    /// How long to wait at most for the server, and then for the result; then the goal is canceled [default: no
    /// limit]
    #[arg(long, value_name = "SECONDS", value_parser = value_parsers::seconds, allow_negative_numbers = true)]
    timeout: Option<Duration>,

    #[command(flatten)]
    finding: Finding,
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), CliError> {
    let action = cli.resolve(&args.action)?;
    let types = cli.types()?;
    let values = if args.stdin { vec![io::read_to_string(io::stdin())?] } else { args.values.clone() };
    // Wrong values are refused before any graph is contacted.
    let in_form = |generation| goal(&schema(&types, generation, &args.type_name)?, &values);
    in_form(Generation::Ros1).or_else(|error| in_form(Generation::Ros2).map_err(|_| error))?;
    let interrupted = Arc::new(AtomicBool::new(false));
    let reactor = Reactor::new()?;
    let _interrupts = Interrupts::catch(&interrupted, reactor.waker())?;
    let (found, waited) = find(args, cli, &action, &interrupted)?;
    let (context, generation) = match &found {
        Some((context, _)) => (context.clone(), Generation::Ros2),
        None => (cli.query_context()?, Generation::Ros1),
    };
    let schema = Arc::new(schema(&types, generation, &args.type_name)?);
    match &found {
        Some((_, graph)) => check_ros2_type(graph, &action, &schema)?,
        None => check_ros1_type(&context, &action, &schema.name)?,
    }
    let goal = goal(&schema, &values)?;
    let node = cli.node(&context, "action")?;
    let client = node.create_dynamic_action_client(&action, &schema)?;
    let report = Report { output: cli.output, generation, feedback: args.feedback };
    let job = Job { client, report, timeout: args.timeout, interrupted };
    job.wait_for_server(waited)?;
    let outcome = job.reach(&goal)?;
    report.outcome(outcome)
}

/// The context and the ROS 2 graph, if that has a server of the action, and whether the command has waited for it.
fn find(
    args: &Args,
    cli: &CliContext,
    action: &str,
    interrupted: &AtomicBool,
) -> Result<(Option<(Context, Ros2Graph)>, bool), CliError> {
    if args.finding.is_only_ros1() {
        return Ok((None, false));
    }
    let context = cli.query_context_in(Graphs::Ros2)?;
    let target = Target {
        is_in_ros2: &|graph| servers(graph, action).next().is_some(),
        is_in_ros1: &|graph: &Graph<'_>| Ok(actions_of_ros1(graph)?.contains_key(action)),
    };
    let is_interrupted = || interrupted.load(Ordering::SeqCst);
    let (found, waited) = match args.finding.find(cli, &context, &target)? {
        Found::Nothing(why) => {
            let mut known = Actions::default();
            known.add_ros2(&context.ros2_graph()?.unwrap_or_default());
            let meant = meant(action, known.names());
            cli.output.note(&format!("waiting for a server of {action}{meant}"));
            if let Some(why) = why {
                log::info!("{why}");
            }
            (args.finding.wait(cli, &context, &target, (args.timeout, &is_interrupted))?, true)
        }
        found => (found, false),
    };
    match found {
        Found::Ros2(graph) => Ok((Some((context, graph)), waited)),
        Found::Ros1 => Ok((None, waited)),
        Found::Nothing(_) if is_interrupted() => {
            Err(CliError::Failed(format!("action {action}: interrupted while waiting for a server")))
        }
        Found::Nothing(_) => Err(CliError::Failed(format!("action {action}: no server found"))),
    }
}

/// The endpoints of servers of an action in ROS 2: action type and type hash of the feedback.
fn servers<'a>(graph: &'a Ros2Graph, action: &str) -> impl Iterator<Item = (String, Option<&'a str>)> {
    let is_server = move |end: &&runnel::EndpointInfo| {
        end.endpoint_type == EndpointType::Publisher && action_of(end) == Some(action)
    };
    graph.endpoints.iter().filter(is_server).map(|end| {
        let type_name = end.ros_type();
        let action_type = type_name.strip_suffix("_FeedbackMessage").unwrap_or(&type_name);
        (action_type.to_owned(), end.type_hash.as_deref())
    })
}

/// The action's type in the form of a generation. The type of the action message, with suffix `Action`, is accepted
/// too.
pub(super) fn schema(types: &Types, generation: Generation, typed: &str) -> Result<ActionSchema, CliError> {
    let name = type_name(typed)?;
    let library = types.library();
    library.action_in(generation, &name).or_else(|error| {
        let short = name.name.strip_suffix("Action").map(|short| TypeName::new(&name.package, short));
        let found = short.and_then(|short| library.action_in(generation, &short).ok());
        found.ok_or_else(|| types.unknown(error))
    })
}

fn goal(schema: &ActionSchema, values: &[String]) -> Result<DynamicMessage, CliError> {
    typed_message(&schema.goal, values).map_err(|error| {
        let name = &schema.name;
        let name = spelt_in_advice(Kind::Action, name);
        let see = format!("'{INTERFACE_SHOW} {name}'");
        CliError::Usage(wrong_values(&format!("goal of {name}"), &error, &see))
    })
}

/// A server of another type would never connect.
fn check_ros1_type(context: &Context, action: &str, wanted: &TypeName) -> Result<(), CliError> {
    let known = actions_of_ros1(&Graph::new(context))?.remove(action);
    let known = known.and_then(|known| known.types.into_iter().next());
    match known.filter(|known| *known != wanted.to_string()) {
        Some(known) => Err(CliError::Failed(format!("action {action} is of type {known}, not {wanted}"))),
        None => Ok(()),
    }
}

/// The same in ROS 2, where a server announces a hash of the feedback.
fn check_ros2_type(graph: &Ros2Graph, action: &str, schema: &ActionSchema) -> Result<(), CliError> {
    let wanted = schema.ros2_name();
    let Some((known, hash)) = servers(graph, action).next() else { return Ok(()) };
    if known != wanted {
        return Err(CliError::Failed(format!("action {action} is of type {known}, not {wanted}")));
    }
    let parts = [&*schema.goal, &*schema.result, &*schema.feedback];
    let [.., (_, feedback)] = ros2_action_messages(&schema.name, parts);
    if hash.is_some_and(|hash| hash != feedback) {
        return Err(CliError::Failed(format!("action {action}: {}", other_definition(&wanted))));
    }
    Ok(())
}
