//! `runnel param get`

use super::of_node;
use crate::completion;
use crate::error::CliError;
use crate::graph::Graph;
use crate::params::yaml;
use crate::session::Session;

/// Print a parameter, or all below a name, in YAML
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The parameter
    #[arg(add = completion::parameters())]
    name: String,

    /// The parameter, where a node is named first as for ros2
    #[arg(hide = true)]
    of_node: Option<String>,
}

pub fn run(args: &Args, session: &Session) -> Result<(), CliError> {
    let name = session.resolve(&of_node(&args.name, args.of_node.as_deref()))?;
    let context = session.asking()?;
    let value = Graph::new(&context).param(&name)?;
    let unknown = || CliError::Failed(format!("parameter {name} is not set (see 'runnel param list')"));
    let value = value.ok_or_else(unknown)?;
    let text = yaml::to_text(&value)?;
    session.output.answer(|| text, || yaml::to_json(&value))
}
