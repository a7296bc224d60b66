//! `runnel topic list`

use serde_json::{Value as Json, json};

use crate::completion;
use crate::error::CliError;
use crate::graph::is_within;
use crate::graphs::{Asking, Side, Topic, Topics, keys, words};
use crate::output::{columns, counted, lines};
use crate::session::Session;

/// List topics
///
/// Where both generations have topics, each is shown with its own.
///
/// Exit code: 1 if neither a master nor a participant of ROS 2 is found.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only this topic, and those below it
    #[arg(add = completion::topics())]
    namespace: Option<String>,

    /// Show types, and how many publish and subscribe
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

    /// Only say how many there are
    #[arg(short, long, conflicts_with_all = ["verbose", "show_types"])]
    count_topics: bool,

    #[command(flatten)]
    asking: Asking,
}

pub fn run(args: &Args, session: &Session) -> Result<(), CliError> {
    let namespace = args.namespace.as_ref().map(|name| session.resolve(name)).transpose()?;
    let (mut topics, presence) = args.asking.topics(session)?;
    if let Some(namespace) = namespace {
        topics.retain(|topic| is_within(topic, &namespace));
    }
    topics.keep_ends(!args.subscribers, !args.publishers);
    session.output.answer(|| text(&topics, args), || to_json(&topics, args))?;
    presence.check()
}

fn text(topics: &Topics, args: &Args) -> String {
    match args {
        Args { count_topics: true, .. } => topics.0.len().to_string(),
        Args { verbose: true, .. } => verbose_text(topics, args),
        _ => plain_text(topics, args.show_types),
    }
}

/// A topic a line, with its graphs if there are topics in both.
fn plain_text(topics: &Topics, show_types: bool) -> String {
    let both = topics.are_in_both();
    let row = |(name, topic): (&String, &Topic)| {
        let name = if show_types { format!("{name} {}", types_text(&topic.types())) } else { name.clone() };
        let graphs = words(topic.ros1.is_some(), topic.ros2.is_some());
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

/// The nodes at one end of a topic, where one that is in both graphs is one.
fn in_either(topic: &Topic, of: fn(&Side) -> &Vec<String>) -> Vec<&str> {
    let of_ros2: Vec<&str> = topic.ros2.iter().flat_map(of).map(String::as_str).collect();
    let of_ros1 = topic.ros1.iter().flat_map(of).map(String::as_str);
    of_ros1.filter(|node| !of_ros2.contains(node)).chain(of_ros2.iter().copied()).collect()
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
    fn a_topic_is_a_line_and_says_its_graphs_if_there_are_topics_in_both() {
        assert_eq!(plain_text(&topics(false), false), "/chatter\n");
        assert_eq!(plain_text(&topics(false), true), "/chatter [std_msgs/msg/String]\n");
        assert_eq!(plain_text(&topics(true), false), "/chatter      ROS 2\n/longer/name  ROS 1, ROS 2\n");
    }

    #[test]
    fn a_node_of_both_graphs_is_told_once() {
        let (ros1, ros2) =
            (side("m/T", &["/dual", "/old"], &[]), side("m/msg/T", &["/dual", "/new", "/new"], &[]));
        let topic = Topic { ros1, ros2 };
        assert_eq!(in_either(&topic, |side| &side.publishers), ["/old", "/dual", "/new", "/new"]);
        assert!(in_either(&topic, |side| &side.subscribers).is_empty());
    }

    #[test]
    fn who_publishes_is_counted_in_each_graph() {
        let text = held(&topics(true), "publisher", |side| side.publishers.len());
        let expected = " * /chatter [std_msgs/msg/String] 2 publishers in ROS 2\n \
                        * /longer/name [m/msg/T] 1 publisher in ROS 2\n";
        assert_eq!(text, expected);
        let text = held(&topics(false), "publisher", |side| side.publishers.len());
        assert_eq!(text, " * /chatter [std_msgs/msg/String] 2 publishers\n");
    }
}
