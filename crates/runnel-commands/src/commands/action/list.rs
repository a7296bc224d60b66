//! `runnel action list`

use serde_json::json;

use crate::actions::actions;
use crate::completion;
use crate::error::CliError;
use crate::graph::{Graph, is_within};
use crate::output::lines;
use crate::session::Session;

/// List actions
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only this action, and those below it
    #[arg(add = completion::actions())]
    namespace: Option<String>,

    /// Show types
    #[arg(short = 't', long)]
    show_types: bool,

    /// Only say how many there are
    #[arg(short, long, conflicts_with = "show_types")]
    count_actions: bool,
}

pub fn run(args: &Args, session: &Session) -> Result<(), CliError> {
    let context = session.asking()?;
    let mut actions = actions(&Graph::new(&context))?;
    if let Some(namespace) = &args.namespace {
        let namespace = session.resolve(namespace)?;
        actions.retain(|name, _| is_within(name, &namespace));
    }
    if args.count_actions {
        return session.output.answer(|| actions.len().to_string(), || json!(actions.len()));
    }
    let text = || {
        lines(actions.iter().map(|(name, action)| match args.show_types {
            true => format!("{name} [{}]", action.type_name),
            false => name.clone(),
        }))
    };
    session.output.answer(text, || actions.iter().map(|(name, action)| action.json(name)).collect())
}
