//! `runnel param list`

use serde_json::Value as Json;

use crate::cli_context::CliContext;
use crate::completion;
use crate::error::CliError;
use crate::graph::{Graph, is_within};
use crate::output::lines;

/// List parameters
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only this parameter, and those below it
    #[arg(add = completion::parameters())]
    namespace: Option<String>,
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), CliError> {
    let context = cli.query_context()?;
    let mut names = Graph::new(&context).param_names()?;
    if let Some(namespace) = &args.namespace {
        let namespace = cli.resolve(namespace)?;
        names.retain(|name| is_within(name, &namespace));
    }
    cli.output.answer(|| lines(&names), || names.iter().map(String::as_str).collect::<Json>())
}
