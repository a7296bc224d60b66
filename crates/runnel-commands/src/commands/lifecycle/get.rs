//! `runnel lifecycle get`

use runnel::msgs::lifecycle_msgs::msg::State;
use runnel::msgs::lifecycle_msgs::srv::{GetState, GetStateRequest};
use serde_json::{Value as Json, json};

use super::query::{LifecycleNodes, Query, labelled};
use crate::cli_context::CliContext;
use crate::completion;
use crate::error::CliError;
use crate::output::{lines, print_error};

/// Print the state of a node, or of all lifecycle nodes
///
/// Exit code: 1 if a node does not answer.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The node [default: all]
    #[arg(add = completion::nodes())]
    node: Option<String>,

    /// Also hidden nodes, whose names begin with an underscore
    #[arg(long)]
    include_hidden_nodes: bool,

    #[command(flatten)]
    query: Query,
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), CliError> {
    let nodes = args.query.open(cli)?;
    if let Some(typed) = &args.node {
        let State { id, label } = state(&nodes, &nodes.find(cli, typed)?)?;
        return cli.output.answer(|| lines([labelled(&label, id)]), || json!({ "id": id, "label": label }));
    }
    let names = nodes.names(args.include_hidden_nodes);
    let mut states = Vec::new();
    let mut failed = false;
    for name in names {
        match state(&nodes, name) {
            Ok(state) => states.push((name, state)),
            Err(error) => {
                failed = true;
                print_error(&format!("Exception while calling service of node '{name}': {error}"));
            }
        }
    }
    let line = |(name, state): &(&str, State)| format!("{name}: {}", labelled(&state.label, state.id));
    let row = |(name, state): &(&str, State)| json!({ "node": name, "id": state.id, "label": state.label });
    cli.output.answer(|| lines(states.iter().map(line)), || states.iter().map(row).collect::<Json>())?;
    if failed { Err(CliError::Answered) } else { Ok(()) }
}

fn state(nodes: &LifecycleNodes, node: &str) -> Result<State, CliError> {
    Ok(nodes.call::<GetState>(node, "get_state", &GetStateRequest::default())?.current_state)
}
