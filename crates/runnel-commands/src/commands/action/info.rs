//! `runnel action info`

use crate::actions::{Action, Actions};
use crate::cli_context::CliContext;
use crate::completion;
use crate::error::CliError;
use crate::graphs::Query;
use crate::output::lines;

/// Show the clients and servers of an action
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The action
    #[arg(add = completion::actions())]
    action: String,

    /// Show the type after each node
    #[arg(short = 't', long)]
    show_types: bool,

    /// Only print how many there are
    #[arg(short, long)]
    count: bool,

    #[command(flatten)]
    query: Query,
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), CliError> {
    let name = cli.resolve(&args.action)?;
    let action = Actions::one(&args.query.open(cli)?, &name)?;
    let side = |side: &Action| text(args, &name, side);
    let text = || match (&action.ros1, &action.ros2) {
        (Some(ros1), Some(ros2)) => format!("ROS 1\n{}\nROS 2\n{}", side(ros1), side(ros2)),
        (ros1, ros2) => ros1.iter().chain(ros2).map(side).collect(),
    };
    cli.output.answer(text, || action.json(&name))
}

fn text(args: &Args, name: &str, action: &Action) -> String {
    let types: Vec<&str> = action.types.iter().map(String::as_str).collect();
    let types = types.join(", ");
    let mut text = lines([format!("Action: {name}")]);
    for (word, nodes) in [("clients", &action.clients), ("servers", &action.servers)] {
        text += &format!("Action {word}: {}\n", nodes.len());
        for node in nodes.iter().filter(|_| !args.count) {
            text += &match args.show_types {
                true => lines([format!("    {node} [{types}]")]),
                false => lines([format!("    {node}")]),
            };
        }
    }
    text
}
