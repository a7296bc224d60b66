//! `runnel service type`

use serde_json::json;

use crate::cli_context::CliContext;
use crate::completion;
use crate::error::CliError;
use crate::graphs::Query;
use crate::output::lines;
use crate::services::{Prober, unknown};

/// Print a service's type
///
/// If servers and clients of ROS 2 disagree, each type is on a line.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The service
    #[arg(add = completion::services())]
    service: String,

    /// Accepted as in ros2; hidden services are found by their names
    #[arg(long, hide = true)]
    include_hidden_services: bool,

    #[command(flatten)]
    query: Query,
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), CliError> {
    let name = cli.resolve(&args.service)?;
    let snapshot = args.query.open(cli)?;
    let services = snapshot.services()?;
    let service = services.0.get(&name).ok_or_else(|| unknown(&name, services.names()))?;
    match Prober::new(cli).types(&name, service)?.as_slice() {
        [only] => cli.output.answer(|| lines([only]), || json!(only)),
        several => cli.output.answer(|| lines(several), || json!(several)),
    }
}
