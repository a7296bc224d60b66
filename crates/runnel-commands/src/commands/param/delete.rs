//! `runnel param delete`

use crate::completion;
use crate::error::CliError;
use crate::graph::Graph;
use crate::session::Session;

/// Remove parameters, each with all below it
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The parameters
    #[arg(required = true, value_name = "NAME", add = completion::parameters())]
    names: Vec<String>,
}

pub fn run(args: &Args, session: &Session) -> Result<(), CliError> {
    let names = args.names.iter().map(|name| session.resolve(name)).collect::<Result<Vec<_>, CliError>>()?;
    let context = session.asking()?;
    let graph = Graph::new(&context);
    names.iter().try_for_each(|name| graph.delete_param(name))
}
