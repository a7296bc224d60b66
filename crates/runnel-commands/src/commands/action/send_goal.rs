//! `runnel action send_goal`

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use runnel::core::dynamic::DynamicMessage;
use runnel::core::schema::{ActionSchema, TypeName};
use runnel::core::time::Instant;
use runnel::core::yaml;
use runnel::{Context, DynamicActionClient, DynamicGoalHandle, GoalOutcome, GoalStatus};
use runnel_io::signals::Interrupts;
use runnel_io::{Reactor, clock};
use serde_json::json;

use crate::actions::actions;
use crate::cli_context::CliContext;
use crate::completion;
use crate::error::CliError;
use crate::graph::Graph;
use crate::messages::{typed_message, wrong_values};
use crate::output::{self, Output};
use crate::streaming::{POLL_PERIOD, lock};
use crate::types::{Types, type_name};
use crate::value_parsers;

/// How long a cancelled goal may take to end.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(5);

const EXAMPLES: &str = "\
Examples:
  runnel action send_goal /add actionlib/TwoInts '{a: 1, b: 2}'
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

    /// Print feedback as it comes
    #[arg(short, long)]
    feedback: bool,

    /// How long to wait at most for the server, and then for the result; then the goal is cancelled [default: no
    /// limit]
    #[arg(long, value_name = "SECONDS", value_parser = value_parsers::seconds, allow_negative_numbers = true)]
    timeout: Option<Duration>,
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), CliError> {
    let action = cli.resolve(&args.action)?;
    let schema = Arc::new(schema(&cli.types()?, &args.type_name)?);
    let goal = goal(&schema, &args.values)?;
    let context = cli.query_context()?;
    check_type(&context, &action, &schema.name)?;
    let node = cli.node(&context, "action")?;
    let client = node.create_dynamic_action_client(&action, &schema)?;
    let job = Job { args, client, output: cli.output, interrupted: Arc::default() };
    let reactor = Reactor::new()?;
    let _interrupts = Interrupts::catch(&job.interrupted, reactor.waker())?;
    job.wait_for_server()?;
    let outcome = job.reach(&goal)?;
    job.report(outcome)
}

/// The action's type. The type of the action message, with suffix `Action`, is accepted too.
fn schema(types: &Types, typed: &str) -> Result<ActionSchema, CliError> {
    let name = type_name(typed)?;
    let library = types.library();
    library.action(&name).or_else(|error| {
        let short = name.name.strip_suffix("Action").map(|short| TypeName::new(&name.package, short));
        let found = short.and_then(|short| library.action(&short).ok());
        found.ok_or_else(|| types.unknown(error))
    })
}

fn goal(schema: &ActionSchema, values: &[String]) -> Result<DynamicMessage, CliError> {
    typed_message(&schema.goal, values).map_err(|error| {
        let name = &schema.name;
        let see = format!("'runnel interface show {name}'");
        CliError::Usage(wrong_values(&format!("goal of {name}"), &error, &see))
    })
}

/// A server of another type would never connect.
fn check_type(context: &Context, action: &str, wanted: &TypeName) -> Result<(), CliError> {
    let known = actions(&Graph::new(context))?.remove(action).map(|known| known.type_name);
    match known.filter(|known| *known != wanted.to_string()) {
        Some(known) => Err(CliError::Failed(format!("action {action} is of type {known}, not {wanted}"))),
        None => Ok(()),
    }
}

/// One goal, from sending to its end.
struct Job<'a> {
    args: &'a Args,
    client: DynamicActionClient,
    output: Output,
    /// Set by Ctrl-C.
    interrupted: Arc<AtomicBool>,
}

impl Job<'_> {
    /// When to stop waiting.
    fn deadline(&self) -> Option<Instant> {
        self.args.timeout.map(|timeout| clock::monotonic() + timeout)
    }

    fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::SeqCst)
    }

    fn wait_for_server(&self) -> Result<(), CliError> {
        let (action, deadline) = (self.client.action(), self.deadline());
        self.output.note(&format!("waiting for a server of {action}"));
        while !self.client.wait_for_server(POLL_PERIOD)? {
            if self.is_interrupted() {
                return Err(CliError::Failed(format!(
                    "action {action}: interrupted while waiting for a server"
                )));
            }
            if is_over(deadline) {
                return Err(CliError::Failed(format!("action {action}: no server found")));
            }
        }
        output::mark_found();
        Ok(())
    }

    /// Sends the goal and waits for its result.
    fn reach(&self, goal: &DynamicMessage) -> Result<GoalOutcome<DynamicMessage>, CliError> {
        let failed = Arc::new(Mutex::new(None));
        let handle = match self.args.feedback {
            true => {
                let (output, failed) = (self.output, Arc::clone(&failed));
                let print = move |feedback: &DynamicMessage| {
                    if let Err(error) = print_feedback(output, feedback) {
                        *lock(&failed) = Some(error);
                    }
                };
                self.client.send_goal_with(goal, print, |_| {})?
            }
            false => self.client.send_goal(goal)?,
        };
        self.output.note(&format!("sent as goal {}", handle.id()));
        let deadline = self.deadline();
        let mut connected = true;
        while !self.is_interrupted() && !is_over(deadline) {
            if let Some(outcome) = handle.wait_for_result(POLL_PERIOD)? {
                return Ok(outcome);
            }
            if let Some(error) = lock(&failed).take() {
                // The output is closed: no reader is left for the result.
                handle.cancel()?;
                return Err(error);
            }
            if connected && !self.client.server_is_ready() {
                self.output.note("the server is gone; waiting for another");
            }
            connected = self.client.server_is_ready();
        }
        self.give_up(&handle)
    }

    /// Cancels the goal and waits briefly for its end.
    fn give_up(&self, handle: &DynamicGoalHandle) -> Result<GoalOutcome<DynamicMessage>, CliError> {
        let why = if self.is_interrupted() { "interrupted" } else { "time-out" };
        self.output.note(&format!("{why}: cancelling the goal"));
        handle.cancel()?;
        let end = handle.wait_for_result(CANCEL_TIMEOUT)?;
        end.ok_or_else(|| {
            let (id, status) = (handle.id(), handle.status());
            CliError::Failed(format!(
                "goal {id} was cancelled and is still {status} after {} s",
                CANCEL_TIMEOUT.as_secs()
            ))
        })
    }

    fn report(&self, outcome: GoalOutcome<DynamicMessage>) -> Result<(), CliError> {
        let GoalOutcome { status, text, result } = outcome;
        let shown = || match &result {
            Some(result) => format!("Result:\n{}\nGoal finished with status: {status}\n", indented(result)),
            None => format!("Goal finished with status: {status}\n"),
        };
        self.output.answer(shown, || {
            json!({ "status": status.to_string(), "text": text, "result": result.as_ref().map(yaml::to_json) })
        })?;
        match (status, text.as_str()) {
            (GoalStatus::Succeeded, _) => Ok(()),
            (status, "") => Err(CliError::Failed(format!("the goal is {status}"))),
            (status, text) => Err(CliError::Failed(format!("the goal is {status}: {text}"))),
        }
    }
}

fn is_over(deadline: Option<Instant>) -> bool {
    deadline.is_some_and(|deadline| clock::monotonic() >= deadline)
}

fn print_feedback(output: Output, feedback: &DynamicMessage) -> Result<(), CliError> {
    let text = || format!("Feedback:\n{}\n", indented(feedback));
    output.answer(text, || json!({ "feedback": yaml::to_json(feedback) }))
}

/// A message as YAML, indented.
fn indented(message: &DynamicMessage) -> String {
    let text = yaml::to_yaml(message, &yaml::EchoOptions::default());
    text.lines().map(|line| format!("    {line}\n")).collect()
}
