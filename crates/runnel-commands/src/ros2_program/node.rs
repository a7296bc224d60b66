//! `ros2 node`

use clap::Subcommand;

use super::Failure;
use super::discovery::DiscoveryArgs;
use crate::cli_context::CliContext;
use crate::commands::node::Ros2Info;
use crate::completion;
use crate::graphs::visible_nodes;
use crate::output::lines;
use crate::similar::meant;

/// Inspect nodes
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    List(ListArgs),
    Info(InfoArgs),
}

/// List nodes
#[derive(Debug, clap::Args)]
struct ListArgs {
    /// Also list hidden nodes, whose names begin with an underscore
    #[arg(short, long)]
    all: bool,

    /// Only print how many there are
    #[arg(short, long)]
    count_nodes: bool,

    #[command(flatten)]
    discovery: DiscoveryArgs,
}

/// Show what a node publishes, subscribes to, serves and calls
#[derive(Debug, clap::Args)]
struct InfoArgs {
    /// The node
    #[arg(add = completion::nodes())]
    node: String,

    /// Also show hidden topics, services and actions
    #[arg(long)]
    include_hidden: bool,

    #[command(flatten)]
    discovery: DiscoveryArgs,
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), Failure> {
    match &args.command {
        Command::List(args) => list(args, cli),
        Command::Info(args) => info(args, cli),
    }
}

fn list(args: &ListArgs, cli: &CliContext) -> Result<(), Failure> {
    let graph = args.discovery.open(cli)?.ros2.unwrap_or_default();
    let names = graph.nodes.iter().map(|node| node.full_name.as_str());
    let mut names: Vec<&str> = names.filter(|name| args.all || !is_hidden_node(name)).collect();
    names.sort_unstable();
    if args.count_nodes {
        return Ok(cli.output.line(&names.len().to_string())?);
    }
    if names.windows(2).any(|pair| pair[0] == pair[1]) {
        cli.output.note("WARNING: several nodes have one name, which confuses tools and parameters");
    }
    Ok(cli.output.text(&lines(&names))?)
}

fn info(args: &InfoArgs, cli: &CliContext) -> Result<(), Failure> {
    let graph = args.discovery.open(cli)?.ros2.unwrap_or_default();
    let node = cli.absolute(&args.node);
    let count = graph.nodes.iter().filter(|known| known.full_name == node).count();
    if count > 1 {
        cli.output.note(&format!("{count} nodes have the name {node}; their data are joined below"));
    }
    let is_shown = args.include_hidden || !is_hidden_node(&node);
    let info = Ros2Info::of(&graph, &node, args.include_hidden).filter(|_| is_shown);
    let unknown = || {
        let meant = meant(&node, visible_nodes(&graph));
        Failure::failed(format!("Unable to find node '{}'{meant}", args.node))
    };
    let info = info.ok_or_else(unknown)?;
    Ok(cli.output.text(&info.original_text(&node))?)
}

/// True if the name within its namespace begins with an underscore.
fn is_hidden_node(full_name: &str) -> bool {
    full_name.rsplit('/').next().is_some_and(|name| name.starts_with('_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_name_itself_hides_a_node() {
        assert!(is_hidden_node("/_ros2cli_1") && is_hidden_node("/a/_b"));
        assert!(!is_hidden_node("/_a/b") && !is_hidden_node("/talker"));
    }
}
