//! `runnel action info`

use crate::actions::{Action, action};
use crate::completion;
use crate::error::CliError;
use crate::graph::Graph;
use crate::output::lines;
use crate::session::Session;

/// Show who uses and who provides an action
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The action
    #[arg(add = completion::actions())]
    action: String,

    /// Show the type beside each node
    #[arg(short = 't', long)]
    show_types: bool,

    /// Only say how many there are
    #[arg(short, long)]
    count: bool,
}

pub fn run(args: &Args, session: &Session) -> Result<(), CliError> {
    let name = session.resolve(&args.action)?;
    let context = session.asking()?;
    let action = action(&Graph::new(&context), &name)?;
    session.output.answer(|| text(args, &name, &action), || action.json(&name))
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
