//! `runnel service type`

use serde_json::json;

use crate::cli_context::CliContext;
use crate::completion;
use crate::error::CliError;
use crate::output::shown;
use crate::services::probe;

/// Print a service's type
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The service
    #[arg(add = completion::services())]
    service: String,
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), CliError> {
    let service = cli.resolve(&args.service)?;
    let context = cli.query_context()?;
    let type_name = probe(&cli.node(&context, "service")?, &service)?.type_name;
    cli.output.answer(|| shown(&type_name).into_owned(), || json!(type_name))
}
