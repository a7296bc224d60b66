//! `runnel lifecycle list`

use runnel::msgs::lifecycle_msgs::msg::TransitionDescription;
use serde_json::{Value as Json, json};

use super::query::{Query, labelled};
use crate::cli_context::CliContext;
use crate::completion;
use crate::error::CliError;
use crate::output::shown;

/// List the transitions that a node can make now
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The node
    #[arg(add = completion::nodes())]
    node: String,

    /// All transitions, from any state
    #[arg(short, long)]
    all: bool,

    /// Accepted as in ros2; hidden nodes are found by their names
    #[arg(long, hide = true)]
    include_hidden_nodes: bool,

    #[command(flatten)]
    query: Query,
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), CliError> {
    let nodes = args.query.open(cli)?;
    let transitions = nodes.transitions(&nodes.find(cli, &args.node)?, args.all)?;
    cli.output.answer(
        || transitions.iter().map(text).collect(),
        || transitions.iter().map(to_json).collect::<Json>(),
    )
}

fn text(of: &TransitionDescription) -> String {
    let transition = labelled(&of.transition.label, of.transition.id);
    let [transition, start, goal] =
        [&transition, &of.start_state.label, &of.goal_state.label].map(|text| shown(text));
    format!("- {transition}\n\tStart: {start}\n\tGoal: {goal}\n")
}

fn to_json(of: &TransitionDescription) -> Json {
    let state = |id: u8, label: &str| json!({ "id": id, "label": label });
    json!({
        "id": of.transition.id,
        "label": of.transition.label,
        "start": state(of.start_state.id, &of.start_state.label),
        "goal": state(of.goal_state.id, &of.goal_state.label),
    })
}
