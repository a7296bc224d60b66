//! `runnel lifecycle nodes`

use serde_json::json;

use super::query::Query;
use crate::cli_context::CliContext;
use crate::error::CliError;
use crate::output::lines;

/// List the lifecycle nodes
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Also hidden nodes, whose names begin with an underscore
    #[arg(short, long)]
    all: bool,

    /// Only print how many there are
    #[arg(short, long)]
    count_nodes: bool,

    #[command(flatten)]
    query: Query,
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), CliError> {
    let nodes = args.query.open(cli)?;
    let names = nodes.names(args.all);
    if args.count_nodes {
        return cli.output.answer(|| names.len().to_string(), || json!(names.len()));
    }
    cli.output.answer(|| lines(&names), || json!(names))
}
