//! `runnel service call`

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use runnel::core::dynamic::DynamicMessage;
use runnel::core::schema::{Generation, ServiceSchema};
use runnel::core::yaml;
use runnel::{Context, DynamicClient, Graphs, Node, Ros2Graph};

use crate::cli_context::CliContext;
use crate::completion;
use crate::error::CliError;
use crate::graph::Graph;
use crate::graphs::{Discovery, Finding, Found, GraphFilter, Services, Target};
use crate::originals::command_line::SERVICE_LIST;
use crate::output;
use crate::python_yaml::python_repr;
use crate::ros2::{known_type, service_type};
use crate::services::{FOREVER, probe, request};
use crate::similar::{meant, meant_or_listed};
use crate::types::{Types, type_name};
use crate::value_parsers;

const EXAMPLES: &str = "\
Examples:
  runnel service call /motor_power true
  runnel service call /motor_power std_srvs/srv/SetBool '{data: true}'
  runnel service call /set_mode '{mode: 2, reason: test}' --timeout 5";

/// What ros2 prints before it waits.
const WAITING: &str = "waiting for service to become available...";

/// How long a master may take whose services are only suggested.
const MASTER_TIMEOUT: Duration = Duration::from_secs(1);

/// Call a service and print the response
///
/// VALUES is one YAML text, or one text per field of the request. Missing fields get their defaults. Write values
/// that begin with a hyphen after --. The first of VALUES may be the service type, as in ros2. Without it the type
/// comes from the node that provides the service.
///
/// In ROS 2 the request and the response are printed as by ros2, in ROS 1 the response as by rosservice.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Args {
    /// The service
    #[arg(add = completion::services())]
    service: String,

    /// The request, in YAML
    #[arg(add = completion::services_type())]
    values: Vec<String>,

    /// Read the request from standard input
    #[arg(long)]
    stdin: bool,

    /// Wait until a node provides the service, at most for --timeout
    #[arg(short, long)]
    wait: bool,

    /// How long to wait at most for the service, and then for the response [default: no limit]
    #[arg(long, value_name = "SECONDS", value_parser = value_parsers::seconds, allow_negative_numbers = true)]
    timeout: Option<Duration>,

    /// Repeat the call at this rate, until Ctrl-C
    #[arg(short, long, value_name = "HZ", value_parser = value_parsers::rate, allow_negative_numbers = true)]
    rate: Option<f64>,

    /// Listen for ROS 2 nodes for at least this long [default: 0.2]
    #[arg(long, value_name = "SECONDS", value_parser = value_parsers::seconds)]
    spin_time: Option<Duration>,

    /// Accepted as in ros2; there is no daemon
    #[arg(long, hide = true)]
    no_daemon: bool,

    #[command(flatten)]
    filter: GraphFilter,
}

/// The type, if it was typed, and the values of the request.
struct Typed<'a> {
    type_name: Option<&'a str>,
    values: Vec<String>,
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), CliError> {
    let service = cli.resolve(&args.service)?;
    let types = cli.types()?;
    let typed = Typed::of(args, &types)?;
    if args.filter.is_only_ros1() {
        return call_ros1(args, cli, &types, (&service, &typed));
    }
    // A command that waits or repeats ends on Ctrl-C by itself.
    let runs = args.waits(cli) || args.rate.is_some();
    let context =
        if runs { cli.running_context_in(Graphs::Ros2)? } else { cli.query_context_in(Graphs::Ros2)? };
    match find(args, cli, &context, (&service, &typed, &types))? {
        Found::Ros2(graph) => {
            let node = cli.node(&context, "service")?;
            call_ros2(args, cli, (&types, &node, &graph), (&service, &typed))
        }
        _ => {
            drop(context);
            call_ros1(args, cli, &types, (&service, &typed))
        }
    }
}

impl Args {
    /// Whether the command waits for the service. ros2 always does.
    fn waits(&self, cli: &CliContext) -> bool {
        self.wait || cli.is_only_in_ros2()
    }
}

/// The graph that has the service, in time.
fn find(
    args: &Args,
    cli: &CliContext,
    context: &Context,
    (service, typed, types): (&str, &Typed<'_>, &Types),
) -> Result<Found, CliError> {
    let target = Target {
        is_in_ros2: &|graph| graph.count_services(service) > 0,
        is_in_ros1: &|graph: &Graph<'_>| Ok(graph.service_uri(service)?.is_some()),
    };
    let finding = Finding::new(args.filter, Discovery::at_least(args.spin_time));
    let why = match finding.find(cli, context, &target)? {
        Found::Nothing(why) => why,
        found => return Ok(found),
    };
    let known = services(args, cli, context);
    let known = || known.iter().map(String::as_str);
    if !args.waits(cli) {
        let advice = "Try: --wait to wait for it";
        return Err(CliError::Failed(match why {
            Some(why) => {
                let meant = meant(service, known());
                format!("service {service}: no ROS 2 node provides it{meant}, and {why}. {advice}")
            }
            None => format!("{}. {advice}", not_provided(service, known())),
        }));
    }
    if cli.is_only_in_ros2() {
        // A misspelt type would be waited for without an end.
        typed.type_name.map(|name| known_type(types, &type_name(name)?)).transpose()?;
        cli.output.note(&format!("{WAITING}{}", meant(service, known())));
    } else {
        let why = why.map_or_else(|| "no node provides it yet".to_owned(), |why| why.to_string());
        cli.output.note(&format!("waiting for {service}: {why}{}", meant(service, known())));
    }
    match finding.wait(cli, context, &target, (args.timeout, &|| !context.ok()))? {
        Found::Nothing(_) if !context.ok() => {
            Err(CliError::Failed(format!("service {service}: interrupted while waiting for it")))
        }
        Found::Nothing(_) => Err(CliError::Failed(not_provided(service, known()))),
        found => Ok(found),
    }
}

/// The services that exist, for suggestions.
fn services(args: &Args, cli: &CliContext, context: &Context) -> BTreeSet<String> {
    let mut services = Services::default();
    services.add_ros2(&context.ros2_graph().ok().flatten().unwrap_or_default());
    if !args.filter.is_only_ros2()
        && let Ok(ros1) = cli.query_context()
        && let Ok(state) = Graph::within(&ros1, MASTER_TIMEOUT).system_state()
    {
        services.add_ros1(&state);
    }
    services.0.into_keys().collect()
}

fn not_provided<'a>(service: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    format!("service {service}: no node provides it{}", meant_or_listed(service, known, SERVICE_LIST))
}

impl<'a> Typed<'a> {
    fn of(args: &'a Args, types: &Types) -> Result<Self, CliError> {
        let (type_name, mut values) = match args.values.split_first() {
            Some((first, rest)) if is_type(types, first) => (Some(first.as_str()), rest.to_vec()),
            _ => (None, args.values.clone()),
        };
        if args.stdin {
            if !values.is_empty() {
                return Err(CliError::Usage("--stdin reads the request, and VALUES gives it too".into()));
            }
            values.push(io::read_to_string(io::stdin())?);
        }
        Ok(Self { type_name, values })
    }
}

/// Whether a word is the type of the service, and not a value: `package/srv/Name`, or a known `package/Name`.
fn is_type(types: &Types, word: &str) -> bool {
    let Ok(name) = type_name(word) else { return false };
    word.contains("/srv/") || types.library().service_in(Generation::Ros2, &name).is_ok()
}

fn call_ros1(
    args: &Args,
    cli: &CliContext,
    types: &Types,
    (service, typed): (&str, &Typed<'_>),
) -> Result<(), CliError> {
    // A running context also obeys SIGINT in a script's background, where the shell ignores it.
    let runs = args.wait || args.rate.is_some();
    let context = if runs { cli.running_context()? } else { cli.query_context()? };
    let node = cli.node(&context, "service")?;
    if args.wait {
        wait_in_ros1(args, cli, &node, service)?;
    }
    let found = probe(&node, service)?;
    output::mark_found();
    let wanted = typed.type_name.map(type_name).transpose()?.map(|name| name.to_string());
    if let Some(wanted) = wanted.filter(|wanted| *wanted != found.type_name) {
        let text = format!("service {service} is of type {}, not {wanted}", found.type_name);
        return Err(CliError::Failed(text));
    }
    let schema = Arc::new(types.service(&found.type_name)?);
    let request = request(&schema.request, &typed.values)?;
    note_default(cli, &schema, &typed.values, &request);
    let client = node.create_dynamic_client(service, &schema)?;
    repeated(args.rate, &context, || {
        let response = client.call_timeout(&request, args.timeout)?;
        let rule = if args.rate.is_some() { "\n---" } else { "" };
        let text = || yaml::to_yaml(&response, &yaml::EchoOptions::default()) + rule;
        cli.output.answer(text, || yaml::to_json(&response))
    })
}

fn wait_in_ros1(args: &Args, cli: &CliContext, node: &Node, service: &str) -> Result<(), CliError> {
    let context = node.context();
    if let Err(why) = Graph::new(context).check_master() {
        cli.output.note(&format!("waiting for {service}: {why}"));
    }
    let waited = node.wait_for_service(service, args.timeout.unwrap_or(FOREVER));
    if !context.ok() {
        return Err(CliError::Failed(format!("service {service}: interrupted while waiting for it")));
    }
    waited?;
    Ok(())
}

fn call_ros2(
    args: &Args,
    cli: &CliContext,
    (types, node, graph): (&Types, &Node, &Ros2Graph),
    (service, typed): (&str, &Typed<'_>),
) -> Result<(), CliError> {
    let schema = service_type(types, node, graph, (service, typed.type_name))?;
    let request = request(&schema.request, &typed.values)?;
    let client = node.create_dynamic_client(service, &schema)?;
    repeated(args.rate, node.context(), || call_once(args, cli, &client, &request))
}

/// Calls the service and prints both messages as ros2 does.
fn call_once(
    args: &Args,
    cli: &CliContext,
    client: &DynamicClient,
    request: &DynamicMessage,
) -> Result<(), CliError> {
    if !cli.output.json {
        cli.output.text(&format!("requester: making request: {}\n\n", python_repr(request)))?;
    }
    let response = client.call_timeout(request, args.timeout)?;
    let text = || format!("response:\n{}\n\n", python_repr(&response));
    cli.output.answer(text, || yaml::to_json_in(Generation::Ros2, &response))
}

fn note_default(cli: &CliContext, schema: &ServiceSchema, values: &[String], request: &DynamicMessage) {
    if values.is_empty() && !schema.request.def.fields.is_empty() {
        cli.output.note(&format!("no values given; the request is {}", yaml::to_json(request)));
    }
}

/// Calls once, or at a rate until the end.
fn repeated(
    rate: Option<f64>,
    context: &Context,
    mut call: impl FnMut() -> Result<(), CliError>,
) -> Result<(), CliError> {
    loop {
        let start = Instant::now();
        call()?;
        let Some(rate) = rate else { return Ok(()) };
        let period = Duration::try_from_secs_f64(1.0 / rate).unwrap_or(Duration::MAX);
        let left = period.saturating_sub(start.elapsed());
        context.sleep_wall(left)?;
        if !context.ok() {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn type_and_values_are_distinguished() {
        let types = Types::new(&[]).expect("no folder to read");
        for word in ["std_srvs/srv/SetBool", "std_srvs/SetBool", "my_package/srv/Mine"] {
            assert!(is_type(&types, word), "{word}");
        }
        for word in ["true", "{data: true}", "a/b", "/a/srv/b", "std_msgs/String", "std_msgs/msg/String", ""]
        {
            assert!(!is_type(&types, word), "{word}");
        }
    }

    #[test]
    fn tiny_rate_is_a_long_period() {
        let options = runnel::ContextOptions::default().graphs(Graphs::Ros2).signals(false);
        let context = Context::with_options(options).expect("a context");
        context.shutdown();
        let done = repeated(Some(1e-20), &context, || Ok(()));
        assert!(done.is_ok(), "it ends as the context has");
    }
}
