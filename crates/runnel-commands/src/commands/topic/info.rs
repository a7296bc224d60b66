//! `runnel topic info`

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value as Json, json};

use super::endpoints::Endpoints;
use super::mismatch::Reason;
use super::ros1_types::{self, Holder};
use crate::cli_context::CliContext;
use crate::completion;
use crate::error::CliError;
use crate::graph::{Connection, Graph};
use crate::graphs::{Discovery, GraphFilter, GraphSnapshot};
use crate::originals::command_line::TOPIC_LIST;
use crate::output::{lines, shown};
use crate::similar::meant_or_listed;

/// Show a topic's type, publishers and subscribers
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The topic
    #[arg(add = completion::topics())]
    topic: String,

    /// Also show the QoS of each publisher and subscription, and the state of its links
    #[arg(short, long)]
    verbose: bool,

    #[command(flatten)]
    filter: GraphFilter,

    #[command(flatten)]
    discovery: Discovery,
}

struct Info {
    type_name: Option<String>,
    md5: Option<String>,
    publishers: Vec<End>,
    subscribers: Vec<End>,
    /// The pairs that exchange no messages, since their types differ. Only for people.
    mismatches: Vec<Reason>,
}

/// A node at one end of the topic.
struct End {
    node: String,
    uri: Option<String>,
    answer: Option<Answer>,
}

/// A node's own answer, or why there is none, with its address.
type Answer = Result<NodeAnswer, String>;

struct NodeAnswer {
    pid: i32,
    connections: usize,
    /// The transports of its links, each once.
    transports: BTreeSet<String>,
    /// Messages dropped for slow connections, if the node counts them.
    dropped: Option<i64>,
}

pub fn run(args: &Args, cli: &CliContext) -> Result<(), CliError> {
    let topic = cli.resolve(&args.topic)?;
    let snapshot = GraphSnapshot::open(cli, args.filter, &args.discovery)?;
    let ros1 =
        snapshot.ros1().map(|graph| Info::of(cli, &graph, &topic, args.verbose)).transpose()?.flatten();
    let mut ros2 = snapshot.ros2.as_ref().and_then(|graph| Endpoints::of(graph, &topic));
    if let Some(ends) = ros2.as_mut().filter(|_| args.verbose) {
        ends.ask(snapshot.context())?;
    }
    if ros1.is_none() && ros2.is_none() {
        let known = snapshot.topics()?;
        let hint = meant_or_listed(&topic, known.names(), TOPIC_LIST);
        return Err(CliError::Failed(format!("no topic {topic}{hint}")));
    }
    let text = || match (&ros1, &ros2) {
        (Some(ros1), Some(ros2)) => {
            format!("ROS 1\n{}\nROS 2\n{}", ros1.text(), ros2.text(args.verbose))
        }
        (Some(ros1), None) => ros1.text(),
        (None, ros2) => ros2.as_ref().map(|ros2| ros2.text(args.verbose)).unwrap_or_default(),
    };
    cli.output.answer(text, || to_json(&topic, ros1.as_ref(), ros2.as_ref()))
}

/// ROS 1 data at the top, ROS 2 data below its name.
fn to_json(topic: &str, ros1: Option<&Info>, ros2: Option<&Endpoints<'_>>) -> Json {
    let mut json = ros1.map_or_else(|| json!({ "name": topic }), |info| info.json(topic));
    if let Some(ends) = ros2 {
        json["ros2"] = ends.to_json();
    }
    json
}

/// The MD5 sum of a type that is known here.
fn md5(cli: &CliContext, type_name: Option<&str>) -> Option<String> {
    let schema = cli.types().ok()?.message(type_name?).ok()?;
    Some(schema.md5.clone())
}

impl End {
    /// Looks up a node's address, and asks the node if `links` has topic and direction.
    fn of(graph: &Graph<'_>, node: &str, links: Option<(&str, &str)>) -> Result<Self, CliError> {
        let uri = graph.node_uri(node)?;
        let answer = uri.as_deref().zip(links).map(|(uri, (topic, direction))| {
            NodeAnswer::of(graph, uri, topic, direction).map_err(|error| error.to_string())
        });
        Ok(Self { node: node.to_owned(), uri, answer })
    }

    fn holder(&self) -> Holder<'_> {
        (&self.node, self.uri.as_deref())
    }

    fn text(&self) -> String {
        let Self { node, uri, answer } = self;
        let address = uri.as_deref().unwrap_or("unknown address");
        match answer {
            Some(Ok(answer)) => format!(" * {node} ({address}){}", answer.text()),
            Some(Err(why)) => format!(" * {node}: {why}"),
            None => format!(" * {node} ({address})"),
        }
    }

    fn json(&self) -> Json {
        let mut json = json!({ "node": self.node, "uri": self.uri });
        match &self.answer {
            Some(Ok(answer)) => {
                json["pid"] = json!(answer.pid);
                json["connections"] = json!(answer.connections);
                json["transports"] = json!(answer.transports);
                json["dropped"] = json!(answer.dropped);
            }
            Some(Err(error)) => json["error"] = json!(error),
            None => {}
        }
        json
    }
}

impl NodeAnswer {
    /// Asks a node. If it does not answer the first question it is not asked further, since each would take as long.
    fn of(graph: &Graph<'_>, uri: &str, topic: &str, direction: &str) -> Result<Self, CliError> {
        let here = |link: &&Connection| link.topic == topic && link.direction == direction && link.connected;
        let pid = graph.pid(uri)?;
        let all = graph.connections(uri)?;
        let transports: Vec<&String> = all.iter().filter(here).map(|link| &link.transport).collect();
        let (connections, transports) = (transports.len(), transports.into_iter().cloned().collect());
        Ok(Self { pid, connections, transports, dropped: graph.dropped(uri, topic, direction) })
    }

    fn text(&self) -> String {
        let Self { pid, connections, transports, dropped } = self;
        let dropped = dropped.map_or(String::new(), |count| format!(", dropped {count}"));
        let transports: Vec<&str> = transports.iter().map(String::as_str).collect();
        let by = if transports.is_empty() { String::new() } else { format!(" by {}", transports.join(", ")) };
        format!(" pid {pid}, connections {connections}{by}{dropped}")
    }
}

impl Info {
    /// Data about a topic in ROS 1; `None` if it does not exist.
    fn of(cli: &CliContext, graph: &Graph<'_>, topic: &str, verbose: bool) -> Result<Option<Self>, CliError> {
        let state = graph.system_state()?;
        if !state.topics().contains(topic) {
            return Ok(None);
        }
        let ends = |holders: &BTreeMap<String, Vec<String>>, direction: &str| {
            let nodes = holders.get(topic).map(Vec::as_slice).unwrap_or_default();
            let end = |node: &String| End::of(graph, node, verbose.then_some((topic, direction)));
            nodes.iter().map(end).collect::<Result<Vec<_>, CliError>>()
        };
        let type_name = graph.topic_types()?.remove(topic).filter(|name| name != "*");
        let md5 = if verbose { md5(cli, type_name.as_deref()) } else { None };
        let (publishers, subscribers) = (ends(&state.publishers, "o")?, ends(&state.subscribers, "i")?);
        let mismatches = if cli.output.json {
            Vec::new()
        } else {
            let [from, to] = [&publishers, &subscribers]
                .map(|ends: &Vec<End>| ends.iter().map(End::holder).collect::<Vec<_>>());
            ros1_types::mismatches(graph, topic, &from, &to)?
        };
        Ok(Some(Self { type_name, md5, publishers, subscribers, mismatches }))
    }

    fn text(&self) -> String {
        let mut text = format!("Type: {}\n", shown(self.type_name.as_deref().unwrap_or("unknown type")));
        if let Some(md5) = &self.md5 {
            text += &format!("MD5: {md5}\n");
        }
        for (word, ends) in [("Publishers", &self.publishers), ("Subscribers", &self.subscribers)] {
            text += &format!("\n{word}: {}\n", if ends.is_empty() { "None" } else { "" });
            text += &lines(ends.iter().map(End::text));
        }
        let gap = if self.mismatches.is_empty() { "" } else { "\n" };
        text + gap + &lines(self.mismatches.iter().map(Reason::with_advice)) + "\n"
    }

    fn json(&self, topic: &str) -> Json {
        let ends = |ends: &[End]| ends.iter().map(End::json).collect::<Json>();
        let (publishers, subscribers) = (ends(&self.publishers), ends(&self.subscribers));
        let mut json = json!({
            "name": topic, "type": self.type_name, "publishers": publishers, "subscribers": subscribers
        });
        if let Some(md5) = &self.md5 {
            json["md5"] = json!(md5);
        }
        json
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::fake;

    #[test]
    fn silent_node_is_shown_with_the_reason() {
        let node = fake::server(vec![None]);
        let context = fake::context(vec![Some(fake::granted(node.clone()))]);
        let end = End::of(&Graph::new(&context), "/a", Some(("/t", "o"))).expect("the master answers");
        assert_eq!(end.text(), format!(" * /a: {node}: connection closed before the answer"));
    }
}
