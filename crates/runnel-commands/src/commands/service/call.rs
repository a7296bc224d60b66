//! `runnel service call`

use std::sync::Arc;
use std::time::Duration;

use runnel::core::yaml;

use crate::cli_context::CliContext;
use crate::completion;
use crate::error::CliError;
use crate::graph::Graph;
use crate::output;
use crate::services::{FOREVER, probe, request};
use crate::value_parsers;

const EXAMPLES: &str = "\
Examples:
  runnel service call /motor_power true
  runnel service call /set_mode '{mode: 2, reason: test}' --timeout 5";

/// Call a service and print the response
///
/// VALUES is one YAML text, or one text per field of the request. Missing fields get their defaults. Write values
/// that begin with a hyphen after --. The type comes from the node that provides the service.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Args {
    /// The service
    #[arg(add = completion::services())]
    service: String,

    /// The request, in YAML
    values: Vec<String>,

    /// Wait until a node provides the service, at most for --timeout
    #[arg(short, long)]
    wait: bool,

    /// How long to wait at most for the service, and then for the response [default: no limit]
    #[arg(long, value_name = "SECONDS", value_parser = value_parsers::seconds, allow_negative_numbers = true)]
    timeout: Option<Duration>,
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), CliError> {
    let service = cli.resolve(&args.service)?;
    // A running context also obeys SIGINT in a script's background, where the shell ignores it.
    let context = if args.wait { cli.running_context()? } else { cli.query_context()? };
    let node = cli.node(&context, "service")?;
    if args.wait {
        if let Err(why) = Graph::new(&context).check_master() {
            cli.output.note(&format!("waiting for {service}: {why}"));
        }
        let waited = node.wait_for_service(&service, args.timeout.unwrap_or(FOREVER));
        if !context.ok() {
            return Err(CliError::Failed(format!("service {service}: interrupted while waiting for it")));
        }
        waited?;
    }
    let found = probe(&node, &service)?;
    output::mark_found();
    let schema = Arc::new(cli.types()?.service(&found.type_name)?);
    let request = request(&schema.request, &args.values)?;
    if args.values.is_empty() && !schema.request.def.fields.is_empty() {
        cli.output.note(&format!("no values given; the request is {}", yaml::to_json(&request)));
    }
    let response = node.create_dynamic_client(&service, &schema)?.call(&request, args.timeout)?;
    let text = || yaml::to_yaml(&response, &yaml::EchoOptions::default());
    cli.output.answer(text, || yaml::to_json(&response))
}
