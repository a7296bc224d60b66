//! `runnel bridge`

mod action_relay;
mod actions;
mod attempts;
mod calls;
mod carrier;
mod forward;
mod goals;
mod graphs;
mod manager;
mod parameter_state;
mod parameters;
mod report;
mod resources;
mod selection;
mod server_table;
mod servers;
mod service_probes;
mod service_relay;
mod services;
mod status;
mod topics;

pub use report::is_report_topic;

use std::path::PathBuf;
use std::time::Duration;

use runnel_bridge::{Patterns, Rules};

use crate::bridge_rules;
use crate::cli_context::CliContext;
use crate::completion;
use crate::error::CliError;
use crate::graphs::Discovery;
use selection::{Selection, Unsubscribed};

/// Join nodes that are only in ROS 1 with nodes that are only in ROS 2
///
/// Carries each topic that has a publisher in one graph and a subscriber in the other, and each service and action that
/// has a server in one graph only, with nothing generated and nothing configured. Nodes that are in both graphs are left
/// alone, and so are other bridges.
///
/// A topic without a subscriber waits, and the other graph's tools do not list it: see --status and
/// --bridge-all-topics.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Carry only these topics; * stands for any part of a name. With --topics, --services or --actions, nothing else is
    /// carried
    #[arg(long, value_name = "TOPIC", num_args = 1.., add = completion::topics())]
    topics: Vec<String>,

    /// Carry only these services; * stands for any part of a name
    #[arg(long, value_name = "SERVICE", num_args = 1.., add = completion::services())]
    services: Vec<String>,

    /// Carry only these actions; * stands for any part of a name
    #[arg(long, value_name = "ACTION", num_args = 1.., add = completion::actions())]
    actions: Vec<String>,

    /// Also keep the parameters of these ROS 2 nodes at the ROS 1 master, below the names of the nodes. Changes in either
    /// graph are made in the other
    #[arg(long, value_name = "NODE", num_args = 1.., add = completion::nodes())]
    parameters: Vec<String>,

    /// Also carry topics without a subscriber in the other graph, so that its tools list them
    #[arg(long)]
    bridge_all_topics: bool,

    /// The same only from ROS 1 to ROS 2
    #[arg(long = "bridge-all-1to2-topics")]
    bridge_all_1to2_topics: bool,

    /// The same only from ROS 2 to ROS 1
    #[arg(long = "bridge-all-2to1-topics")]
    bridge_all_2to1_topics: bool,

    /// Also use the rules of this file for packages, messages and fields with other names, as ros1_bridge reads it
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    rules: Vec<PathBuf>,

    /// Queue up to this many messages for each subscriber
    #[arg(long, value_name = "MESSAGES", default_value_t = 1000, value_parser = depth)]
    depth: usize,

    /// Show what running bridges carry, and what they cannot carry and why
    #[arg(long, conflicts_with_all = ["topics", "services", "actions", "parameters", "rules", "depth", "bridge_all_topics", "bridge_all_1to2_topics", "bridge_all_2to1_topics"])]
    status: bool,

    /// With --status: listen for bridges for at least this long [default: 1]
    #[arg(long, value_name = "SECONDS", value_parser = crate::value_parsers::seconds, requires = "status")]
    wait: Option<Duration>,
}

/// Largest queue that can be requested.
const MOST_DEPTH: usize = 1_000_000;

fn depth(text: &str) -> Result<usize, String> {
    let depth = text.parse().ok().filter(|depth| (1..=MOST_DEPTH).contains(depth));
    depth.ok_or_else(|| format!("expected a number from 1 to {MOST_DEPTH}"))
}

/// What to carry, and how.
struct Options {
    selection: Selection,
    /// Nodes of ROS 2 whose parameters are carried.
    parameters: Vec<String>,
    rules: Rules,
    depth: usize,
    unsubscribed: Unsubscribed,
}

pub fn run(args: Args, cli: &CliContext) -> Result<(), CliError> {
    if args.status {
        let wait = args.wait.unwrap_or(Duration::from_secs(1));
        return status::run(cli, &Discovery::at_least(Some(wait)));
    }
    manager::run(cli, &options(args, cli)?)
}

fn options(args: Args, cli: &CliContext) -> Result<Options, CliError> {
    let resolve = |topic: &String| match topic.contains('*') {
        true => Ok(cli.absolute(topic)),
        false => cli.resolve(topic),
    };
    let patterns = |names: &[String]| {
        let resolved = names.iter().map(resolve).collect::<Result<Vec<_>, _>>()?;
        Ok::<_, CliError>((!resolved.is_empty()).then(|| Patterns::new(resolved)))
    };
    let selection = Selection {
        topics: patterns(&args.topics)?,
        services: patterns(&args.services)?,
        actions: patterns(&args.actions)?,
    };
    let rules = bridge_rules::read(&args.rules)?;
    let parameters = args.parameters.iter().map(|node| cli.resolve(node)).collect::<Result<_, _>>()?;
    let all = args.bridge_all_topics;
    let unsubscribed = Unsubscribed {
        to_ros2: all || args.bridge_all_1to2_topics,
        to_ros1: all || args.bridge_all_2to1_topics,
    };
    Ok(Options { selection, parameters, rules, depth: args.depth, unsubscribed })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queue_length_is_checked() {
        assert_eq!((depth("1"), depth("1000000")), (Ok(1), Ok(1_000_000)));
        for text in ["0", "1000001", "x", ""] {
            assert!(depth(text).is_err(), "{text}");
        }
    }
}
