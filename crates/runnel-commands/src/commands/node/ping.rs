//! `runnel node ping`

use std::time::Duration;

use runnel::{Context, Rate};
use runnel_io::clock;
use serde_json::json;

use super::unknown_to_master;
use crate::cli_context::CliContext;
use crate::completion;
use crate::error::CliError;
use crate::graph::{Graph, NODE_DEADLINE};
use crate::nodes::{milliseconds, ping_reply};
use crate::output::Output;

/// Check whether nodes answer
///
/// Pings a node once a second until Ctrl-C, or all nodes once. Exit code: 1 if a node does not answer.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The node
    #[arg(required_unless_present = "all", add = completion::ros1_nodes())]
    node: Option<String>,

    /// Stop after this many pings
    #[arg(short, long, value_parser = clap::value_parser!(u64).range(1..), conflicts_with = "all")]
    count: Option<u64>,

    /// Ping every node once
    #[arg(short, long, conflicts_with = "node")]
    all: bool,
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), CliError> {
    match &args.node {
        Some(node) => ping_one(&cli.resolve(node)?, args.count, cli),
        None => ping_all(cli),
    }
}

fn ping_one(node: &str, count: Option<u64>, cli: &CliContext) -> Result<(), CliError> {
    let context = cli.running_context()?;
    let graph = Graph::new(&context);
    let uri = graph.node_uri(node)?.ok_or_else(|| unknown_to_master(node))?;
    announce(node, cli.output)?;
    let mut times = Vec::new();
    let mut rate = Rate::new(&context, 1.0)?;
    while context.ok() {
        times.push(ping(&graph, node, &uri, cli.output)?);
        if count.is_some_and(|count| times.len() as u64 >= count) {
            break;
        }
        rate.sleep()?;
    }
    report_mean(&times, cli.output)
}

fn announce(node: &str, output: Output) -> Result<(), CliError> {
    if output.json {
        return Ok(());
    }
    output.line(&format!("pinging {node} with a timeout of {:.1}s", NODE_DEADLINE.as_secs_f64()))
}

fn report_mean(times: &[Duration], output: Output) -> Result<(), CliError> {
    if output.json || times.len() < 2 {
        return Ok(());
    }
    let total: Duration = times.iter().sum();
    output.line(&format!("ping average: {:.6}ms", milliseconds(total) / times.len() as f64))
}

/// Asks a node for its process id. Returns how long that took.
fn ping(graph: &Graph<'_>, node: &str, uri: &str, output: Output) -> Result<Duration, CliError> {
    let start = clock::monotonic();
    let answer = graph.pid(uri);
    let took = clock::monotonic().since(start);
    let time = milliseconds(took);
    match answer {
        Ok(_) if output.json => output.json(&json!({ "node": node, "uri": uri, "milliseconds": time }))?,
        Ok(_) => output.paragraph(&ping_reply(uri, time))?,
        Err(error) => return Err(CliError::Failed(format!("node {node} does not answer at {error}"))),
    }
    Ok(took)
}

fn ping_all(cli: &CliContext) -> Result<(), CliError> {
    let context = cli.query_context()?;
    let failed = silent_nodes(&context, |graph, node, uri| {
        announce(node, cli.output)?;
        ping(graph, node, uri, cli.output).map(drop)
    })?;
    match failed.len() {
        0 => Ok(()),
        count => {
            failed.iter().for_each(|(_, why)| cli.output.note(why));
            Err(CliError::Failed(format!("nodes that do not answer: {count} (see 'runnel node cleanup')")))
        }
    }
}

/// The nodes that do not answer, each with the reason. Stops if the output is closed.
pub fn silent_nodes(
    context: &Context,
    ping: impl Fn(&Graph<'_>, &str, &str) -> Result<(), CliError>,
) -> Result<Vec<(String, String)>, CliError> {
    let graph = Graph::new(context);
    let mut silent = Vec::new();
    for node in graph.system_state()?.nodes() {
        let answer = match graph.node_uri(node)? {
            Some(uri) => ping(&graph, node, &uri),
            None => Err(CliError::Failed(format!("node {node}: the master has no address of it"))),
        };
        match answer {
            Ok(()) => {}
            Err(CliError::ClosedPipe) => return Err(CliError::ClosedPipe),
            Err(error) => silent.push((node.to_owned(), error.to_string())),
        }
    }
    Ok(silent)
}
