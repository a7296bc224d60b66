//! `runnel action list`

use serde_json::json;

use crate::actions::actions;
use crate::cli_context::CliContext;
use crate::completion;
use crate::error::CliError;
use crate::graph::{Graph, is_within};
use crate::output::lines;

/// List actions
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only this action, and those below it
    #[arg(add = completion::actions())]
    namespace: Option<String>,

    /// Show types
    #[arg(short = 't', long)]
    show_types: bool,

    /// Only print how many there are
    #[arg(short, long, conflicts_with = "show_types")]
    count_actions: bool,
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), CliError> {
    let context = cli.query_context()?;
    let mut actions = actions(&Graph::new(&context))?;
    if let Some(namespace) = &args.namespace {
        let namespace = cli.resolve(namespace)?;
        actions.retain(|name, _| is_within(name, &namespace));
    }
    if args.count_actions {
        return cli.output.answer(|| actions.len().to_string(), || json!(actions.len()));
    }
    let text = || {
        lines(actions.iter().map(|(name, action)| match args.show_types {
            true => format!("{name} [{}]", action.type_name),
            false => name.clone(),
        }))
    };
    cli.output.answer(text, || actions.iter().map(|(name, action)| action.json(name)).collect())
}
