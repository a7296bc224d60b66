//! `runnel node info`

use std::collections::BTreeMap;

use runnel_ros1::rpc::Uri;
use serde_json::{Value as Json, json};

use super::ros2::Ros2Info;
use super::unknown;
use crate::cli_context::CliContext;
use crate::completion;
use crate::error::CliError;
use crate::graph::{Connection, Graph, SystemState, names_of};
use crate::graphs::{Discovery, GraphFilter, GraphSnapshot, visible_nodes};
use crate::nodes::{connection_text, direction};
use crate::output::{lines, shown};

/// Show what nodes publish, subscribe to and serve, and their connections
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The nodes
    #[arg(value_name = "NODE", required = true, add = completion::nodes())]
    nodes: Vec<String>,

    /// In ROS 1, show only the master's data, without asking the nodes
    #[arg(short, long)]
    quiet: bool,

    /// Also show hidden topics, services and actions of ROS 2, whose names begin with an underscore
    #[arg(long)]
    include_hidden: bool,

    #[command(flatten)]
    filter: GraphFilter,

    #[command(flatten)]
    discovery: Discovery,
}

/// Data about a node.
struct Info {
    node: String,
    uri: Option<String>,
    publications: Vec<(String, Option<String>)>,
    subscriptions: Vec<(String, Option<String>)>,
    services: Vec<String>,
    /// The node's own answer, if it was asked.
    own: Option<Result<Own, CliError>>,
}

/// A node's own answer.
struct Own {
    pid: i32,
    connections: Vec<Connection>,
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), CliError> {
    let nodes = args.nodes.iter().map(|name| cli.resolve(name)).collect::<Result<Vec<_>, CliError>>()?;
    let snapshot = GraphSnapshot::open(cli, args.filter, &args.discovery)?;
    nodes.iter().try_for_each(|node| show(args, cli, &snapshot, node))
}

fn show(args: &Args, cli: &CliContext, snapshot: &GraphSnapshot, node: &str) -> Result<(), CliError> {
    let ros1 = snapshot.ros1().map(|graph| Found::of(&graph, node, args.quiet)).transpose()?.flatten();
    let ros2 = snapshot.ros2.as_ref().and_then(|graph| Ros2Info::of(graph, node, args.include_hidden));
    if ros1.is_none() && ros2.is_none() {
        let state = snapshot.ros1().map(|graph| graph.system_state()).transpose()?.unwrap_or_default();
        let ros2 = snapshot.ros2.iter().flat_map(visible_nodes);
        return Err(unknown(node, state.nodes().into_iter().chain(ros2)));
    }
    let text = || {
        let ros1 = ros1.as_ref().map(|Found { info, peers }| info.text(peers));
        let ros2 = ros2.as_ref().map(|info| info.text(node));
        match (ros1, ros2) {
            (Some(ros1), Some(ros2)) => format!("ROS 1\n{ros1}\nROS 2\n{ros2}"),
            (ros1, ros2) => ros1.or(ros2).unwrap_or_default(),
        }
    };
    let json = || {
        let ros1 = ros1.as_ref().map(|Found { info, peers }| info.json(peers));
        let mut json = ros1.unwrap_or_else(|| json!({ "node": node }));
        if let Some(info) = &ros2 {
            json["ros2"] = info.to_json();
        }
        json
    };
    cli.output.answer(text, json)?;
    match ros1.and_then(|found| found.info.own) {
        Some(Err(error)) => Err(CliError::Failed(format!("node {node} does not answer: {error}"))),
        _ => Ok(()),
    }
}

/// A node that the master knows, and the names of its peers by address.
struct Found {
    info: Info,
    peers: BTreeMap<String, String>,
}

impl Found {
    /// `None` if the master does not know the node.
    fn of(graph: &Graph<'_>, node: &str, quiet: bool) -> Result<Option<Self>, CliError> {
        let state = graph.system_state()?;
        let uri = graph.node_uri(node)?;
        if uri.is_none() && !state.nodes().contains(node) {
            return Ok(None);
        }
        let mut info = Info::known(&state, &graph.topic_types()?, node.to_owned(), uri);
        if let Some(uri) = info.uri.as_deref().filter(|_| !quiet) {
            let own = graph.pid(uri).and_then(|pid| Ok(Own { pid, connections: graph.connections(uri)? }));
            info.own = Some(own);
        }
        let peers = info.peers(graph, &state)?;
        Ok(Some(Self { info, peers }))
    }
}

impl Info {
    /// The master's data.
    fn known(
        state: &SystemState,
        types: &BTreeMap<String, String>,
        node: String,
        uri: Option<String>,
    ) -> Self {
        let typed = |topics: Vec<String>| {
            let with_type = |topic: String| (types.get(&topic).cloned(), topic);
            topics.into_iter().map(with_type).map(|(type_name, topic)| (topic, type_name)).collect()
        };
        Self {
            publications: typed(names_of(&state.publishers, &node)),
            subscriptions: typed(names_of(&state.subscribers, &node)),
            services: names_of(&state.services, &node),
            node,
            uri,
            own: None,
        }
    }

    fn connections(&self) -> impl Iterator<Item = &Connection> {
        let own = self.own.as_ref().and_then(|own| own.as_ref().ok());
        own.into_iter().flat_map(|own| &own.connections).filter(|connection| connection.connected)
    }

    /// The names of the nodes whose URIs are in the connections.
    fn peers(&self, graph: &Graph<'_>, state: &SystemState) -> Result<BTreeMap<String, String>, CliError> {
        let mut names = BTreeMap::new();
        for connection in self.connections().filter(|connection| Uri::parse(&connection.peer).is_ok()) {
            let publishers = state.publishers.get(&connection.topic).map(Vec::as_slice).unwrap_or_default();
            for publisher in publishers {
                if let Some(uri) = graph.node_uri(publisher)? {
                    names.insert(uri, publisher.clone());
                }
            }
        }
        Ok(names)
    }

    fn text(&self, peers: &BTreeMap<String, String>) -> String {
        let mut text = format!("{}\nNode [{}]\n", "-".repeat(80), shown(&self.node));
        text += &section("Publications", self.publications.iter().map(typed_topic));
        text += &section("Subscriptions", self.subscriptions.iter().map(typed_topic));
        text += &section("Services", self.services.iter().map(|service| format!(" * {service}")));
        match (&self.uri, &self.own) {
            (Some(uri), Some(_)) => text += &format!("\ncontacting node {} ...\n", shown(uri)),
            (None, _) => text += "\nThe master has no address of it.\n",
            _ => {}
        }
        if let Some(Ok(own)) = &self.own {
            text += &format!("Pid: {}\nMachine: {}\n", own.pid, shown(&self.machine().unwrap_or_default()));
            text += if own.connections.is_empty() { "" } else { "Connections:\n" };
            let peer = |connection: &Connection| peers.get(&connection.peer).map(String::as_str);
            text += &self.connections().map(|link| connection_text(link, peer(link))).collect::<String>();
        }
        text + "\n"
    }

    /// The host in the node's URI.
    fn machine(&self) -> Option<String> {
        Some(Uri::parse(self.uri.as_deref()?).ok()?.endpoint.host)
    }

    fn json(&self, peers: &BTreeMap<String, String>) -> Json {
        let topics = |topics: &[(String, Option<String>)]| {
            topics
                .iter()
                .map(|(topic, type_name)| json!({ "topic": topic, "type": type_name }))
                .collect::<Json>()
        };
        let mut json = json!({
            "node": self.node, "uri": self.uri, "machine": self.machine(),
            "publications": topics(&self.publications),
            "subscriptions": topics(&self.subscriptions),
            "services": self.services,
        });
        if let Some(Ok(own)) = &self.own {
            json["pid"] = json!(own.pid);
            json["connections"] =
                self.connections().map(|connection| connection_json(connection, peers)).collect();
        }
        json
    }
}

fn section(word: &str, items: impl Iterator<Item = String>) -> String {
    match lines(items) {
        none if none.is_empty() => format!("{word}: None\n\n"),
        items => format!("{word}: \n{items}\n"),
    }
}

fn typed_topic((topic, type_name): &(String, Option<String>)) -> String {
    format!(" * {topic} [{}]", type_name.as_deref().unwrap_or("unknown type"))
}

fn connection_json(connection: &Connection, peers: &BTreeMap<String, String>) -> Json {
    json!({
        "topic": connection.topic,
        "peer": peers.get(&connection.peer).unwrap_or(&connection.peer),
        "direction": direction(connection),
        "transport": connection.transport,
        "details": connection.details,
    })
}
