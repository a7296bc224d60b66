//! `runnel topic list`

use serde_json::{Value as Json, json};

use crate::cli_context::CliContext;
use crate::completion;
use crate::error::CliError;
use crate::graph::is_within;
use crate::graphs::{Side, Topic, TopicQuery, Topics, graph_names, keys};
use crate::output::{columns, counted, lines};

/// List topics
///
/// If both ROS 1 and ROS 2 have topics, each line names the graphs of its topic.
///
/// Exit code: 1 if neither a master nor a ROS 2 participant is found.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only this topic, and those below it
    #[arg(add = completion::topics())]
    namespace: Option<String>,

    /// Show types, and the number of publishers and subscribers
    #[arg(short, long)]
    verbose: bool,

    /// Show types
    #[arg(short = 't', long)]
    show_types: bool,

    /// Only topics that are published
    #[arg(short, long)]
    publishers: bool,

    /// Only topics that are subscribed to
    #[arg(short, long, conflicts_with = "publishers")]
    subscribers: bool,

    /// Only print how many there are
    #[arg(short, long, conflicts_with_all = ["verbose", "show_types"])]
    count_topics: bool,

    #[command(flatten)]
    query: TopicQuery,
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), CliError> {
    let namespace = args.namespace.as_ref().map(|name| cli.resolve(name)).transpose()?;
    let (mut topics, presence) = args.query.topics(cli)?;
    if let Some(namespace) = namespace {
        topics.retain(|topic| is_within(topic, &namespace));
    }
    topics.keep_ends(!args.subscribers, !args.publishers);
    cli.output.answer(|| text(&topics, args), || to_json(&topics, args))?;
    presence.check()
}

fn text(topics: &Topics, args: &Args) -> String {
    match args {
        Args { count_topics: true, .. } => topics.0.len().to_string(),
        Args { verbose: true, .. } => verbose_text(topics, args),
        _ => plain_text(topics, args.show_types),
    }
}

/// One topic per line, with its graphs if both graphs have topics.
fn plain_text(topics: &Topics, show_types: bool) -> String {
    let both = topics.are_in_both();
    let row = |(name, topic): (&String, &Topic)| {
        let name = if show_types { format!("{name} {}", types_text(&topic.types())) } else { name.clone() };
        let graphs = graph_names(topic.ros1.is_some(), topic.ros2.is_some());
        [name, if both { graphs.to_owned() } else { String::new() }]
    };
    columns(topics.0.iter().map(row))
}

fn types_text(types: &[&str]) -> String {
    if types.is_empty() { "[unknown type]".to_owned() } else { format!("[{}]", types.join(", ")) }
}

fn verbose_text(topics: &Topics, args: &Args) -> String {
    let mut text = String::new();
    if !args.subscribers {
        text += &format!("\nPublished topics:\n{}", held(topics, "publisher", |side| side.publishers.len()));
    }
    if !args.publishers {
        text +=
            &format!("\nSubscribed topics:\n{}", held(topics, "subscriber", |side| side.subscribers.len()));
    }
    text + "\n"
}

fn held(topics: &Topics, word: &str, count: fn(&Side) -> usize) -> String {
    let both = topics.are_in_both();
    let line = |(name, topic): (&String, &Topic)| {
        let of_side = |(graph, side): (&str, &Side)| {
            let types: Vec<&str> = side.types.iter().map(String::as_str).collect();
            let graph = if both { format!(" in {graph}") } else { String::new() };
            format!(" * {name} {} {}{graph}", types_text(&types), counted(count(side), word))
        };
        topic.sides().filter(|(_, side)| count(side) > 0).map(of_side).collect::<Vec<_>>()
    };
    lines(topics.0.iter().flat_map(line))
}

fn to_json(topics: &Topics, args: &Args) -> Json {
    if args.count_topics {
        return json!(topics.0.len());
    }
    let topic = |(name, topic): (&String, &Topic)| {
        let types = topic.types();
        let nodes = |of: fn(&Side) -> &Vec<String>| in_either(topic, of);
        let mut json = json!({
            "name": name,
            "type": types.first(),
            "publishers": nodes(|side| &side.publishers),
            "subscribers": nodes(|side| &side.subscribers),
            "graphs": keys(topic.ros1.is_some(), topic.ros2.is_some()),
        });
        if types.len() > 1 {
            json["types"] = json!(types);
        }
        json
    };
    topics.0.iter().map(topic).collect()
}

/// The nodes at one end of a topic. A dual node counts once.
fn in_either(topic: &Topic, of: fn(&Side) -> &Vec<String>) -> Vec<&str> {
    let ros2_nodes: Vec<&str> = topic.ros2.iter().flat_map(of).map(String::as_str).collect();
    let ros1_nodes = topic.ros1.iter().flat_map(of).map(String::as_str);
    ros1_nodes.filter(|node| !ros2_nodes.contains(node)).chain(ros2_nodes.iter().copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(type_name: &str, publishers: &[&str], subscribers: &[&str]) -> Option<Side> {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Some(Side {
            types: [type_name.to_owned()].into(),
            publishers: owned(publishers),
            subscribers: owned(subscribers),
        })
    }

    fn topics(both: bool) -> Topics {
        let mut topics = Topics::default();
        let chatter = Topic { ros1: None, ros2: side("std_msgs/msg/String", &["/a", "/a"], &[]) };
        topics.0.insert("/chatter".into(), chatter);
        if both {
            let (ros1, ros2) = (side("m/T", &[], &["/b"]), side("m/msg/T", &["/a"], &[]));
            topics.0.insert("/longer/name".into(), Topic { ros1, ros2 });
        }
        topics
    }

    #[test]
    fn topic_line_names_its_graphs_if_necessary() {
        assert_eq!(plain_text(&topics(false), false), "/chatter\n");
        assert_eq!(plain_text(&topics(false), true), "/chatter [std_msgs/msg/String]\n");
        assert_eq!(plain_text(&topics(true), false), "/chatter      ROS 2\n/longer/name  ROS 1, ROS 2\n");
    }

    #[test]
    fn dual_node_counts_once() {
        let (ros1, ros2) =
            (side("m/T", &["/dual", "/old"], &[]), side("m/msg/T", &["/dual", "/new", "/new"], &[]));
        let topic = Topic { ros1, ros2 };
        assert_eq!(in_either(&topic, |side| &side.publishers), ["/old", "/dual", "/new", "/new"]);
        assert!(in_either(&topic, |side| &side.subscribers).is_empty());
    }

    #[test]
    fn publishers_are_counted_per_graph() {
        let text = held(&topics(true), "publisher", |side| side.publishers.len());
        let expected = " * /chatter [std_msgs/msg/String] 2 publishers in ROS 2\n \
                        * /longer/name [m/msg/T] 1 publisher in ROS 2\n";
        assert_eq!(text, expected);
        let text = held(&topics(false), "publisher", |side| side.publishers.len());
        assert_eq!(text, " * /chatter [std_msgs/msg/String] 2 publishers\n");
    }
}
