//! `runnel action type`

use serde_json::json;

use crate::actions::action;
use crate::completion;
use crate::error::CliError;
use crate::graph::Graph;
use crate::output::shown;
use crate::session::Session;

/// Print an action's type
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The action
    #[arg(add = completion::actions())]
    action: String,
}

pub fn run(args: &Args, session: &Session) -> Result<(), CliError> {
    let name = session.resolve(&args.action)?;
    let context = session.asking()?;
    let type_name = action(&Graph::new(&context), &name)?.type_name;
    session.output.answer(|| shown(&type_name).into_owned(), || json!(type_name))
}
