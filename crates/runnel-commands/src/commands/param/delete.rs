//! `runnel param delete`

use crate::cli_context::CliContext;
use crate::completion;
use crate::error::CliError;
use crate::graph::Graph;

/// Delete parameters, each with all below it
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The parameters
    #[arg(required = true, value_name = "NAME", add = completion::parameters())]
    names: Vec<String>,
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), CliError> {
    let names = args.names.iter().map(|name| cli.resolve(name)).collect::<Result<Vec<_>, CliError>>()?;
    let context = cli.query_context()?;
    let graph = Graph::new(&context);
    names.iter().try_for_each(|name| graph.delete_param(name))
}
