//! `rosnode`

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead};
use std::net::ToSocketAddrs;

use clap::{Parser, Subcommand};
use runnel::{Context, Rate};
use runnel_io::clock;
use runnel_ros1::rpc::Uri;

use super::{Failure, lies_in, print_error, print_joined};
use crate::cli_context::CliContext;
use crate::error::CliError;
use crate::graph::{Connection, Graph, SystemState, names_of};
use crate::nodes::{connection_text, milliseconds, ping_reply, unregister};
use crate::output::{lines, shown, tabbed};

/// Inspect nodes, and shut them down, like rosnode of ROS 1
#[derive(Debug, Parser)]
#[command(name = "rosnode")]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Unregister nodes that do not answer, after confirmation
    Cleanup,
    Info(InfoArgs),
    Kill(KillArgs),
    List(ListArgs),
    Machine(MachineArgs),
    Ping(PingArgs),
}

/// Show what nodes publish, subscribe to and serve, and their connections
#[derive(Debug, clap::Args)]
struct InfoArgs {
    /// The nodes
    #[arg(value_name = "NODE", required = true)]
    nodes: Vec<String>,

    /// Show only the master's data, without asking the nodes
    #[arg(short, long)]
    quiet: bool,
}

/// Shut down nodes
#[derive(Debug, clap::Args)]
struct KillArgs {
    /// The nodes; without any, choose one from a list
    #[arg(value_name = "NODE", conflicts_with = "all")]
    nodes: Vec<String>,

    /// All nodes
    #[arg(short, long)]
    all: bool,
}

/// List nodes
#[derive(Debug, clap::Args)]
struct ListArgs {
    /// Only this node, and those below it
    namespace: Option<String>,

    /// Show only the address of each node
    #[arg(short)]
    uri: bool,

    /// Also show the address of each node
    #[arg(short, long)]
    all: bool,
}

/// List the machines of the nodes, or the nodes of a machine
#[derive(Debug, clap::Args)]
struct MachineArgs {
    /// The machine
    machine: Option<String>,
}

/// Check whether nodes answer
#[derive(Debug, clap::Args)]
struct PingArgs {
    /// The node
    #[arg(required_unless_present = "all", conflicts_with = "all")]
    node: Option<String>,

    /// Ping every node once
    #[arg(short, long, conflicts_with = "count")]
    all: bool,

    /// Stop after this many pings
    #[arg(short)]
    count: Option<u64>,
}

pub fn run(parsed: Cli, cli: &CliContext) -> Result<(), Failure> {
    let context = if matches!(parsed.command, Command::Ping(_)) {
        cli.running_context()?
    } else {
        cli.query_context()?
    };
    let nodes = Nodes { cli, context: &context, graph: Graph::new(&context) };
    match parsed.command {
        Command::Cleanup => nodes.cleanup(),
        Command::Info(args) => nodes.info(&args),
        Command::Kill(args) => nodes.kill(&args),
        Command::List(args) => nodes.list(&args),
        Command::Machine(args) => nodes.machine(args.machine.as_deref()),
        Command::Ping(args) => nodes.ping(&args),
    }
}

struct Nodes<'a> {
    cli: &'a CliContext,
    context: &'a Context,
    graph: Graph<'a>,
}

impl Nodes<'_> {
    fn line(&self, line: &str) -> Result<(), Failure> {
        Ok(self.cli.output.line(line)?)
    }

    fn paragraph(&self, text: &str) -> Result<(), Failure> {
        Ok(self.cli.output.paragraph(text)?)
    }

    /// The names of all nodes, in order.
    fn names(&self) -> Result<Vec<String>, CliError> {
        Ok(self.graph.system_state()?.nodes().into_iter().map(str::to_owned).collect())
    }

    fn list(&self, args: &ListArgs) -> Result<(), Failure> {
        let mut nodes = self.names()?;
        if let Some(namespace) = &args.namespace {
            let is_wanted = lies_in(self.cli, namespace);
            nodes.retain(|node| is_wanted(node));
        }
        if !args.all && !args.uri {
            return Ok(print_joined(self.cli, &nodes)?);
        }
        for node in &mut nodes {
            let uri = self.graph.node_uri(node)?.unwrap_or_else(|| "unknown address".to_owned());
            *node = if args.all { tabbed([&format!("{uri} "), node]) } else { tabbed([&uri]) };
        }
        self.paragraph(&nodes.join("\n"))
    }

    fn info(&self, args: &InfoArgs) -> Result<(), Failure> {
        for node in &args.nodes {
            let node = self.cli.absolute(node);
            let state = self.graph.system_state()?;
            self.line(&"-".repeat(80))?;
            self.paragraph(&description(&state, &self.graph.published_types()?, &node))?;
            match self.graph.node_uri(&node)? {
                None => print_error(&format!("cannot contact [{node}]: unknown node")),
                Some(_) if args.quiet => {}
                Some(uri) => {
                    self.paragraph(&format!("\ncontacting node {} ...", shown(&uri)))?;
                    self.paragraph(&self.own_data(&state, &uri)?)?;
                }
            }
        }
        Ok(())
    }

    /// The data that the node at `uri` reports about itself.
    fn own_data(&self, state: &SystemState, uri: &str) -> Result<String, Failure> {
        let unreachable = |_| Failure::failed(format!("Communication with node[{uri}] failed!"));
        let pid = self.graph.pid(uri).map_err(unreachable)?;
        let connections = self.graph.connections(uri).map_err(unreachable)?;
        let mut text = format!("Pid: {pid}\n");
        text += if connections.is_empty() { "" } else { "Connections:\n" };
        for connection in connections.iter().filter(|connection| connection.connected) {
            text += &connection_text(connection, self.peer(state, connection)?);
        }
        Ok(text)
    }

    /// The name of the node whose address is in a connection.
    fn peer<'s>(&self, state: &'s SystemState, connection: &Connection) -> Result<Option<&'s str>, CliError> {
        if Uri::parse(&connection.peer).is_err() {
            return Ok(None);
        }
        let ends = [&state.publishers, &state.subscribers].map(|ends| ends.get(&connection.topic));
        for node in ends.into_iter().flatten().flatten() {
            if self.graph.node_uri(node)?.as_ref() == Some(&connection.peer) {
                return Ok(Some(node));
            }
        }
        Ok(None)
    }

    fn ping(&self, args: &PingArgs) -> Result<(), Failure> {
        if let Some(node) = &args.node {
            let node = self.cli.absolute(node);
            self.line(&format!("rosnode: node is [{node}]"))?;
            // In the original, a node that does not answer is no failure.
            return self.ping_node(&node, args.count).map(drop);
        }
        let nodes = self.names()?;
        let list = lines(nodes.iter().map(|node| format!(" * {node}")));
        self.paragraph(&format!("Will ping the following nodes: \n{list}"))?;
        nodes.iter().try_for_each(|node| self.ping_node(node, Some(1)).map(drop))
    }

    /// Pings a node once a second; false if it does not answer.
    fn ping_node(&self, node: &str, count: Option<u64>) -> Result<bool, Failure> {
        let Some(uri) = self.graph.node_uri(node)? else {
            print_error(&format!("cannot ping [{node}]: unknown node"));
            return Ok(false);
        };
        self.line(&format!("pinging {node} with a timeout of 3.0s"))?;
        let (mut pings, mut total) = (0, 0.0);
        let mut rate = Rate::new(self.context, 1.0)?;
        while self.context.ok() {
            let start = clock::monotonic();
            if let Err(error) = self.graph.pid(&uri) {
                print_error(&format!("ERROR: connection to [{node}] failed: {error}"));
                return Ok(false);
            }
            let time = milliseconds(clock::monotonic().since(start));
            self.paragraph(&ping_reply(&uri, time))?;
            (pings, total) = (pings + 1, total + time);
            if count.is_some_and(|count| count > 0 && pings >= count) {
                break;
            }
            rate.sleep()?;
        }
        if pings > 1 {
            self.line(&format!("ping average: {:.6}ms", total / pings as f64))?;
        }
        Ok(true)
    }

    fn kill(&self, args: &KillArgs) -> Result<(), Failure> {
        let known = self.names()?;
        let nodes = match args {
            KillArgs { all: true, .. } => known,
            KillArgs { nodes, .. } if nodes.is_empty() => match self.choice(known)? {
                Some(node) => vec![node],
                None => return Ok(()),
            },
            KillArgs { nodes, .. } => self.known_only(nodes, &known)?,
        };
        match nodes.as_slice() {
            [] => return Err(Failure::failed("there are no nodes")),
            [node] => self.line(&format!("killing {node}"))?,
            several => self.paragraph(&format!("killing:\n{}", listed(several)))?,
        }
        let mut failed = Vec::new();
        for node in nodes {
            match self.graph.node_uri(&node)? {
                // A node may end before it has answered.
                Some(uri) => drop(self.graph.shut_down(&uri, "user request")),
                None => failed.push(node),
            }
        }
        match failed.as_slice() {
            [] => self.line("killed"),
            failed => Err(Failure::failed(format!("Failed to kill:\n{}", listed(failed)))),
        }
    }

    fn known_only(&self, typed: &[String], known: &[String]) -> Result<Vec<String>, Failure> {
        let nodes: Vec<String> = typed.iter().map(|name| self.cli.absolute(name)).collect();
        let unknown: Vec<&String> = nodes.iter().filter(|node| !known.contains(node)).collect();
        match unknown.as_slice() {
            [] => Ok(nodes),
            unknown => Err(Failure::failed(format!("Unknown node(s):\n{}", listed(unknown)))),
        }
    }

    /// The node whose number the user types.
    fn choice(&self, known: Vec<String>) -> Result<Option<String>, Failure> {
        if known.is_empty() {
            print_error("No nodes running");
            return Ok(None);
        }
        let numbered =
            known.iter().enumerate().map(|(index, node)| format!("{}. {}", index + 1, shown(node)));
        let numbered = numbered.collect::<Vec<_>>().join("\n");
        let question = "Please enter the number of the node you wish to kill.";
        self.cli.output.unended(&format!("{numbered}\n\n{question}\n> "))?;
        for line in io::stdin().lock().lines() {
            let number = line.map_err(CliError::from)?.trim().parse::<usize>().ok();
            if let Some(node) = number.and_then(|number| known.get(number.checked_sub(1)?)) {
                return Ok(Some(node.clone()));
            }
            self.line("ERROR: please enter a number (ctrl-C to cancel)")?;
        }
        Err(Failure::failed("no node was chosen"))
    }

    fn machine(&self, machine: Option<&str>) -> Result<(), Failure> {
        let mut hosts = Vec::new();
        for node in self.names()? {
            let uri = self.graph.node_uri(&node)?.and_then(|uri| Uri::parse(&uri).ok());
            hosts.extend(uri.map(|uri| (node, uri.endpoint.host)));
        }
        let Some(machine) = machine else {
            let hosts: BTreeSet<String> = hosts.into_iter().map(|(_, host)| host).collect();
            return Ok(print_joined(self.cli, &Vec::from_iter(hosts))?);
        };
        let addresses = addresses(machine);
        if addresses.is_empty() {
            let text = format!("cannot resolve machine name [{machine}] to address");
            return Err(Failure::failed(text));
        }
        let is_there = |host: &str| host == machine || !addresses.is_disjoint(&self::addresses(host));
        let nodes = hosts.into_iter().filter(|(_, host)| is_there(host)).map(|(node, _)| node);
        Ok(print_joined(self.cli, &nodes.collect::<Vec<_>>())?)
    }

    fn cleanup(&self) -> Result<(), Failure> {
        let mut silent = Vec::new();
        for node in self.names()? {
            let answers = self.graph.node_uri(&node)?.is_some_and(|uri| self.graph.pid(&uri).is_ok());
            silent.extend((!answers).then_some(node));
        }
        if silent.is_empty() {
            return Ok(());
        }
        self.paragraph(&format!("Unable to contact the following nodes:\n{}", listed(&silent)))?;
        self.line(
            "Some may only be slow, or behind a bad network. The master will know nothing more of them.",
        )?;
        self.line("Please type y or n to continue:")?;
        if !agreed()? {
            return self.line("aborting");
        }
        for node in &silent {
            self.line(&format!("Unregistering {node}"))?;
            unregister(&self.graph, node)?;
        }
        self.line("done")
    }
}

/// The master's data about a node.
fn description(state: &SystemState, types: &BTreeMap<String, String>, node: &str) -> String {
    let typed = |topic: String| {
        let type_name = types.get(&topic).map_or("unknown type", String::as_str);
        format!(" * {topic} [{type_name}]")
    };
    let topics = |all| names_of(all, node).into_iter().map(typed).collect::<Vec<_>>();
    let services = names_of(&state.services, node).into_iter().map(|name| format!(" * {name}"));
    let publications = section("Publications", &topics(&state.publishers));
    let subscriptions = section("Subscriptions", &topics(&state.subscribers));
    let services = section("Services", &services.collect::<Vec<_>>());
    format!("Node [{}]\n{publications}\n{subscriptions}\n{services}", shown(node))
}

fn section(word: &str, items: &[String]) -> String {
    if items.is_empty() { format!("{word}: None\n") } else { format!("{word}: \n{}", lines(items)) }
}

fn listed<T: AsRef<str>>(names: &[T]) -> String {
    names.iter().map(|name| format!(" * {}", shown(name.as_ref()))).collect::<Vec<_>>().join("\n")
}

fn addresses(host: &str) -> BTreeSet<std::net::IpAddr> {
    let found = (host, 0).to_socket_addrs();
    found.map(|found| found.map(|address| address.ip()).collect()).unwrap_or_default()
}

/// The user's `y` or `n`. The end of the input counts as no.
fn agreed() -> Result<bool, CliError> {
    for line in io::stdin().lock().lines() {
        match line?.trim() {
            "y" => return Ok(true),
            "n" => return Ok(false),
            _ => {}
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn node_description_shows_the_masters_data() {
        let holders = |name: &str| BTreeMap::from([(name.to_owned(), vec!["/n".to_owned()])]);
        let state =
            SystemState { publishers: holders("/p"), subscribers: holders("/s"), ..SystemState::default() };
        let types = BTreeMap::from([("/p".to_owned(), "std_msgs/String".to_owned())]);
        let expected = "Node [/n]\nPublications: \n * /p [std_msgs/String]\n\nSubscriptions: \n \
                        * /s [unknown type]\n\nServices: None\n";
        assert_eq!(description(&state, &types, "/n"), expected);
        let nothing = "Node [/m]\nPublications: None\n\nSubscriptions: None\n\nServices: None\n";
        assert_eq!(description(&state, &types, "/m"), nothing);
    }
}
