//! `runnel topic list`

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

use crate::completion;
use crate::error::CliError;
use crate::graph::{Graph, SystemState, is_within};
use crate::output::{counted, lines};
use crate::session::Session;

/// List topics
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
}

/// What the master says of topics.
struct Topics {
    state: SystemState,
    types: BTreeMap<String, String>,
}

pub fn run(args: &Args, session: &Session) -> Result<(), CliError> {
    let context = session.asking()?;
    let graph = Graph::new(&context);
    let mut topics = Topics { state: graph.system_state()?, types: graph.topic_types()? };
    if let Some(namespace) = &args.namespace {
        let namespace = session.resolve(namespace)?;
        topics.retain(|topic| is_within(topic, &namespace));
    }
    if args.publishers {
        topics.state.subscribers.clear();
    }
    if args.subscribers {
        topics.state.publishers.clear();
    }
    session.output.answer(|| topics.text(args), || topics.json(args))
}

impl Topics {
    fn retain(&mut self, keep: impl Fn(&str) -> bool) {
        self.state.publishers.retain(|topic, _| keep(topic));
        self.state.subscribers.retain(|topic, _| keep(topic));
    }

    fn type_of(&self, topic: &str) -> &str {
        self.types.get(topic).map_or("unknown type", String::as_str)
    }

    fn text(&self, args: &Args) -> String {
        let topics = self.state.topics();
        match args {
            Args { count_topics: true, .. } => topics.len().to_string(),
            Args { verbose: true, .. } => self.verbose_text(args),
            Args { show_types: true, .. } => {
                lines(topics.iter().map(|topic| format!("{topic} [{}]", self.type_of(topic))))
            }
            _ => lines(topics),
        }
    }

    fn verbose_text(&self, args: &Args) -> String {
        let mut text = String::new();
        if !args.subscribers {
            text += &format!("\nPublished topics:\n{}", self.held(&self.state.publishers, "publisher"));
        }
        if !args.publishers {
            text += &format!("\nSubscribed topics:\n{}", self.held(&self.state.subscribers, "subscriber"));
        }
        text + "\n"
    }

    fn held(&self, holders: &BTreeMap<String, Vec<String>>, word: &str) -> String {
        lines(holders.iter().map(|(topic, nodes)| {
            format!(" * {topic} [{}] {}", self.type_of(topic), counted(nodes.len(), word))
        }))
    }

    fn json(&self, args: &Args) -> Json {
        let topics = self.state.topics();
        if args.count_topics {
            return json!(topics.len());
        }
        let nodes = |holders: &BTreeMap<String, Vec<String>>, topic: &str| {
            holders.get(topic).cloned().unwrap_or_default()
        };
        let topic = |topic: &str| {
            json!({
                "name": topic,
                "type": self.types.get(topic),
                "publishers": nodes(&self.state.publishers, topic),
                "subscribers": nodes(&self.state.subscribers, topic),
            })
        };
        topics.into_iter().map(topic).collect()
    }
}
