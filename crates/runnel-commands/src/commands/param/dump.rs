//! `runnel param dump`

use std::fs;
use std::path::PathBuf;

use crate::cli_context::CliContext;
use crate::completion;
use crate::error::CliError;
use crate::graph::Graph;
use crate::output;
use crate::params::yaml;

/// Write all parameters, or those below a name, as a YAML file
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The file; standard output if omitted or -
    #[arg(value_hint = clap::ValueHint::FilePath)]
    file: Option<PathBuf>,

    /// Only parameters below this name
    #[arg(default_value = "/", add = completion::parameters())]
    namespace: String,
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), CliError> {
    let namespace = cli.resolve(&args.namespace)?;
    let context = cli.query_context()?;
    let value = Graph::new(&context).param(&namespace)?;
    let value = value.ok_or_else(|| CliError::Failed(format!("no parameter is set below {namespace}")))?;
    output::mark_found();
    let text = yaml::to_text(&value)?;
    match args.file.as_deref().filter(|file| file.as_os_str() != "-") {
        None => cli.output.answer(|| text, || yaml::to_json(&value)),
        Some(file) => {
            fs::write(file, text).map_err(|error| CliError::Failed(format!("{}: {error}", file.display())))
        }
    }
}
