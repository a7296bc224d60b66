//! `runnel param set`

use super::of_node;
use crate::cli_context::CliContext;
use crate::completion;
use crate::error::CliError;
use crate::graph::Graph;
use crate::params::yaml;

const EXAMPLES: &str = "\
Examples:
  runnel param set /robot/speed 0.5
  runnel param set /robot '{speed: 0.5, name: adam}'
  runnel param set /robot/offset -- -1";

/// Set a parameter, or several below a name with a YAML mapping
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Args {
    /// The parameter
    #[arg(add = completion::parameters())]
    name: String,

    /// The value, in YAML: 5, 0.5, true, text, [1, 2], {a: 1}
    #[arg(allow_negative_numbers = true)]
    value: String,

    /// The value, after a node and a parameter as in ros2 param
    #[arg(allow_negative_numbers = true, hide = true)]
    value_of_node: Option<String>,
}

impl Args {
    /// Name and value: `/robot/speed 0.5`, or as in ros2 param `/robot speed 0.5`.
    fn pair(&self) -> (String, &str) {
        match &self.value_of_node {
            Some(value) => (of_node(&self.name, Some(&self.value)), value),
            None => (self.name.clone(), &self.value),
        }
    }
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), CliError> {
    let (name, value) = args.pair();
    let name = cli.resolve(&name)?;
    let wrong = |error| CliError::Usage(format!("parameter {name}: {error}"));
    let value = yaml::from_text(value).map_err(wrong)?;
    let context = cli.query_context()?;
    let graph = Graph::new(&context);
    match yaml::leaves(&name, value.clone()) {
        // As in rosparam: other parameters below the name stay.
        Ok(leaves) if !leaves.is_empty() => {
            leaves.into_iter().try_for_each(|(name, value)| graph.set_param(&name, value))
        }
        _ => graph.set_param(&name, value),
    }
}
