//! `runnel node list`

use serde_json::{Value as Json, json};

use crate::completion;
use crate::error::CliError;
use crate::graph::{Graph, is_within};
use crate::output::lines;
use crate::session::Session;

/// List nodes
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only this node, and those below it
    #[arg(add = completion::nodes())]
    namespace: Option<String>,

    /// Show where each answers too
    #[arg(short, long)]
    all: bool,

    /// Show only where each answers
    #[arg(short, long, conflicts_with = "all")]
    uri: bool,

    /// Only say how many there are
    #[arg(short, long, conflicts_with_all = ["all", "uri"])]
    count_nodes: bool,
}

pub fn run(args: &Args, session: &Session) -> Result<(), CliError> {
    let context = session.asking()?;
    let graph = Graph::new(&context);
    let namespace = args.namespace.as_ref().map(|name| session.resolve(name)).transpose()?;
    let state = graph.system_state()?;
    let nodes = state
        .nodes()
        .into_iter()
        .filter(|node| namespace.as_ref().is_none_or(|outer| is_within(node, outer)));
    let nodes: Vec<&str> = nodes.collect();
    if args.count_nodes {
        return session.output.answer(|| nodes.len().to_string(), || json!(nodes.len()));
    }
    if !(args.all || args.uri) {
        return session.output.answer(|| lines(&nodes), || json!(nodes));
    }
    let uris = nodes.iter().map(|node| graph.node_uri(node)).collect::<Result<Vec<_>, CliError>>()?;
    let line = |(node, uri): (&&str, &Option<String>)| {
        let uri = uri.as_deref().unwrap_or("unknown address");
        if args.uri { uri.to_owned() } else { format!("{uri} \t{node}") }
    };
    let both = || nodes.iter().zip(&uris);
    session.output.answer(
        || lines(both().map(line)),
        || both().map(|(node, uri)| json!({ "node": node, "uri": uri })).collect::<Json>(),
    )
}
