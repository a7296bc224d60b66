//! `runnel node list`

use std::collections::BTreeSet;

use runnel::{NodeInfo, Ros2Graph};
use serde_json::{Value as Json, json};

use crate::cli_context::CliContext;
use crate::completion;
use crate::error::CliError;
use crate::graph::is_within;
use crate::graphs::{Discovery, GraphFilter, GraphSnapshot, graph_names, is_hidden, keys, place};
use crate::output::{self, columns, tabbed};

/// List nodes
///
/// If both ROS 1 and ROS 2 have nodes, each line names the graphs of its node.
///
/// Exit code: 1 if neither a master nor a ROS 2 participant is found.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only this node, and those below it
    #[arg(add = completion::nodes())]
    namespace: Option<String>,

    /// Also show the address of each node, and hidden nodes, whose names begin with an underscore
    #[arg(short, long)]
    all: bool,

    /// Show only the address of each node
    #[arg(short, long, conflicts_with = "all")]
    uri: bool,

    /// Only print how many there are
    #[arg(short, long, conflicts_with_all = ["all", "uri"])]
    count_nodes: bool,

    #[command(flatten)]
    filter: GraphFilter,

    #[command(flatten)]
    discovery: Discovery,
}

/// Number of ambiguous names in a note.
const NAMED: usize = 6;

/// A node in one or both graphs.
#[derive(Debug, PartialEq, Eq)]
struct Listed {
    name: String,
    ros1: bool,
    /// Its participants. Several are a fault: they have nodes of the same name.
    ros2: Vec<String>,
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), CliError> {
    let namespace = args.namespace.as_ref().map(|name| cli.resolve(name)).transpose()?;
    let snapshot = GraphSnapshot::open(cli, args.filter, &args.discovery)?;
    let state = snapshot.ros1().map(|graph| graph.system_state()).transpose()?.unwrap_or_default();
    let none = Ros2Graph::default();
    let mut nodes = listed(&state.nodes(), snapshot.ros2.as_ref().unwrap_or(&none), args.all);
    nodes.retain(|node| namespace.as_ref().is_none_or(|outer| is_within(&node.name, outer)));
    if let Some(note) = duplicates_note(&nodes) {
        cli.output.note(&note);
    }
    let count = nodes.iter().map(Listed::count).sum::<usize>();
    if args.count_nodes {
        cli.output.answer(|| count.to_string(), || json!(count))?;
    } else if args.all || args.uri {
        list_places(args, cli, &snapshot, &nodes)?;
    } else {
        cli.output.answer(|| text(&nodes), || nodes.iter().map(|node| node.name.as_str()).collect())?;
    }
    snapshot.presence.check()
}

/// Lists nodes with their addresses.
fn list_places(
    args: &Args,
    cli: &CliContext,
    snapshot: &GraphSnapshot,
    nodes: &[Listed],
) -> Result<(), CliError> {
    let uri = |node: &Listed| match snapshot.ros1() {
        Some(graph) if node.ros1 => graph.node_uri(&node.name),
        _ => Ok(None),
    };
    let uris = nodes.iter().map(uri).collect::<Result<Vec<_>, CliError>>()?;
    let placed = || nodes.iter().zip(uris.iter().map(Option::as_deref));
    cli.output.answer(
        || placed().flat_map(|(node, uri)| node.places(uri, args.uri)).collect::<Vec<_>>().join("\n"),
        || placed().map(|(node, uri)| node.placed_json(uri)).collect(),
    )
}

/// The nodes of both graphs, in order.
fn listed(ros1: &BTreeSet<&str>, ros2: &Ros2Graph, hidden: bool) -> Vec<Listed> {
    let is_shown = |name: &str| hidden || !is_hidden(name);
    let ros2_nodes: Vec<&NodeInfo> = ros2.nodes.iter().filter(|node| is_shown(&node.full_name)).collect();
    let ros1_nodes = ros1.iter().copied().filter(|name| is_shown(name));
    let names: BTreeSet<&str> =
        ros1_nodes.chain(ros2_nodes.iter().map(|node| node.full_name.as_str())).collect();
    let node = |name: &str| {
        let here = ros2_nodes.iter().filter(|node| node.full_name == name);
        let places = here.map(|node| ros2.participant(node.participant).map(place).unwrap_or_default());
        Listed { name: name.to_owned(), ros1: ros1.contains(name), ros2: places.collect() }
    };
    names.into_iter().map(node).collect()
}

/// A note, if several ROS 2 nodes have one name.
fn duplicates_note(nodes: &[Listed]) -> Option<String> {
    let duplicates: Vec<String> =
        nodes.iter().filter(|node| node.ros2.len() > 1).map(|node| node.name.clone()).collect();
    let named = output::listed(&duplicates, NAMED);
    (!duplicates.is_empty())
        .then(|| format!("several ROS 2 nodes have the name {named}, which confuses tools and parameters"))
}

fn text(nodes: &[Listed]) -> String {
    let both = nodes.iter().any(|node| node.ros1) && nodes.iter().any(|node| !node.ros2.is_empty());
    let row = |node: &Listed| {
        let graphs = if both { graph_names(node.ros1, !node.ros2.is_empty()) } else { "" };
        vec![[node.name.clone(), graphs.to_owned()]; node.count()]
    };
    columns(nodes.iter().flat_map(row))
}

impl Listed {
    /// The number of nodes with the name. A dual node counts once.
    fn count(&self) -> usize {
        self.ros2.len().max(1)
    }

    fn graphs(&self) -> Vec<&'static str> {
        keys(self.ros1, !self.ros2.is_empty())
    }

    /// A line for each address: the one that the master knows, and those of the participants.
    fn places(&self, uri: Option<&str>, addresses_only: bool) -> Vec<String> {
        let ros1 = self.ros1.then(|| uri.unwrap_or("unknown address"));
        let places = ros1.into_iter().chain(self.ros2.iter().map(String::as_str));
        places
            .map(
                |place| {
                    if addresses_only { tabbed([place]) } else { tabbed([&format!("{place} "), &self.name]) }
                },
            )
            .collect()
    }

    fn placed_json(&self, uri: Option<&str>) -> Json {
        json!({ "node": self.name, "uri": uri, "participants": self.ros2, "graphs": self.graphs() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graphs::tests::{graph, participant};

    fn ros2(names: &[&str]) -> Ros2Graph {
        let mut graph = graph(&[]);
        graph.participants = vec![participant(1)];
        let node = |name: &&str| NodeInfo { full_name: (*name).into(), participant: participant(1).gid };
        graph.nodes = names.iter().map(node).collect();
        graph
    }

    #[test]
    fn dual_node_is_listed_once() {
        let nodes = listed(
            &["/dual", "/old", "/_runnel_echo_1"].into(),
            &ros2(&["/dual", "/_hidden", "/new"]),
            false,
        );
        assert_eq!(text(&nodes), "/dual  ROS 1, ROS 2\n/new   ROS 2\n/old   ROS 1\n");
        let nodes = listed(&BTreeSet::new(), &ros2(&["/new", "/_hidden"]), true);
        assert_eq!(text(&nodes), "/_hidden\n/new\n");
    }

    #[test]
    fn node_is_listed_with_all_its_addresses() {
        let nodes = listed(&["/dual", "/old"].into(), &ros2(&["/dual"]), false);
        let uri = Some("http://robot:1/");
        assert_eq!(nodes[0].places(uri, true), ["http://robot:1/", "Fast DDS at 10.0.0.1:7410"]);
        assert_eq!(nodes[1].places(None, false), ["unknown address \t/old"]);
        assert_eq!(
            (nodes[0].placed_json(uri)["uri"].as_str(), &nodes[1].placed_json(None)["uri"]),
            (uri, &Json::Null)
        );
    }

    #[test]
    fn nodes_of_one_name_are_all_listed() {
        let nodes = listed(&BTreeSet::new(), &ros2(&["/twin", "/twin"]), false);
        assert_eq!((text(&nodes).as_str(), nodes[0].ros2.len()), ("/twin\n/twin\n", 2));
        assert_eq!(nodes[0].ros2[0], "Fast DDS at 10.0.0.1:7410");
        let note = duplicates_note(&nodes).expect("there are two");
        assert!(note.contains("have the name /twin,"), "{note}");
        assert_eq!(duplicates_note(&listed(&BTreeSet::new(), &ros2(&["/one", "/two"]), false)), None);
    }
}
