//! `runnel service call`

use std::sync::Arc;
use std::time::Duration;

use runnel::core::yaml;

use crate::completion;
use crate::error::CliError;
use crate::graph::Graph;
use crate::output;
use crate::services::{FOREVER, probe, request};
use crate::session::Session;
use crate::value_parsers;

const EXAMPLES: &str = "\
Examples:
  runnel service call /motor_power true
  runnel service call /set_mode '{mode: 2, reason: test}' --timeout 5";

/// Call a service and print the response
///
/// VALUES is one YAML text, or one text for each field of the request. Fields that are left out get their defaults.
/// Values that begin with a hyphen stand behind --. The type is asked of the node that provides the service.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Args {
    /// The service
    #[arg(add = completion::services())]
    service: String,

    /// The request, in YAML
    values: Vec<String>,

    /// Wait until somebody provides the service, at most for --timeout
    #[arg(short, long)]
    wait: bool,

    /// How long to wait at most for the service, and then for the response [default: as long as it takes]
    #[arg(long, value_name = "SECONDS", value_parser = value_parsers::seconds, allow_negative_numbers = true)]
    timeout: Option<Duration>,
}

pub fn run(args: &Args, session: &Session) -> Result<(), CliError> {
    let service = session.resolve(&args.service)?;
    // While it waits it hears SIGINT also in a script's background, where the shell has that ignored.
    let context = if args.wait { session.running()? } else { session.asking()? };
    let node = session.node(&context, "service")?;
    if args.wait {
        if let Err(why) = Graph::new(&context).check_master() {
            session.output.note(&format!("waiting for {service}: {why}"));
        }
        let waited = node.wait_for_service(&service, args.timeout.unwrap_or(FOREVER));
        if !context.ok() {
            return Err(CliError::Failed(format!("service {service}: interrupted while waiting for it")));
        }
        waited?;
    }
    let found = probe(&node, &service)?;
    output::note_found();
    let schema = Arc::new(session.types()?.service(&found.type_name)?);
    let request = request(&schema.request, &args.values)?;
    if args.values.is_empty() && !schema.request.def.fields.is_empty() {
        session.output.note(&format!("no values are given, so the request is {}", yaml::to_json(&request)));
    }
    let response = node.create_dynamic_client(&service, &schema)?.call(&request, args.timeout)?;
    let text = || yaml::to_yaml(&response, &yaml::EchoOptions::default());
    session.output.answer(text, || yaml::to_json(&response))
}
