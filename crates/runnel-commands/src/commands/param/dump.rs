//! `runnel param dump`

use std::fs;
use std::path::PathBuf;

use crate::completion;
use crate::error::CliError;
use crate::graph::Graph;
use crate::output;
use crate::params::yaml;
use crate::session::Session;

/// Write all parameters, or those below a name, as a YAML file
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The file; without one, or with -, standard output
    #[arg(value_hint = clap::ValueHint::FilePath)]
    file: Option<PathBuf>,

    /// Only what lies below this name
    #[arg(default_value = "/", add = completion::parameters())]
    namespace: String,
}

pub fn run(args: &Args, session: &Session) -> Result<(), CliError> {
    let namespace = session.resolve(&args.namespace)?;
    let context = session.asking()?;
    let value = Graph::new(&context).param(&namespace)?;
    let value = value.ok_or_else(|| CliError::Failed(format!("nothing is set below {namespace}")))?;
    output::note_found();
    let text = yaml::to_text(&value)?;
    match args.file.as_deref().filter(|file| file.as_os_str() != "-") {
        None => session.output.answer(|| text, || yaml::to_json(&value)),
        Some(file) => {
            fs::write(file, text).map_err(|error| CliError::Failed(format!("{}: {error}", file.display())))
        }
    }
}
