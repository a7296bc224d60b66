//! `runnel action type`

use serde_json::json;

use crate::actions::action;
use crate::cli_context::CliContext;
use crate::completion;
use crate::error::CliError;
use crate::graph::Graph;
use crate::output::shown;

/// Print an action's type
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The action
    #[arg(add = completion::actions())]
    action: String,
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), CliError> {
    let name = cli.resolve(&args.action)?;
    let context = cli.query_context()?;
    let type_name = action(&Graph::new(&context), &name)?.type_name;
    cli.output.answer(|| shown(&type_name).into_owned(), || json!(type_name))
}
