//! `ros2 topic list`, `info`, `type` and `find`

use super::{DiscoveryArgs, Failure};
use crate::cli_context::CliContext;
use crate::commands::topic::Endpoints;
use crate::completion;
use crate::error::CliError;
use crate::graphs::{Side, Topics, is_hidden};
use crate::output::{counted, lines};
use crate::similar::meant;

/// List topics
#[derive(Debug, clap::Args)]
pub struct ListArgs {
    /// Show types
    #[arg(short = 't', long)]
    show_types: bool,

    /// Only print how many there are
    #[arg(short, long)]
    count_topics: bool,

    /// Show types, and the number of publishers and subscribers
    #[arg(short, long)]
    verbose: bool,

    #[command(flatten)]
    discovery: DiscoveryArgs,
}

/// Show a topic's type, and how many publishers and subscriptions it has
#[derive(Debug, clap::Args)]
pub struct InfoArgs {
    /// The topic
    #[arg(add = completion::topics())]
    topic: String,

    /// Also show node, type hash, GID and QoS of each publisher and subscription
    #[arg(short, long)]
    verbose: bool,

    #[command(flatten)]
    discovery: DiscoveryArgs,
}

/// Print a topic's type
#[derive(Debug, clap::Args)]
pub struct TypeArgs {
    /// The topic
    #[arg(add = completion::topics())]
    topic: String,

    #[command(flatten)]
    discovery: DiscoveryArgs,
}

/// List the topics of a type
#[derive(Debug, clap::Args)]
pub struct FindArgs {
    /// The message type, such as std_msgs/msg/String
    #[arg(value_name = "TYPE", add = completion::message_types())]
    type_name: String,

    /// Only print how many there are
    #[arg(short, long)]
    count_topics: bool,

    #[command(flatten)]
    discovery: DiscoveryArgs,
}

pub fn list(args: &ListArgs, hidden: bool, cli: &CliContext) -> Result<(), Failure> {
    let topics = topics(&args.discovery, hidden, cli)?;
    let text = match args {
        ListArgs { count_topics: true, .. } => format!("{}\n", topics.0.len()),
        _ if topics.0.is_empty() => String::new(),
        ListArgs { verbose: true, .. } => verbose_text(&topics),
        ListArgs { show_types, .. } => lines(topics.0.iter().map(|(name, topic)| match show_types {
            true => format!("{name} [{}]", topic.types().join(", ")),
            false => name.clone(),
        })),
    };
    Ok(cli.output.text(&text)?)
}

pub fn info(args: &InfoArgs, cli: &CliContext) -> Result<(), Failure> {
    let topic = cli.resolve(&args.topic)?;
    let graph = args.discovery.open(cli)?.ros2.unwrap_or_default();
    let unknown = || {
        let mut known = Topics::default();
        known.add_ros2(&graph);
        Failure::failed(format!("Unknown topic '{}'{}", args.topic, meant(&topic, known.names())))
    };
    let ends = Endpoints::of(&graph, &topic).ok_or_else(unknown)?;
    Ok(cli.output.text(&ends.original_text(args.verbose))?)
}

pub fn type_name(args: &TypeArgs, hidden: bool, cli: &CliContext) -> Result<(), Failure> {
    let name = cli.resolve(&args.topic)?;
    let topics = topics(&args.discovery, hidden, cli)?;
    let topic = topics.0.get(&name).ok_or(CliError::Answered)?;
    Ok(cli.output.text(&lines(topic.types()))?)
}

pub fn find(args: &FindArgs, hidden: bool, cli: &CliContext) -> Result<(), Failure> {
    let topics = topics(&args.discovery, hidden, cli)?;
    let found = topics.0.iter().filter(|(_, topic)| topic.types().contains(&args.type_name.as_str()));
    let names: Vec<&String> = found.map(|(name, _)| name).collect();
    let text = if args.count_topics { format!("{}\n", names.len()) } else { lines(names) };
    Ok(cli.output.text(&text)?)
}

fn topics(discovery: &DiscoveryArgs, hidden: bool, cli: &CliContext) -> Result<Topics, CliError> {
    let mut topics = discovery.open(cli)?.topics()?;
    topics.retain(|name| hidden || !is_hidden(name));
    Ok(topics)
}

fn verbose_text(topics: &Topics) -> String {
    let published = held(topics, "publisher", |side| side.publishers.len());
    let subscribed = held(topics, "subscriber", |side| side.subscribers.len());
    format!("Published topics:\n{published}\nSubscribed topics:\n{subscribed}\n")
}

fn held(topics: &Topics, word: &str, count: fn(&Side) -> usize) -> String {
    let sides = topics.0.iter().filter_map(|(name, topic)| Some((name, topic, count(topic.ros2.as_ref()?))));
    lines(sides.filter(|(.., count)| *count > 0).map(|(name, topic, count)| {
        format!(" * {name} [{}] {}", topic.types().join(", "), counted(count, word))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graphs::tests::graph;

    #[test]
    fn verbose_list_reads_as_in_ros2() {
        let mut topics = Topics::default();
        topics.add_ros2(&graph(&[("rt/a", 1, true), ("rt/a", 2, true), ("rt/b", 2, false)]));
        let expected = "Published topics:\n * /a [std_msgs/msg/String] 2 publishers\n\n\
                        Subscribed topics:\n * /b [std_msgs/msg/String] 1 subscriber\n\n";
        assert_eq!(verbose_text(&topics), expected);
    }

    #[test]
    fn info_reads_as_in_ros2() {
        let graph = graph(&[("rt/a", 1, true), ("rt/a", 2, false)]);
        let ends = Endpoints::of(&graph, "/a").expect("it is there");
        assert_eq!(
            ends.original_text(false),
            "Type: std_msgs/msg/String\nPublisher count: 1\nSubscription count: 1\n"
        );
        let end = |node: &str, kind: &str, gid: &str| {
            format!(
                "Node name: {node}\nNode namespace: /\nTopic type: std_msgs/msg/String\nTopic type hash: RIHS01_ab\n\
                 Endpoint type: {kind}\nGID: {gid}\nQoS profile:\n  Reliability: RELIABLE\n  History (Depth): UNKNOWN\n  \
                 Durability: VOLATILE\n  Lifespan: Infinite\n  Deadline: Infinite\n  Liveliness: AUTOMATIC\n  \
                 Liveliness lease duration: Infinite\n\n"
            )
        };
        let publisher = end("node1", "PUBLISHER", "01.0f.00.00.00.00.00.00.00.00.00.01.00.00.00.03");
        let subscription = end("node2", "SUBSCRIPTION", "01.0f.00.00.00.00.00.00.00.00.00.02.00.00.01.03");
        let expected = format!(
            "Type: std_msgs/msg/String\n\nPublisher count: 1\n\n{publisher}Subscription count: 1\n\n{subscription}"
        );
        assert_eq!(ends.original_text(true), expected);
    }
}
