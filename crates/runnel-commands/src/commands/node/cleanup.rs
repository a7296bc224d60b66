//! `runnel node cleanup`

use std::io::{self, BufRead, IsTerminal};

use serde_json::json;

use super::ping::silent_nodes;
use crate::cli_context::CliContext;
use crate::error::CliError;
use crate::graph::Graph;
use crate::nodes::unregister;
use crate::output::{print_error, shown};

/// Unregister nodes that do not answer
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Do not ask for confirmation
    #[arg(short, long)]
    yes: bool,
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), CliError> {
    let context = cli.query_context()?;
    let silent = silent_nodes(&context, |graph, _, uri| graph.pid(uri).map(drop))?;
    if silent.is_empty() {
        return cli.output.answer(|| "All nodes answer.".to_owned(), || json!([]));
    }
    if !args.yes && !confirmed(&silent)? {
        return Err(CliError::Failed("nothing was unregistered".into()));
    }
    let graph = Graph::new(&context);
    for (node, _) in &silent {
        unregister(&graph, node)?;
    }
    let names: Vec<&str> = silent.iter().map(|(node, _)| node.as_str()).collect();
    cli.output.answer(|| shown(&format!("unregistered {}", names.join(", "))).into_owned(), || json!(names))
}

/// Asks the user for confirmation on the terminal.
fn confirmed(silent: &[(String, String)]) -> Result<bool, CliError> {
    if !io::stdin().is_terminal() {
        return Err(CliError::Usage(
            "standard input is no terminal to ask for confirmation. Try: --yes".into(),
        ));
    }
    silent.iter().for_each(|(node, why)| print_error(&shown(&format!(" * {node}: {why}"))));
    print_error("Some may only be slow, or behind a bad network. Unregister all of them? [y/N]");
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
