//! Completions of parameters, and of the nodes that have them.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::time::Duration;

use clap_complete::engine::{ArgValueCompleter, PathCompleter, ValueCompleter};
use runnel::core::names;
use runnel::{Context, Graphs, NodeOptions};

use super::{GraphData, QUERY_TIMEOUT, before_cursor, candidates, context_options, is_only_in, line};
use crate::graph::Graph;
use crate::graphs::visible_nodes;

/// How long a node may take to appear, and then to answer.
const NODE_TIMEOUT: Duration = Duration::from_secs(1);

/// Completes names of parameters at the ROS 1 master.
pub fn ros1_parameters() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| candidates(current, at_master(&line())))
}

/// Completes ROS 2 nodes, and names of parameters at the ROS 1 master.
pub fn nodes_and_parameters() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| candidates(current, owners(&line())))
}

/// Completes ROS 2 nodes, and files if the line is also about ROS 1.
pub fn nodes_or_files() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        let line = line();
        let mut offers = candidates(current, nodes(&line));
        if !is_only_in(&line, Graphs::Ros2) {
            offers.extend(PathCompleter::file().complete(current));
        }
        offers
    })
}

/// Completes files, and names of parameters at the ROS 1 master.
pub fn parameters_or_files() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        let mut offers = candidates(current, at_master(&line()));
        offers.extend(PathCompleter::file().complete(current));
        offers
    })
}

/// Completes the parameters of the ROS 2 node that stands before.
pub fn parameters_of_node() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| candidates(current, of_typed_node(&line())))
}

/// The same, and the node itself if none stands before.
pub fn node_and_its_parameters() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| {
        let line = line();
        let is_first = typed_before(&line).next().is_none();
        let names = if is_first { owners(&line) } else { of_typed_node(&line) };
        candidates(current, names)
    })
}

fn owners(line: &[String]) -> BTreeSet<String> {
    nodes(line).into_iter().chain(at_master(line)).collect()
}

fn nodes(line: &[String]) -> BTreeSet<String> {
    let data = if is_only_in(line, Graphs::Ros1) { None } else { GraphData::of(line) };
    data.map(|data| visible_nodes(&data.ros2).map(str::to_owned).collect()).unwrap_or_default()
}

fn at_master(line: &[String]) -> BTreeSet<String> {
    if is_only_in(line, Graphs::Ros2) {
        return BTreeSet::new();
    }
    let Ok(context) = Context::with_options(context_options()) else { return BTreeSet::new() };
    let names = Graph::within(&context, QUERY_TIMEOUT).param_names();
    names.unwrap_or_default().into_iter().collect()
}

/// Words between a command for parameters and the cursor that are no options.
fn typed_before(line: &[String]) -> impl Iterator<Item = &str> {
    let typed = before_cursor(line)
        .iter()
        .skip_while(|word| *word != "--")
        .skip_while(|word| *word != "param")
        .skip(2);
    typed.map(String::as_str).filter(|word| !word.is_empty() && !word.starts_with('-'))
}

fn of_typed_node(line: &[String]) -> BTreeSet<String> {
    let node = typed_before(line).next().map(|word| names::join("/", word));
    node.and_then(|node| parameters_of(&node)).unwrap_or_default()
}

/// The parameters of a node; `None` if it does not answer in time.
fn parameters_of(node: &str) -> Option<BTreeSet<String>> {
    let context = Context::with_options(context_options().graphs(Graphs::Ros2)).ok()?;
    let options =
        NodeOptions::default().start_parameter_services(false).start_parameter_event_publisher(false);
    let name = names::anonymous("_runnel_completion", &std::process::id().to_string());
    let asker = context.create_node_with_options(&name, options).ok()?;
    let client = asker.create_parameter_client(node).ok()?.timeout(NODE_TIMEOUT);
    client.wait_for_services(NODE_TIMEOUT).ok().filter(|answers| *answers)?;
    Some(client.list_parameters(&[], 0).ok()?.names.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn node_stands_before_its_parameter() {
        let typed = |line: &str| {
            let line: Vec<String> = line.split(' ').map(str::to_owned).collect();
            typed_before(&line).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(typed("/bin/runnel -- ros2 param get /arm "), "/arm");
        assert_eq!(typed("/bin/runnel -- ros2 param set --no-daemon /arm r"), "/arm");
        assert_eq!(typed("/bin/runnel -- ros2 param get /a"), "");
        assert_eq!(typed("/bin/runnel -- ros2 topic echo /a "), "");
    }
}
