//! `rostopic list`

use std::collections::{BTreeMap, BTreeSet};

use runnel_ros1::rpc::Uri;

use super::Failure;
use crate::cli_context::CliContext;
use crate::error::CliError;
use crate::graph::{Graph, Holders};
use crate::output::lines;
use crate::ros1::{lies_in, print_joined};

/// List topics
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only this topic, and those below it
    namespace: Option<String>,

    /// Show types, and the number of publishers and subscribers
    #[arg(short, long)]
    verbose: bool,

    /// Only topics that are published
    #[arg(short, conflicts_with = "subscribers")]
    publishers: bool,

    /// Only topics that are subscribed to
    #[arg(short)]
    subscribers: bool,

    /// Group topics by the hosts of their nodes
    #[arg(long)]
    host: bool,
}

/// Published topics, and topics with subscribers.
#[derive(Debug, Default, PartialEq)]
struct Topics {
    publishers: Holders,
    subscribers: Holders,
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), Failure> {
    let context = cli.query_context()?;
    let graph = Graph::new(&context);
    let listing = graph.listing()?;
    let mut topics = Topics { publishers: listing.publishers, subscribers: listing.subscribers };
    if let Some(namespace) = &args.namespace {
        let is_wanted = lies_in(cli, namespace);
        topics.publishers.retain(|(topic, _)| is_wanted(topic));
        topics.subscribers.retain(|(topic, _)| is_wanted(topic));
    }
    let types = if args.verbose { graph.topic_types()? } else { BTreeMap::new() };
    if !args.host {
        return Ok(show(args, cli, &topics, &types, "")?);
    }
    for (host, topics) in by_host(topics, |node| host_of(&graph, node))? {
        if !args.subscribers && !topics.publishers.is_empty()
            || !args.publishers && !topics.subscribers.is_empty()
        {
            cli.output.line(&format!("Host [{host}]:"))?;
            show(args, cli, &topics, &types, "  ")?;
        }
    }
    Ok(())
}

/// The host in a node's address.
fn host_of(graph: &Graph<'_>, node: &str) -> Result<String, CliError> {
    let uri = graph.node_uri(node)?;
    let uri = uri.ok_or_else(|| CliError::Failed(format!("node {node}: the master has no address of it")))?;
    Ok(Uri::parse(&uri).map_err(CliError::failed)?.endpoint.host)
}

/// The topics of each host's nodes.
fn by_host(
    topics: Topics,
    host_of: impl Fn(&str) -> Result<String, CliError>,
) -> Result<BTreeMap<String, Topics>, CliError> {
    let mut hosts: BTreeMap<String, Topics> = BTreeMap::new();
    let mut known = BTreeMap::new();
    for (published, holders) in [(true, topics.publishers), (false, topics.subscribers)] {
        for (topic, node) in
            holders.iter().flat_map(|(topic, nodes)| nodes.iter().map(move |node| (topic, node)))
        {
            let host = match known.get(node) {
                Some(host) => host,
                None => known.entry(node.clone()).or_insert(host_of(node)?),
            };
            let topics = hosts.entry(host.clone()).or_default();
            add(if published { &mut topics.publishers } else { &mut topics.subscribers }, topic, node);
        }
    }
    Ok(hosts)
}

fn add(holders: &mut Holders, topic: &str, node: &str) {
    match holders.iter_mut().find(|(name, _)| name == topic) {
        Some((_, nodes)) => nodes.push(node.to_owned()),
        None => holders.push((topic.to_owned(), vec![node.to_owned()])),
    }
}

fn show(
    args: &Args,
    cli: &CliContext,
    topics: &Topics,
    types: &BTreeMap<String, String>,
    indent: &str,
) -> Result<(), CliError> {
    if args.verbose {
        return cli.output.text(&verbose_text(args, topics, types, indent));
    }
    let published = topics.publishers.iter().filter(|_| !args.subscribers);
    let subscribed = topics.subscribers.iter().filter(|_| !args.publishers);
    let names: BTreeSet<String> =
        published.chain(subscribed).map(|(topic, _)| format!("{indent}{topic}")).collect();
    print_joined(cli, &Vec::from_iter(names))
}

fn verbose_text(args: &Args, topics: &Topics, types: &BTreeMap<String, String>, indent: &str) -> String {
    let mut text = String::new();
    if !args.subscribers {
        text += &format!(
            "\n{indent}Published topics:\n{}",
            counted(&topics.publishers, types, indent, "publisher")
        );
    }
    if !args.publishers {
        let counted = counted(&topics.subscribers, types, indent, "subscriber");
        text += &format!("{indent}\n{indent}Subscribed topics:\n{counted}");
    }
    text + "\n"
}

fn counted(holders: &Holders, types: &BTreeMap<String, String>, indent: &str, word: &str) -> String {
    lines(holders.iter().map(|(topic, nodes)| {
        let type_name = types.get(topic).map_or("unknown type", String::as_str);
        let ending = if nodes.len() > 1 { "s" } else { "" };
        format!("{indent} * {topic} [{type_name}] {} {word}{ending}", nodes.len().max(1))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holders(rows: &[(&str, &[&str])]) -> Holders {
        let row = |(topic, nodes): &(&str, &[&str])| {
            ((*topic).to_owned(), nodes.iter().map(|node| (*node).to_owned()).collect())
        };
        rows.iter().map(row).collect()
    }

    #[test]
    fn topics_are_grouped_by_host() {
        let topics = Topics {
            publishers: holders(&[("/t", &["/b1", "/a1", "/b2"])]),
            subscribers: holders(&[("/t", &["/a1"])]),
        };
        let by_host = by_host(topics, |node| Ok(node[1..2].to_owned())).expect("known hosts");
        let hosts: Vec<&str> = by_host.keys().map(String::as_str).collect();
        assert_eq!(hosts, ["a", "b"]);
        assert_eq!(by_host["b"].publishers, holders(&[("/t", &["/b1", "/b2"])]));
        assert_eq!(by_host["b"].subscribers, holders(&[]));
        assert_eq!(by_host["a"].subscribers, holders(&[("/t", &["/a1"])]));
    }

    #[test]
    fn verbose_list_is_indented_below_a_host() {
        let args = Args { namespace: None, verbose: true, publishers: false, subscribers: false, host: true };
        let topics = Topics { publishers: holders(&[("/t", &["/a", "/b"])]), subscribers: holders(&[]) };
        let types = BTreeMap::from([("/t".to_owned(), "std_msgs/String".to_owned())]);
        let expected =
            "\n  Published topics:\n   * /t [std_msgs/String] 2 publishers\n  \n  Subscribed topics:\n\n";
        assert_eq!(verbose_text(&args, &topics, &types, "  "), expected);
    }
}
