//! `runnel action find`

use crate::actions::actions;
use crate::cli_context::CliContext;
use crate::completion;
use crate::error::CliError;
use crate::graph::Graph;
use crate::output::lines;
use crate::types::type_name;

/// List the actions of a type
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The action type, such as actionlib/TwoInts or actionlib/action/TwoInts
    #[arg(value_name = "TYPE", add = completion::action_types())]
    type_name: String,
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), CliError> {
    let wanted = type_name(&args.type_name)?.to_string();
    let context = cli.query_context()?;
    let found = actions(&Graph::new(&context))?.into_iter();
    let found: Vec<String> =
        found.filter(|(_, action)| action.type_name == wanted).map(|(name, _)| name).collect();
    cli.output.answer(|| lines(&found), || found.iter().map(String::as_str).collect())
}
