//! `runnel action info`

use crate::actions::{Action, action};
use crate::cli_context::CliContext;
use crate::completion;
use crate::error::CliError;
use crate::graph::Graph;
use crate::output::lines;

/// Show the clients and servers of an action
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The action
    #[arg(add = completion::actions())]
    action: String,

    /// Show the type behind each node
    #[arg(short = 't', long)]
    show_types: bool,

    /// Only print how many there are
    #[arg(short, long)]
    count: bool,
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), CliError> {
    let name = cli.resolve(&args.action)?;
    let context = cli.query_context()?;
    let action = action(&Graph::new(&context), &name)?;
    cli.output.answer(|| text(args, &name, &action), || action.json(&name))
}

fn text(args: &Args, name: &str, action: &Action) -> String {
    let mut text = lines([format!("Action: {name}")]);
    for (word, nodes) in [("clients", &action.clients), ("servers", &action.servers)] {
        text += &format!("Action {word}: {}\n", nodes.len());
        for node in nodes.iter().filter(|_| !args.count) {
            text += &match args.show_types {
                true => lines([format!("    {node} [{}]", action.type_name)]),
                false => lines([format!("    {node}")]),
            };
        }
    }
    text
}
