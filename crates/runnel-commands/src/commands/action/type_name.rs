//! `runnel action type`

use serde_json::json;

use crate::actions::Actions;
use crate::cli_context::CliContext;
use crate::completion;
use crate::error::CliError;
use crate::graphs::Query;
use crate::output::lines;

/// Print an action's type
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The action
    #[arg(add = completion::actions())]
    action: String,

    #[command(flatten)]
    query: Query,
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), CliError> {
    let name = cli.resolve(&args.action)?;
    let action = Actions::one(&args.query.open(cli)?, &name)?;
    match action.types().as_slice() {
        [only] => cli.output.answer(|| lines([only]), || json!(only)),
        several => cli.output.answer(|| lines(several), || json!(several)),
    }
}
