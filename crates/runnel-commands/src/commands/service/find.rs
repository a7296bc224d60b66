//! `runnel service find`

use crate::cli_context::CliContext;
use crate::completion;
use crate::error::CliError;
use crate::graph::Graph;
use crate::output::lines;
use crate::services::probe;
use crate::types::type_name;

/// List the services of a type
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The service type, such as std_srvs/SetBool or std_srvs/srv/SetBool
    #[arg(value_name = "TYPE", add = completion::service_types())]
    type_name: String,
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), CliError> {
    let wanted = type_name(&args.type_name)?.to_string();
    let context = cli.query_context()?;
    let services = Graph::new(&context).system_state()?.services;
    let node = cli.node(&context, "service")?;
    let mut found = Vec::new();
    for service in services.into_keys() {
        match probe(&node, &service) {
            Ok(info) if info.type_name == wanted => found.push(service),
            Ok(_) => {}
            Err(error) => log::warn!("{error}"),
        }
    }
    cli.output.answer(|| lines(&found), || found.iter().map(String::as_str).collect())
}
