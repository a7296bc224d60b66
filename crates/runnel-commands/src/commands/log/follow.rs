//! `runnel log` without a command

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use runnel::core::schema::{Generation, Schema};
use runnel::core::time::Time;
use runnel::logging::Level;
use runnel::{Context, Graphs, QoS, RawMessage, Subscription, SubscriptionOptions};

use super::line::Line;
use crate::cli_context::CliContext;
use crate::completion;
use crate::error::CliError;
use crate::graph::{Graph, is_within};
use crate::graphs::{Discovery, GraphFilter, GraphSnapshot};
use crate::output::{Output, counted, is_stdout_coloured};
use crate::streaming::{Ending, lock};

/// Most lines that wait while others are printed.
const DEPTH: usize = 10_000;

/// Most lines that are remembered: a dual node publishes each line in both graphs.
const REMEMBERED: usize = 256;

/// The topic on which a master collects what all nodes log, and the topic of each node.
const GATHERED: &str = "/rosout_agg";
const EACH: &str = "/rosout";

#[derive(Debug, clap::Args)]
pub struct Follow {
    /// Only lines of this level and above: debug, info, warn, error or fatal
    #[arg(short, long, default_value = "debug")]
    level: Level,

    /// Only lines of this node, or of those in this namespace (may be given again)
    #[arg(long, value_name = "NODE", add = completion::nodes())]
    node: Vec<String>,

    /// Only lines with this text
    #[arg(long, value_name = "TEXT")]
    grep: Option<String>,

    /// Stop after this many lines
    #[arg(short = 'n', long, value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,

    /// Show the source location of each line
    #[arg(short = 'p', long)]
    place: bool,

    #[command(flatten)]
    filter: GraphFilter,

    #[command(flatten)]
    discovery: Discovery,
}

/// Prints lines until there are enough.
struct Printer {
    output: Output,
    level: Level,
    nodes: Vec<String>,
    grep: Option<String>,
    place: bool,
    colours: bool,
    left: Option<u64>,
    recent: Recent,
}

/// The last lines, by generation, node, time and text.
#[derive(Default)]
struct Recent(VecDeque<(Generation, String, Time, String)>);

pub fn run(args: &Follow, cli: &CliContext) -> Result<(), CliError> {
    let sources = sources(args, cli)?;
    let ending = Ending::of_all(sources.iter().map(|(context, _)| context.clone()).collect());
    let printer = Arc::new(Mutex::new(Printer::new(args, cli)?));
    let types = LogTypes::new(cli)?;
    let mut subscriptions = Vec::new();
    for (context, topic) in &sources {
        let node = cli.node(context, "log")?;
        let (printer, ending, types) = (Arc::clone(&printer), ending.clone(), types.clone());
        let take = move |message: &RawMessage<'_>| {
            if let Some(line) = types.line(message) {
                take(&mut lock(&printer), &ending, &line);
            }
        };
        // ROS 2 nodes keep their last lines, and those of a node that starts come before it is discovered.
        let options = SubscriptionOptions::from(QoS::keep_last(DEPTH).transient_local());
        subscriptions.push(node.create_raw_subscription(topic, None, options, take)?);
    }
    ending.wait()?;
    let dropped = subscriptions.iter().map(Subscription::dropped).sum::<u64>();
    if dropped > 0 {
        let dropped = counted(dropped, "line");
        log::warn!("dropped {dropped}: they arrived faster than they could be printed");
    }
    Ok(())
}

/// The topics of lines, each with a context in the graphs where it is subscribed to. Where a master collects lines, the
/// topics of its nodes need no other subscriber.
fn sources(args: &Follow, cli: &CliContext) -> Result<Vec<(Context, &'static str)>, CliError> {
    let graphs = args.filter.available_graphs(cli)?.graphs;
    let is_gathered =
        graphs != Graphs::Ros2 && is_gathered(&Graph::new(&cli.query_context_in(Graphs::Ros1)?))?;
    Ok(match (is_gathered, graphs) {
        (true, Graphs::Both) => vec![
            (cli.running_context_in(Graphs::Ros1)?, GATHERED),
            (cli.running_context_in(Graphs::Ros2)?, EACH),
        ],
        (true, _) => vec![(cli.running_context_in(graphs)?, GATHERED)],
        (false, _) => {
            let snapshot = GraphSnapshot::open_running(cli, args.filter, &args.discovery)?;
            vec![(snapshot.context().clone(), EACH)]
        }
    })
}

fn take(printer: &mut Printer, ending: &Ending, line: &Line) {
    if printer.left == Some(0) {
        return;
    }
    ending.check(printer.take(line));
    if printer.left == Some(0) {
        ending.complete();
    }
}

/// The types of log lines.
#[derive(Clone)]
struct LogTypes {
    ros1: Arc<Schema>,
    ros2: Arc<Schema>,
}

impl LogTypes {
    fn new(cli: &CliContext) -> Result<Self, CliError> {
        let types = cli.types()?;
        let ros2 = types.message_in(Generation::Ros2, "rcl_interfaces/msg/Log")?;
        Ok(Self { ros1: types.message("rosgraph_msgs/Log")?, ros2 })
    }

    /// The line of a message; `None` if it is none.
    fn line(&self, message: &RawMessage<'_>) -> Option<Line> {
        let generation = message.generation();
        let schema = match generation {
            Generation::Ros1 => &self.ros1,
            Generation::Ros2 => &self.ros2,
        };
        let decoded = message.decode(schema).inspect_err(|error| {
            log::error!("{} of {}: {error}", message.type_name(), message.publisher());
        });
        Some(Line::of(generation, &decoded.ok()?))
    }
}

/// Whether a live node collects lines.
fn is_gathered(graph: &Graph<'_>) -> Result<bool, CliError> {
    let publishers = graph.system_state()?.publishers.remove(GATHERED).unwrap_or_default();
    let lives = |node: &String| {
        let uri = graph.node_uri(node).ok().flatten();
        uri.is_some_and(|uri| graph.pid(&uri).is_ok())
    };
    Ok(publishers.iter().any(lives))
}

impl Printer {
    fn new(args: &Follow, cli: &CliContext) -> Result<Self, CliError> {
        let nodes = args.node.iter().map(|name| cli.resolve(name));
        Ok(Self {
            output: cli.output,
            level: args.level,
            nodes: nodes.collect::<Result<_, CliError>>()?,
            grep: args.grep.clone(),
            place: args.place,
            colours: is_stdout_coloured(),
            left: args.count,
            recent: Recent::default(),
        })
    }

    fn take(&mut self, line: &Line) -> Result<(), CliError> {
        if !self.wants(line) || self.recent.is_repeated(line) {
            return Ok(());
        }
        self.left = self.left.map(|left| left - 1);
        if self.output.json {
            return self.output.json(&line.json());
        }
        self.output.log_line(&line.text(self.place), self.colours.then_some(line.level))
    }

    fn wants(&self, line: &Line) -> bool {
        let node = line.node();
        line.level >= self.level
            && (self.nodes.is_empty() || self.nodes.iter().any(|wanted| is_within(&node, wanted)))
            && self.grep.as_ref().is_none_or(|text| line.msg.contains(text))
    }
}

impl Recent {
    /// Remembers a line. True if the same line of the other graph was there before.
    fn is_repeated(&mut self, line: &Line) -> bool {
        let key = (line.generation, line.node(), line.stamp, line.msg.clone());
        let is_same = |known: &(Generation, String, Time, String)| {
            known.0 != key.0 && (&known.1, known.2, &known.3) == (&key.1, key.2, &key.3)
        };
        if let Some(index) = self.0.iter().position(is_same) {
            self.0.remove(index);
            return true;
        }
        if self.0.len() == REMEMBERED {
            self.0.pop_front();
        }
        self.0.push_back(key);
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::log::line::tests::line;

    #[test]
    fn lines_are_filtered_by_level_node_and_text() {
        let printer = |level, node: &str, grep: Option<&str>| Printer {
            output: Output { json: false },
            level,
            nodes: vec![node.to_owned()],
            grep: grep.map(str::to_owned),
            place: false,
            colours: false,
            left: None,
            recent: Recent::default(),
        };
        for warning in [
            line(Generation::Ros1, "/robot/camera", Level::Warn, "frame 7 lost"),
            line(Generation::Ros2, "robot.camera", Level::Warn, "frame 7 lost"),
        ] {
            for (level, node, grep, wanted) in [
                (Level::Debug, "/robot", None, true),
                (Level::Warn, "/robot/camera", Some("lost"), true),
                (Level::Error, "/robot", None, false),
                (Level::Debug, "/robot/cam", None, false),
                (Level::Debug, "/robot", Some("found"), false),
            ] {
                assert_eq!(printer(level, node, grep).wants(&warning), wanted, "{level} {node} {grep:?}");
            }
        }
    }

    #[test]
    fn line_of_dual_node_counts_once() {
        let mut recent = Recent::default();
        let [ros1, ros2] = [(Generation::Ros1, "/a"), (Generation::Ros2, "a")]
            .map(|(generation, name)| line(generation, name, Level::Info, "x"));
        assert!(!recent.is_repeated(&ros1) && recent.is_repeated(&ros2));
        assert!(!recent.is_repeated(&ros1) && !recent.is_repeated(&ros1), "the same line again");
        assert!(recent.is_repeated(&ros2) && recent.is_repeated(&ros2) && !recent.is_repeated(&ros2));
    }
}
