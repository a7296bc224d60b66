//! `runnel param get`

use super::of_node;
use crate::cli_context::CliContext;
use crate::completion;
use crate::error::CliError;
use crate::graph::Graph;
use crate::params::yaml;

/// Print a parameter, or all below a name, as YAML
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The parameter
    #[arg(add = completion::parameters())]
    name: String,

    /// The parameter, after a node as in ros2 param
    #[arg(hide = true)]
    of_node: Option<String>,
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), CliError> {
    let name = cli.resolve(&of_node(&args.name, args.of_node.as_deref()))?;
    let context = cli.query_context()?;
    let value = Graph::new(&context).param(&name)?;
    let unknown = || CliError::Failed(format!("parameter {name} is not set (see 'runnel param list')"));
    let value = value.ok_or_else(unknown)?;
    let text = yaml::to_text(&value)?;
    cli.output.answer(|| text, || yaml::to_json(&value))
}
