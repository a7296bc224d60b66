//! `runnel param set`

use super::yaml;
use crate::completion;
use crate::error::CliError;
use crate::graph::Graph;
use crate::session::Session;

const EXAMPLES: &str = "\
Examples:
  runnel param set /robot/speed 0.5
  runnel param set /robot '{speed: 0.5, name: adam}'
  runnel param set /robot/offset -- -1";

/// Set a parameter, or with a YAML mapping all below a name
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Args {
    /// The parameter
    #[arg(add = completion::parameters())]
    name: String,

    /// The value, in YAML: 5, 0.5, true, text, [1, 2], {a: 1}
    #[arg(allow_negative_numbers = true)]
    value: String,
}

pub fn run(args: &Args, session: &Session) -> Result<(), CliError> {
    let name = session.resolve(&args.name)?;
    let value = yaml::from_text(&args.value)?;
    let context = session.asking()?;
    Graph::new(&context).set_param(&name, value)
}
