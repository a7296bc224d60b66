//! `runnel node kill`

use serde_json::json;

use super::unknown_to_master;
use crate::cli_context::CliContext;
use crate::completion;
use crate::error::CliError;
use crate::graph::Graph;
use crate::output::shown;

/// Shut down nodes
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The nodes
    #[arg(value_name = "NODE", required_unless_present = "all", add = completion::ros1_nodes())]
    nodes: Vec<String>,

    /// All nodes
    #[arg(short, long, conflicts_with = "nodes")]
    all: bool,
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), CliError> {
    let context = cli.query_context()?;
    let graph = Graph::new(&context);
    let nodes = match args.all {
        true => graph.system_state()?.nodes().into_iter().map(str::to_owned).collect(),
        false => args.nodes.iter().map(|name| cli.resolve(name)).collect::<Result<Vec<_>, CliError>>()?,
    };
    // All names are resolved first, so that a typing error shuts down nothing.
    let uris = nodes.iter().map(|node| graph.node_uri(node)?.ok_or_else(|| unknown_to_master(node)));
    let uris = uris.collect::<Result<Vec<String>, CliError>>()?;
    let mut refused = Vec::new();
    for (node, uri) in nodes.iter().zip(&uris) {
        match graph.shut_down(uri, "user request") {
            Ok(()) => {
                cli.output.answer(|| format!("killed {}", shown(node)), || json!({ "killed": node }))?
            }
            Err(error) => refused.push(format!("{node} ({error})")),
        }
    }
    match refused.as_slice() {
        [] => Ok(()),
        refused => Err(CliError::Failed(format!("could not be shut down: {}", refused.join(", ")))),
    }
}
