//! `runnel service type`

use serde_json::json;

use crate::completion;
use crate::error::CliError;
use crate::output::shown;
use crate::services::probe;
use crate::session::Session;

/// Print a service's type
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The service
    #[arg(add = completion::services())]
    service: String,
}

pub fn run(args: &Args, session: &Session) -> Result<(), CliError> {
    let service = session.resolve(&args.service)?;
    let context = session.asking()?;
    let type_name = probe(&session.node(&context, "service")?, &service)?.type_name;
    session.output.answer(|| shown(&type_name).into_owned(), || json!(type_name))
}
