//! `runnel action list`

use serde_json::json;

use crate::actions::{ActionSides, Actions};
use crate::cli_context::CliContext;
use crate::completion;
use crate::error::CliError;
use crate::graph::is_within;
use crate::graphs::{Query, graph_names, keys};
use crate::output::columns;

/// List actions
///
/// If both ROS 1 and ROS 2 have actions, each line names the graphs of its action.
///
/// Exit code: 1 if neither a master nor a ROS 2 participant is found.
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

    #[command(flatten)]
    query: Query,
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), CliError> {
    let namespace = args.namespace.as_ref().map(|name| cli.resolve(name)).transpose()?;
    let snapshot = args.query.open(cli)?;
    let mut actions = Actions::of(&snapshot)?;
    actions.0.retain(|name, _| namespace.as_ref().is_none_or(|outer| is_within(name, outer)));
    if args.count_actions {
        cli.output.answer(|| actions.0.len().to_string(), || json!(actions.0.len()))?;
        return snapshot.presence.check();
    }
    let both = actions.are_in_both();
    let row = |(name, action): (&String, &ActionSides)| {
        let types = || action.types().join(", ");
        let text = if args.show_types { format!("{name} [{}]", types()) } else { name.clone() };
        let graphs = graph_names(action.ros1.is_some(), action.ros2.is_some());
        [text, if both { graphs.to_owned() } else { String::new() }]
    };
    let json = |(name, action): (&String, &ActionSides)| {
        let mut json = action.json(name);
        json["graphs"] = json!(keys(action.ros1.is_some(), action.ros2.is_some()));
        json
    };
    cli.output.answer(|| columns(actions.0.iter().map(row)), || actions.0.iter().map(json).collect())?;
    snapshot.presence.check()
}
