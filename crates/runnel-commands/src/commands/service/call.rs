//! `runnel service call`

use std::sync::Arc;
use std::time::Duration;

use runnel::core::dynamic::DynamicMessage;
use runnel::core::schema::Schema;
use runnel::core::yaml;
use runnel::io::clock;

use super::probe;
use crate::completion;
use crate::error::CliError;
use crate::graph::Graph;
use crate::output;
use crate::session::Session;

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
    #[arg(long, value_name = "SECONDS", value_parser = crate::commands::seconds, allow_negative_numbers = true)]
    timeout: Option<Duration>,
}

/// How long to wait for a service if nothing else is said: as good as for ever.
pub const FOREVER: Duration = Duration::from_secs(365 * 24 * 3600);

pub fn run(args: &Args, session: &Session) -> Result<(), CliError> {
    let service = session.resolve(&args.service)?;
    let context = session.asking()?;
    let node = session.node(&context, "service")?;
    if args.wait {
        if let Err(why) = Graph::new(&context).check_master() {
            session.output.note(&format!("waiting for {service}: {why}"));
        }
        node.wait_for_service(&service, args.timeout.unwrap_or(FOREVER))?;
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

/// The request that the values mean now.
pub fn request(schema: &Arc<Schema>, values: &[String]) -> Result<DynamicMessage, CliError> {
    let values: Vec<&str> = values.iter().map(String::as_str).collect();
    yaml::from_yaml_args(schema, &values, clock::realtime()).map_err(|error| {
        let name = &schema.def.name;
        CliError::Usage(format!("not a {name}: {error} (see 'runnel interface show' of the service's type)"))
    })
}
