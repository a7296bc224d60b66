//! `runnel param load`

use std::path::{Path, PathBuf};

use crate::cli_context::CliContext;
use crate::completion;
use crate::error::CliError;
use crate::graph::Graph;
use crate::params::{file_text, yaml};

/// Set the parameters of a YAML file; others stay
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The file; - for standard input
    #[arg(value_hint = clap::ValueHint::FilePath)]
    file: PathBuf,

    /// Set them below this name
    #[arg(default_value = "/", add = completion::parameters())]
    namespace: String,
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), CliError> {
    let namespace = cli.resolve(&args.namespace)?;
    let text = file_text(&args.file).map_err(|error| failed(&args.file, &error.to_string()))?;
    let value = yaml::from_text(&text).map_err(|error| failed(&args.file, &error.to_string()))?;
    let leaves = yaml::leaves(&namespace, value).map_err(|error| failed(&args.file, &error))?;
    let context = cli.query_context()?;
    let graph = Graph::new(&context);
    leaves.into_iter().try_for_each(|(name, value)| graph.set_param(&name, value))
}

fn failed(file: &Path, why: &str) -> CliError {
    CliError::Failed(format!("{}: {why}", file.display()))
}
