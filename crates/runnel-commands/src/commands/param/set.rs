//! `runnel param set`

use crate::completion;
use crate::error::CliError;
use crate::graph::Graph;
use crate::params::yaml;
use crate::session::Session;

const EXAMPLES: &str = "\
Examples:
  runnel param set /robot/speed 0.5
  runnel param set /robot '{speed: 0.5, name: adam}'
  runnel param set /robot/offset -- -1";

/// Set a parameter, or with a YAML mapping several below a name
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
    let wrong = |error| CliError::Usage(format!("the value for {name}: {error}"));
    let value = yaml::from_text(&args.value).map_err(wrong)?;
    let context = session.asking()?;
    let graph = Graph::new(&context);
    match yaml::leaves(&name, value.clone()) {
        // As rosparam does: what else there is below the name stays.
        Ok(leaves) if !leaves.is_empty() => {
            leaves.into_iter().try_for_each(|(name, value)| graph.set_param(&name, value))
        }
        _ => graph.set_param(&name, value),
    }
}
